package kv

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// noise is data that cannot be compressed.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func TestPack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		mark byte
	}{
		"empty":          {nil, plainMark},
		"small":          {[]byte(`{"v":1}`), plainMark},
		"large":          {bytes.Repeat([]byte("abc"), packFrom), packedMark},
		"incompressible": {noise(4 * packFrom), plainMark},
	} {
		t.Run(name, func(t *testing.T) {
			value := pack(make([]byte, 3), c.data)
			require.Equal(t, c.mark, value[0])
			require.LessOrEqual(t, len(value), len(c.data)+1)
			back, err := unpack(value)
			require.NoError(t, err)
			require.Equal(t, string(c.data), string(back))
			require.Nil(t, chunksOf(value))
		})
	}
}

func TestInvalidValuesAreCorrupt(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "unknown kind": "{}", "not compressed": "s\xff\xff\xff\xff\xff\xff", "cut short": string(pack(nil, bytes.Repeat([]byte("abc"), packFrom))[:20]),
		"too large": "s\xff\xff\xff\xff\x0f", "strange names": "c../x\n*",
	} {
		t.Run(name, func(t *testing.T) {
			require.Nil(t, chunksOf([]byte(value)))
			_, err := unpack([]byte(value))
			require.ErrorIs(t, err, store.ErrCorrupt)
		})
	}
}

func TestErrorOfATooLargeValue(t *testing.T) {
	t.Parallel()
	_, err := unpack([]byte("s\xff\xff\xff\xff\x0f"))
	require.ErrorContains(t, err, "decompresses to 4294967295 bytes")
	require.NotContains(t, err.Error(), "%!")
}

func TestHeadIsTheDocumentedFormat(t *testing.T) {
	t.Parallel()
	d := &store.Document{}
	begin := store.Fact{ID: "e1", TS: 1763680000000, RunID: "r1", SessionID: "s", Begin: &store.Begin{Input: "hello"}}
	d.Apply(begin)
	d.Apply(store.Fact{ID: "e2", TS: 1763680000001, RunID: "another", SessionID: "s", End: &store.End{Result: "waits"}})
	h := head{Format: format, Archived: true, leaving: []json.RawMessage{[]byte(`{"runId":"r0"}`), []byte(`{"runId":"q"}`)}}
	data, err := h.append([]byte(nil), d.AppendState)
	require.NoError(t, err)
	golden := filepath.Join("testdata", "head.golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile(golden, data, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(data))

	back, err := decodeHead(data)
	require.NoError(t, err)
	require.True(t, back.Archived)
	require.Equal(t, h.leaving, back.leaving)
	again, err := store.Decode(back.state)
	require.NoError(t, err)
	require.Len(t, again.Waiting(), 1)
	require.False(t, again.Apply(begin))
}

func TestDecodeHead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"empty":            {"", store.ErrCorrupt},
		"a session file":   {`{"sessionId":"s","history":[]}`, store.ErrCorrupt},
		"no document":      {`{"v":1}`, store.ErrCorrupt},
		"no version":       {"{}\n{}\n", store.ErrCorrupt},
		"a later version":  {"{\"v\":2,\"new\":[]}\nwhatever", errFormat},
		"another shape":    {"[]\n{}\n", store.ErrCorrupt},
		"an unknown field": {"{\"v\":1,\"new\":1}\n{}\n", nil},
		"no last newline":  {"{\"v\":1}\n{}", store.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeHead([]byte(c.data))
			require.ErrorIs(t, err, c.want)
		})
	}
}

func FuzzValue(f *testing.F) {
	for _, seed := range []string{"", "r", `r{"v":1}` + "\n{}\n", "cabc\ndef", "s\x05\x10hello", strings.Repeat("abc ", 2000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		back, err := unpack(pack(nil, data))
		require.NoError(t, err)
		require.Equal(t, string(data), string(back))
		if names := chunksOf(data); names != nil {
			require.Equal(t, string(data), string(packChunks(names)))
		}
		if plain, err := unpack(data); err == nil {
			h, err := decodeHead(plain)
			if err == nil {
				again, err := h.append(nil, func(b []byte) ([]byte, error) { return append(b, h.state...), nil })
				require.NoError(t, err)
				same, err := decodeHead(again)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(h), fmt.Sprint(same))
			}
		} else {
			require.ErrorIs(t, err, store.ErrCorrupt)
		}
	})
}
