package index_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// A search finds what the file holds now, whatever was read before.
func TestCacheFollowsTheFile(t *testing.T) {
	first := approved("1", "renew the certificate", "r", "done")
	other := approved("2", "renew the licence", "r", "done")
	text, pending, agent := first, first, first
	text.Task, pending.Status, agent.AgentID = "renew the passport", experience.Pending, "another"
	apply := func(c ...index.Change) func(*testing.T, *index.Index) {
		return func(t *testing.T, x *index.Index) {
			t.Helper()
			require.NoError(t, x.Apply(t.Context(), c))
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *index.Index)
		want   map[string][]string // by question
	}{
		{"a new one", apply(change(2, other)), map[string][]string{"renew": {"1", "2"}, "certificate": {"1"}, "licence": {"2"}, "certifcate": {"1"}}},
		{"another text", apply(change(2, text)), map[string][]string{"renew": {"1"}, "certificate": nil, "passport": {"1"}, "certifcate": nil}},
		{"another status", apply(change(2, pending)), map[string][]string{"renew": nil, "certificate": nil}},
		{"another agent", apply(change(2, agent)), map[string][]string{"renew": nil}},
		{"removed", apply(index.Change{ID: "1", Revision: 2, Removed: true}), map[string][]string{"renew": nil}},
		{"put ahead of its place", func(t *testing.T, x *index.Index) {
			t.Helper()
			require.NoError(t, x.Put(t.Context(), change(2, text)))
		}, map[string][]string{"renew": {"1"}, "passport": {"1"}, "certificate": nil}},
		{"the last rows deleted by a stranger", func(t *testing.T, x *index.Index) {
			t.Helper()
			require.NoError(t, x.Apply(t.Context(), []index.Change{change(2, other)}))
			_, err := x.Search(t.Context(), index.Query{Text: "renew"})
			require.NoError(t, err)
			require.NoError(t, x.Exec(t.Context(), `DELETE FROM experiences WHERE n > 1`))
		}, map[string][]string{"renew": {"1"}, "licence": nil}},
		{"begun again", func(t *testing.T, x *index.Index) {
			t.Helper()
			require.NoError(t, x.Reset(t.Context(), "bucket"))
		}, map[string][]string{"renew": nil, "certifcate": nil}},
		{"begun again, and as far as before", func(t *testing.T, x *index.Index) {
			t.Helper()
			require.NoError(t, x.Reset(t.Context(), "bucket"))
			require.NoError(t, x.Apply(t.Context(), []index.Change{change(1, text)}))
		}, map[string][]string{"renew": {"1"}, "passport": {"1"}, "certificate": nil}},
	} {
		for _, by := range []string{"this process", "another process"} {
			t.Run(tt.name+" by "+by, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "knowhub.db")
				x := open(t, path)
				require.NoError(t, x.Apply(t.Context(), []index.Change{change(1, first)}))
				find := func(question string) (ids []string) {
					t.Helper()
					hits, err := x.Search(t.Context(), index.Query{Text: question, AgentID: "main"})
					require.NoError(t, err)
					for _, h := range hits {
						ids = append(ids, h.ID)
					}
					return ids
				}
				for question := range tt.want {
					find(question)
				}
				require.Equal(t, []string{"1"}, find("certificate"))
				writer := x
				if by == "another process" {
					writer = open(t, path)
				}
				tt.change(t, writer)
				for question, want := range tt.want {
					require.ElementsMatch(t, want, find(question), question)
				}
			})
		}
	}
}

// A question that was asked before needs only the state of the file.
func TestCacheSparesReading(t *testing.T) {
	for _, tt := range []struct{ name, question string }{
		{"words that occur", "task about topic3"},
		{"a word that is corrected", "numbr12"},
		{"a word that does not occur", "number12 elsewhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
			require.NoError(t, x.Apply(t.Context(), some(30)))
			want, err := x.Search(t.Context(), index.Query{Text: tt.question})
			require.NoError(t, err)
			require.NotEmpty(t, want)
			for _, statement := range []string{`DELETE FROM terms`, `DELETE FROM postings`, `DELETE FROM sets`, `UPDATE experiences SET task = 'another'`} {
				require.NoError(t, x.Exec(t.Context(), statement))
			}
			got, err := x.Search(t.Context(), index.Query{Text: tt.question})
			require.NoError(t, err)
			require.Equal(t, want, got)
			x.DropCache()
			require.Empty(t, search(t, x, tt.question))
		})
	}
}

// A caller may change what it got.
func TestHitsAreTheCallers(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	e := approved("1", "renew the certificate", "r", "done")
	e.Flags = []string{"injection"}
	require.NoError(t, x.Apply(t.Context(), []index.Change{change(1, e)}))
	for range 3 {
		hits, err := x.Search(t.Context(), index.Query{Text: "certificate"})
		require.NoError(t, err)
		require.Equal(t, e, hits[0].Experience)
		hits[0].Flags[0] = "changed"
	}
}

func TestCacheIsBounded(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	require.NoError(t, x.Apply(t.Context(), []index.Change{change(1, approved("1", "renew the certificate", "r", strings.Repeat("long ", 10_000)))}))
	require.Len(t, search(t, x, "certificate"), 1)
	size := x.CacheBytes()
	require.Greater(t, size, 50_000, "the text of the hit")
	require.Len(t, search(t, x, "certificate"), 1)
	require.Equal(t, size, x.CacheBytes(), "nothing is added twice")
	x.FillCache()
	require.Len(t, search(t, x, "certificate"), 1)
	require.Equal(t, size, x.CacheBytes())
}

// What a search returns is of one state of the file, also while others change it.
func TestCacheWhileTheFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knowhub.db")
	x, writer := open(t, path), open(t, path)
	texts := []string{"renew the certificate", "water the garden"}
	require.NoError(t, writer.Apply(t.Context(), []index.Change{change(1, approved("1", texts[0], "r", "done"))}))
	end := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				word := []string{"certificate", "garden"}[n%2]
				hits, err := x.Search(t.Context(), index.Query{Text: word})
				if err != nil {
					t.Error(err)
					return
				}
				for _, h := range hits {
					if !strings.Contains(h.Task, word) {
						t.Errorf("%q for %q", h.Task, word)
						return
					}
				}
			}
		})
	}
	for revision := 2; revision < 200; revision++ {
		require.NoError(t, writer.Apply(t.Context(), []index.Change{change(revision, approved("1", texts[(revision+1)%2], strconv.Itoa(revision), "done"))}))
	}
	close(end)
	readers.Wait()
}

// The cache changes no result, in whatever order questions come.
func TestCacheChangesNoResult(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	var changes []index.Change
	for i, e := range readLines[experience.Experience](t, "experiences.jsonl") {
		changes = append(changes, change(i+1, approved(strconv.Itoa(i), e.Task, e.Resource, e.Result)))
	}
	require.NoError(t, x.Apply(t.Context(), changes))
	ask := func(text string, prompt bool) []index.Hit {
		hits, err := x.Search(t.Context(), index.Query{Text: text, Prompt: prompt, Limit: 5})
		require.NoError(t, err)
		return hits
	}
	questions := readLines[question](t, "questions.jsonl")
	want := make(map[string][2][]index.Hit)
	for _, q := range questions {
		x.DropCache()
		cold := ask(q.Text, false)
		x.DropCache()
		want[q.Text] = [2][]index.Hit{cold, ask(q.Text, true)}
	}
	x.DropCache()
	for range 2 {
		for _, q := range slices.Backward(questions) {
			require.Equal(t, want[q.Text], [2][]index.Hit{ask(q.Text, false), ask(q.Text, true)}, q.Text)
		}
	}
}
