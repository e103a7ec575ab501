package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// files are three small sets in the forms of the published ones.
func files(t *testing.T) fstest.MapFS {
	t.Helper()
	subjects := strings.Fields("parcel refund weather music alarm recipe flight hotel invoice garden")
	var csv, tsv strings.Builder
	var clinc [][2]string
	csv.WriteString("text,category\n")
	for _, s := range subjects {
		for i, form := range []string{"where is the %s", "tell me about my %s", "I want another %s", "cancel the %s please", "is there a %s today", "how much is the %s", "no %s for me", "who has the %s", "change my %s", "any %s left"} {
			text := fmt.Sprintf(form, s)
			clinc = append(clinc, [2]string{text, "ask_" + s})
			_, _ = fmt.Fprintf(&csv, "%s number %d,get_%s\n", text, i, s)
			_, _ = fmt.Fprintf(&tsv, "do_%s\tplease %s\n", s, text)
		}
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	require.NoError(t, json.NewEncoder(w).Encode(map[string][][2]string{"train": clinc}))
	require.NoError(t, w.Close())
	return fstest.MapFS{
		"clinc150/data_full.json.gz": {Data: zipped.Bytes()},
		"banking77/train.csv":        {Data: []byte(csv.String())},
		"hwu64/train.tsv":            {Data: []byte(tsv.String())},
	}
}

func TestCatalogue(t *testing.T) {
	sets, err := readSets(files(t))
	require.NoError(t, err)
	require.Len(t, sets, 3)
	s := &simulation{sets: sets}
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		catalog, messages := s.catalogue(random, 1, 3)
		require.GreaterOrEqual(t, len(catalog.Enabled()), leastIntents)
		require.LessOrEqual(t, len(catalog.Enabled()), mostIntents)
		examples := map[string]bool{}
		for _, in := range catalog.Enabled() {
			require.Len(t, in.Examples, 3)
			for _, e := range in.Examples {
				examples[e] = true
			}
		}
		fit := 0
		for _, m := range messages {
			require.False(t, examples[m.text], m.text)
			if m.label != "" {
				_, known := catalog.Lookup(m.label)
				require.True(t, known)
				fit++
			}
		}
		require.Equal(t, messagesEach*len(catalog.Enabled()), fit)
		require.Len(t, messages, 2*fit)
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), files(t), 1, &out))
	for _, k := range kinds {
		require.Contains(t, out.String(), k.name+":")
	}
	require.Equal(t, 4*3, strings.Count(out.String(), "misled"))

	require.ErrorIs(t, run(t.Context(), fstest.MapFS{}, 1, &out), fs.ErrNotExist)
}

func TestHints(t *testing.T) {
	require.Equal(t, "right 50.0 %, wrong 25.0 % of those that fit; 10.0 % of those that fit none misled", hints{fit: 4, right: 2, wrong: 1, strange: 10, misled: 1}.String())
	require.Contains(t, hints{}.String(), "right 0.0 %")
}
