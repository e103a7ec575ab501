package index_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// A search finds what the index holds now.
func TestSearchFollowsChanges(t *testing.T) {
	first := approved("1", "renew the certificate", "r", "done")
	other := approved("2", "renew the licence", "r", "done")
	text, pending, agent := first, first, first
	text.Task, pending.Status, agent.AgentID = "renew the passport", experience.Pending, "another"
	apply := func(c ...experience.Change) func(*index.Index) {
		return func(x *index.Index) { x.Apply(c) }
	}
	for _, tt := range []struct {
		name   string
		change func(*index.Index)
		want   map[string][]string // by question
	}{
		{"a new one", apply(change(2, other)), map[string][]string{"renew": {"1", "2"}, "certificate": {"1"}, "licence": {"2"}, "certifcate": {"1"}}},
		{"another text", apply(change(2, text)), map[string][]string{"renew": {"1"}, "certificate": nil, "passport": {"1"}, "certifcate": nil}},
		{"another status", apply(change(2, pending)), map[string][]string{"renew": nil, "certificate": nil}},
		{"another agent", apply(change(2, agent)), map[string][]string{"renew": nil}},
		{"removed", apply(removed(2, "1")), map[string][]string{"renew": nil, "certifcate": nil}},
		{"removed, and its row is used again", apply(change(2, other), removed(3, "1"), change(4, approved("3", "renew the lease", "r", "done"))), map[string][]string{"renew": {"2", "3"}, "certificate": nil, "lease": {"3"}}},
		{"put ahead of its place", func(x *index.Index) { x.Put(change(2, text)) }, map[string][]string{"renew": {"1"}, "passport": {"1"}, "certificate": nil}},
		{"begun again", func(x *index.Index) { x.Reset("bucket") }, map[string][]string{"renew": nil, "certifcate": nil}},
		{"begun again, and as far as before", func(x *index.Index) {
			x.Reset("bucket")
			x.Apply([]experience.Change{change(1, text)})
		}, map[string][]string{"renew": {"1"}, "passport": {"1"}, "certificate": nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := made(change(1, first))
			find := func(question string) (ids []string) {
				for _, h := range x.Search(index.Query{Text: question, AgentID: "main"}) {
					ids = append(ids, h.ID)
				}
				return ids
			}
			require.Equal(t, []string{"1"}, find("certificate"))
			tt.change(x)
			for question, want := range tt.want {
				require.ElementsMatch(t, want, find(question), question)
			}
		})
	}
}

// A caller may change what it got.
func TestHitsAreTheCallers(t *testing.T) {
	e := approved("1", "renew the certificate", "r", "done")
	e.Flags = []string{"injection"}
	x := made(change(1, e))
	get := map[string]func() experience.Experience{
		"search": func() experience.Experience { return x.Search(index.Query{Text: "certificate"})[0].Experience },
		"list":   func() experience.Experience { return x.List(experience.Approved, experience.Experience{}, 1)[0] },
		"near":   func() experience.Experience { e := e; e.ID = "2"; return x.Near(e, false)[0].Experience },
		"get":    func() experience.Experience { e, _ := x.Get("1"); return e },
	}
	for name, f := range get {
		t.Run(name, func(t *testing.T) {
			f().Flags[0] = "changed"
			for other, f := range get {
				require.Equal(t, e, f(), other)
			}
		})
	}
}

func TestGetAndAll(t *testing.T) {
	x := made(append(some(3), removed(4, "id0001"))...)
	e, ok := x.Get("id0002")
	require.True(t, ok)
	require.Equal(t, some(3)[2].Experience, e)
	for _, id := range []string{"id0001", "unknown"} {
		_, ok = x.Get(id)
		require.False(t, ok, id)
	}
	var ids []string
	for _, e := range x.All() {
		ids = append(ids, e.ID)
	}
	require.ElementsMatch(t, []string{"id0000", "id0002"}, ids)
}

// What a search returns is of one state, whatever is written meanwhile.
func TestSearchWhileOthersWrite(t *testing.T) {
	texts := []string{"renew the certificate", "water the garden"}
	x := made(append(some(200), change(201, approved("1", texts[0], "r", "done")))...)
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
				word := []string{"certificate", "garden", "certifcate"}[n%3]
				for _, h := range x.Search(index.Query{Text: word}) {
					if !strings.Contains(h.Task, word) && word != "certifcate" {
						t.Errorf("%q for %q", h.Task, word)
						return
					}
				}
				e := approved("new", texts[n%2], "r", "done")
				x.Near(e, n%2 == 0)
				x.List(experience.Approved, e, 3)
				x.Counts()
				x.Held()
			}
		})
	}
	var writers sync.WaitGroup
	writers.Go(func() {
		for revision := 202; revision < 600; revision++ {
			x.Apply([]experience.Change{change(revision, approved("1", texts[(revision+1)%2], strconv.Itoa(revision), "done"))})
		}
	})
	writers.Go(func() {
		for revision := 1000; revision < 1200; revision++ {
			x.Put(change(revision, approved(strconv.Itoa(revision), "paint the fence", "r", strconv.Itoa(revision))))
		}
	})
	writers.Wait()
	close(end)
	readers.Wait()
	require.Equal(t, 401, x.Counts()[experience.Approved])
	_, revision := x.Place()
	require.EqualValues(t, 599, revision)
}
