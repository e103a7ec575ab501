package index_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// question is a line of the labelled set, see ../testdata/README.md.
type question struct {
	Text string   `json:"q"`
	IDs  []string `json:"ids"`
	Lang string   `json:"lang"`
}

func readLines[T any](t testing.TB, name string) (list []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", name))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		require.NoError(t, json.Unmarshal(s.Bytes(), &v))
		list = append(list, v)
	}
	return list
}

var created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// labelled returns the changes that make an index of the labelled set.
func labelled(t testing.TB) []experience.Change {
	t.Helper()
	var changes []experience.Change
	for i, e := range readLines[experience.Experience](t, "experiences.jsonl") {
		e.Status, e.Confidence, e.CreatedAt = experience.Approved, 1, created
		changes = append(changes, experience.Change{ID: e.ID, Revision: uint64(i + 1), Experience: e})
	}
	return changes
}

func TestQuality(t *testing.T) {
	x := index.New()
	changes := labelled(t)
	questions := readLines[question](t, "questions.jsonl")
	later := len(questions)
	questions = append(questions, readLines[question](t, "questions-fresh.jsonl")...)
	require.GreaterOrEqual(t, len(changes), 300)
	require.GreaterOrEqual(t, len(questions), 150)
	x.Apply(changes)

	type tally struct{ n, first, three, ten int }
	tallies := map[string]*tally{}
	var missed strings.Builder
	for i, q := range questions {
		hits := x.Search(index.Query{Text: q.Text, Limit: 10})
		place := slices.IndexFunc(hits, func(h index.Hit) bool { return slices.Contains(q.IDs, h.ID) })
		half := []string{"developed on", "other half"}[i%2]
		if i >= later {
			half = "fresh"
		}
		for _, name := range []string{half, script(q.Text), "all"} {
			s := tallies[name]
			if s == nil {
				s = &tally{}
				tallies[name] = s
			}
			s.n++
			if place >= 0 {
				s.ten++
				if place < 3 {
					s.three++
				}
				if place == 0 {
					s.first++
				}
			}
		}
		if place < 0 || place >= 3 {
			fmt.Fprintf(&missed, "%s\t%d\t%s\t%s\n", half, place+1, strings.Join(q.IDs, ","), q.Text)
		}
	}
	var report strings.Builder
	report.WriteString("questions\tn\trecall@1\trecall@3\trecall@10\n")
	for _, name := range []string{"developed on", "other half", "fresh", "English", "Chinese", "Japanese", "all"} {
		s := tallies[name]
		share := func(n int) string { return fmt.Sprintf("%.3f", float64(n)/float64(s.n)) }
		fmt.Fprintf(&report, "%s\t%d\t%s\t%s\t%s\n", name, s.n, share(s.first), share(s.three), share(s.ten))
		require.GreaterOrEqual(t, float64(s.three)/float64(s.n), 0.9, name)
	}
	report.WriteString("\nnot among the first three: part, place (0: not among ten), ids, question\n" + missed.String())
	golden.Equal(t, "quality.txt", report.String())
}

// script names the language of a question.
func script(text string) string {
	name := "English"
	for _, r := range text {
		if unicode.In(r, unicode.Hiragana, unicode.Katakana) {
			return "Japanese"
		}
		if unicode.Is(unicode.Han, r) {
			name = "Chinese"
		}
	}
	return name
}

// Few of the experiences that a message on another subject finds are put in front
// of it, and most of those that fit.
func TestPrompts(t *testing.T) {
	x := index.New()
	x.Apply(labelled(t))
	x = understood(t, x)
	finds := func(text string, prompt bool) []index.Hit {
		return ask(t, x, index.Query{Text: text, Limit: 3, Prompt: prompt})
	}
	found, kept := 0, 0
	for _, q := range append(readLines[question](t, "questions.jsonl"), readLines[question](t, "questions-fresh.jsonl")...) {
		wanted := func(h index.Hit) bool { return slices.Contains(q.IDs, h.ID) }
		if slices.ContainsFunc(finds(q.Text, false), wanted) {
			found++
			if slices.ContainsFunc(finds(q.Text, true), wanted) {
				kept++
			}
		}
	}
	t.Logf("%d of %d that fit are kept", kept, found)
	require.GreaterOrEqual(t, float64(kept), 0.88*float64(found))

	unrelated, noise, left := readLines[struct{ Text, Lang string }](t, "../../classify/evaluate/testdata/messages.jsonl"), 0, 0
	for _, m := range unrelated {
		noise += len(finds(m.Text, false))
		left += len(finds(m.Text, true))
	}
	t.Logf("%d of %d that %d other messages find are left", left, noise, len(unrelated))
	require.Less(t, float64(left), 0.16*float64(noise))
}
