package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
)

// historyLimit: exactly as many turns as allowed stay in the document, the next one
// retires the oldest.
func historyLimit(t *testing.T, open Open) {
	for _, limit := range []int{0, 1, 3} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			handles := open(t, limit)
			s := handles[0]
			for i := range limit + 1 { // one is current
				apply(t, s, Begin("s", fmt.Sprint("r", i), int64(i)*10))
			}
			for _, reader := range handles {
				require.Len(t, Show(t, reader, "s").History, limit)
				retired, err := reader.Retired(t.Context(), "s")
				require.NoError(t, err)
				require.Empty(t, retired)
			}
			apply(t, s, Begin("s", "last", int64(limit+1)*10))
			for _, reader := range handles {
				require.Len(t, Show(t, reader, "s").History, limit)
				retired, err := reader.Retired(t.Context(), "s")
				require.NoError(t, err)
				require.Len(t, retired, 1)
				turn, err := store.DecodeTurn(retired[0])
				require.NoError(t, err)
				require.Equal(t, "r0", turn.RunID)
			}
		})
	}
}

// removedWhileRead: a reader finds a session whole or not at all while another process
// removes it and it begins again.
func removedWhileRead(t *testing.T, open Open) {
	handles := open(t, 1)
	writer, reader := handles[0], handles[len(handles)-1]
	const rounds = 20
	text := strings.Repeat("a long text ", 1000)
	ended := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(ended)
		for round := range int64(rounds) {
			for i := range int64(4) {
				begin := Begin("s", fmt.Sprint("r", i), round*100+i*10)
				begin.Begin.Input = text
				if err := writer.Apply(t.Context(), []store.Fact{begin}); err != nil {
					failed <- err
					return
				}
			}
			if _, err := writer.Remove(t.Context(), "s"); err != nil {
				failed <- err
				return
			}
		}
	}()
	defer func() { <-ended }()
	for reading := true; reading; {
		select {
		case <-ended:
			reading = false // once more
		default:
		}
		document, err := reader.Get(t.Context(), "s")
		if !errors.Is(err, store.ErrNotFound) {
			require.NoError(t, err)
			require.Contains(t, string(document), text)
		}
		retired, err := reader.Retired(t.Context(), "s")
		require.NoError(t, err)
		for _, raw := range retired {
			turn, err := store.DecodeTurn(raw)
			require.NoError(t, err)
			require.Equal(t, text, turn.Input)
		}
		summaries, err := reader.List(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, len(summaries), 1)
		require.False(t, slices.ContainsFunc(summaries, func(s store.Summary) bool { return s.Token != "s" || s.Turns == 0 }))
	}
	select {
	case err := <-failed:
		require.NoError(t, err)
	default:
	}
	_, err := reader.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}
