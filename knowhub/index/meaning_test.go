package index_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/encoder"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

var sharedEncoder = sync.OnceValues(func() (*encoder.Embedder, error) { return encoder.NewEmbedder(2, 1024) })

// meaningOf returns the vector of a text as the process makes it; nil outside English.
func meaningOf(t testing.TB, text string) *index.Vector {
	t.Helper()
	e, err := sharedEncoder()
	require.NoError(t, err)
	if !e.Fits(text) {
		return nil
	}
	found, err := e.Vectors(context.Background(), []string{text})
	require.NoError(t, err)
	return index.NewVector(found[text])
}

// understood sets the vectors of an index.
func understood(t testing.TB, x *index.Index) *index.Index {
	t.Helper()
	for list := x.Unread(64); len(list) > 0; list = x.Unread(64) {
		for _, u := range list {
			x.SetVector(u, meaningOf(t, u.Text))
		}
	}
	return x
}

// ask searches by words and by meaning.
func ask(t testing.TB, x *index.Index, q index.Query) []index.Hit {
	t.Helper()
	q.Meaning = func() *index.Vector { return meaningOf(t, q.Text) }
	return x.Search(q)
}

// Questions in other words, and the labelled ones, with the vectors of the encoder in the
// binary: the share of questions whose answer is the first hit, among the first three, and
// among the first ten. The bounds are what was measured, less two questions: processors
// without vector instructions round differently.
func TestQualityByMeaning(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes a thousand texts")
	}
	for _, set := range []struct {
		name        string
		experiences []experience.Change
		questions   []string
		least       map[string][3]float64
	}{
		{"other words", otherWords(t), []string{"../index/testdata/questions-words.jsonl"}, map[string][3]float64{
			"English": {0.44, 0.71, 0.85}, "German": {0.36, 0.64, 0.84}, "Chinese": {0.76, 0.80, 0.80}, "Japanese": {0.68, 0.68, 0.68}, "all": {0.55, 0.75, 0.86},
		}},
		{"labelled", labelled(t), []string{"questions.jsonl", "questions-fresh.jsonl"}, map[string][3]float64{
			"English": {0.80, 0.91, 0.93}, "Chinese": {0.79, 0.89, 0.89}, "Japanese": {0.92, 0.92, 0.92}, "all": {0.811, 0.92, 0.94},
		}},
	} {
		t.Run(set.name, func(t *testing.T) {
			x := index.New()
			x.Apply(set.experiences)
			x = understood(t, x)
			places := map[string][]int{}
			for _, file := range set.questions {
				for _, q := range readLines[question](t, file) {
					p := place(ask(t, x, index.Query{Text: q.Text}), q.IDs)
					places[language(q)], places["all"] = append(places[language(q)], p), append(places["all"], p)
				}
			}
			require.Len(t, places, len(set.least))
			for name, least := range set.least {
				for i, most := range []int{1, 3, 10} {
					right := 0
					for _, p := range places[name] {
						if p < most {
							right++
						}
					}
					share := float64(right) / float64(len(places[name]))
					t.Logf("%s: %d of %d among the first %d, %.3f", name, right, len(places[name]), most, share)
					require.GreaterOrEqual(t, share, least[i], "%s, first %d", name, most)
				}
			}
		})
	}
}

// otherWords returns the changes that make an index of the experiences that were written
// with questions in other words.
func otherWords(t testing.TB) (changes []experience.Change) {
	t.Helper()
	for i, e := range readLines[experience.Experience](t, "../index/testdata/experiences-words.jsonl") {
		changes = append(changes, change(i+1, approved(e.ID, e.Task, e.Resource, e.Result)))
	}
	return changes
}

// place returns the place of the first hit among ids, from 0 on, 1000 without one.
func place(hits []index.Hit, ids []string) int {
	if i := slices.IndexFunc(hits, func(h index.Hit) bool { return slices.Contains(ids, h.ID) }); i >= 0 {
		return i
	}
	return 1000
}

func language(q question) string {
	if q.Lang == "" {
		return script(q.Text)
	}
	return map[string]string{"en": "English", "de": "German", "zh": "Chinese", "ja": "Japanese"}[q.Lang]
}

// A word in common that may mean something else is no reason to put an experience in
// front of a prompt, and comes last in a search.
func TestAmbiguousWords(t *testing.T) {
	t.Parallel()
	x := understood(t, made(
		change(1, approved("car", "Electric car would not load at the public station", "card", "unlocked in the app")),
		change(2, approved("basket", "Shopping basket page of the web shop needs twelve seconds", "index", "with an index it opens in 300 ms")),
		change(3, approved("rust", "Garden cart rusts in winter", "paint", "two coats")),
	))
	const text = "the cart takes ages to load"
	hits := ask(t, x, index.Query{Text: text})
	require.Len(t, hits, 3)
	require.Equal(t, "basket", hits[0].ID, "no word in common, but the meaning")
	for _, h := range ask(t, x, index.Query{Text: text, Prompt: true}) {
		require.Equal(t, "basket", h.ID)
	}
	alone := understood(t, made(
		change(1, approved("basket", "Shopping basket page of the web store needs twelve seconds to appear", "r", "with an index it opens in 300 ms")),
		change(2, approved("car", "Electric car would not load at the public station", "r", "unlocking the card in the app")),
	))
	require.Equal(t, "basket", ask(t, alone, index.Query{Text: text})[0].ID, "cart is no card")
	require.Empty(t, x.Search(index.Query{Text: "how heavy a load may a wooden kitchen shelf carry", Prompt: true}), "one word of many")
	require.Contains(t, search(t, x, "how heavy a load may a wooden kitchen shelf carry"), "car", "a person is shown it")
}

// A vector is asked for only when words are not clear, and there is one to compare with.
func TestMeaningIsAskedForWhenWordsAreNotClear(t *testing.T) {
	t.Parallel()
	x := made(change(1, approved("a", "Renew the passport in four days", "office", "express service")))
	asked := 0
	search := func(text string) {
		x.Search(index.Query{Text: text, Meaning: func() *index.Vector { asked++; return nil }})
	}
	search("travel document soon")
	require.Zero(t, asked, "no experience has a vector")
	x = understood(t, x)
	search("renew passport")
	require.Zero(t, asked, "words are clear")
	search("passport")
	require.Zero(t, asked, "one word has no meaning beyond it")
	search("travel document expires soon")
	require.Equal(t, 1, asked)
	require.Empty(t, x.Search(index.Query{Text: "travel document expires", Meaning: func() *index.Vector { return nil }}), "words alone")
}

// Vectors follow their experiences, and stop at a bound.
func TestVectors(t *testing.T) {
	t.Parallel()
	e := approved("a", "one", "r", "done")
	x := made(change(1, e))
	v := index.NewVector(make([]float32, index.Dimensions))
	first := x.Unread(5)
	require.Equal(t, []index.Unread{{ID: "a", Text: "one. done"}}, first)
	x.SetVector(first[0], v)
	require.Empty(t, x.Unread(5))
	e.Seen = 2
	x.Apply([]experience.Change{change(2, e)})
	require.Empty(t, x.Unread(5), "the text is the same")
	e.Task = "two"
	x.Apply([]experience.Change{change(3, e)})
	x.SetVector(first[0], v)
	second := x.Unread(5)
	require.Equal(t, "two. done", second[0].Text, "the vector of another text is not taken")
	x.SetVector(second[0], nil)
	require.Empty(t, x.Unread(5), "a text without a vector is not asked for again")
	pending := approved("b", "three", "r", "done")
	pending.Status = experience.Pending
	x.Apply([]experience.Change{change(4, pending)})
	require.Empty(t, x.Unread(5), "only approved ones are found")
	require.Nil(t, index.NewVector(make([]float32, 3)))

	x = made(some(12_100)...)
	n := 0
	for list := x.Unread(500); len(list) > 0; list = x.Unread(500) {
		for _, u := range list {
			x.SetVector(u, v)
			n++
		}
	}
	require.Equal(t, 12_000, n)
	x.Apply([]experience.Change{removed(20_000, "id0003")})
	require.Len(t, x.Unread(5), 1, "a removed one makes room")
}
