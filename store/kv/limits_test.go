package kv_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

// Of a server with this limit, values take at most smallLimit bytes.
const (
	smallPayload = 3 << 10
	smallLimit   = (smallPayload - 1<<10) / 4 * 3
)

// sized applies a turn to a new session so that what is stored of it has a size
// in bytes, and returns its text.
func sized(t *testing.T, s store.Store, session string, overhead, size int) (text string, err error) {
	t.Helper()
	text = long(session, 1, size-overhead)[0].Begin.Input
	begin := storetest.Begin(session, "r", 0)
	begin.Begin.Input = text
	return text, s.Apply(t.Context(), []store.Fact{begin})
}

// A session of exactly what one message holds is one message, and one of exactly
// what a list of chunks holds is stored; a byte more is too much.
func TestSessionsOfExactlyTheLimit(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, smallPayload))
	s := open(t, js, store.Options{HistoryLimit: 1})
	// A session is its text and a constant.
	_, err := sized(t, s, "probe", 0, 100)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S.probe")
	require.NoError(t, err)
	overhead := len(m.Data) - 1 - 100 // less the mark

	const (
		name   = 33 + 22 // a checksum of 32 digits, a dash and an id
		chunks = (smallLimit - 1 + 1) / (name + 1)
		most   = chunks * (smallLimit - 1)
	)
	for _, row := range []struct {
		name           string // as long as probe
		bytes, chunked int
		refused        bool
	}{
		{name: "below", bytes: smallLimit - 2},
		{name: "exact", bytes: smallLimit - 1},
		{name: "above", bytes: smallLimit, chunked: 2},
		{name: "mostx", bytes: most, chunked: chunks},
		{name: "toobi", bytes: most + 1, refused: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := sized(t, s, row.name, overhead, row.bytes)
			if row.refused {
				require.ErrorContains(t, err, "too large")
				_, err = s.Get(t.Context(), row.name)
				require.ErrorIs(t, err, store.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, text, storetest.Show(t, open(t, js, store.Options{}), row.name).Current.Input)
			pieces := 0
			for _, key := range keys(t, js) {
				if strings.HasPrefix(key, row.name+".c.") {
					pieces++
				}
			}
			require.Equal(t, row.chunked, pieces)
		})
	}
}
