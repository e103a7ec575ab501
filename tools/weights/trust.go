package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/conversation"
	"intenthint/intents"
)

const trustFile = "classify/local/people.json"

// strangeGroup is the group of this project's messages that fit no intent: people's sets
// have none, as people write to an assistant because they want something of it.
const strangeGroup = "strange"

// strangeFiles have such messages beside others. Those that are only counted are not
// among them.
var strangeFiles = []string{"messages.jsonl", "messages-dev-2.jsonl", "messages-dev-3.jsonl"}

// trustWeights fits how much the answers of the local classifier are worth for what
// people type, to labelled messages (lines of `consumer eval`) in GROUP-SOURCE.jsonl of a
// folder that is no part of the repository, and to this project's messages that fit
// nothing. Without the folder the numbers stay.
func trustWeights(ctx context.Context, into tree) error {
	if into.people == "" {
		fmt.Println(trustFile, "stays: no folder of people's messages (-people)")
		return nil
	}
	sources, err := readPeople(os.DirFS(into.people))
	if err != nil {
		return err
	}
	strange, err := readStrange(os.DirFS(filepath.Join("..", "classify", "evaluate", "testdata")))
	if err != nil {
		return err
	}
	sources[strangeGroup] = strange
	c, err := newTrier(into)
	if err != nil {
		return err
	}
	t, tried, err := c.fit(ctx, sources)
	if err != nil {
		return err
	}
	leaveSourcesOut(tried)
	data, err := json.MarshalIndent(rounded(t), "", "\t")
	if err != nil {
		return err
	}
	return into.write(trustFile, append(data, '\n'))
}

// readPeople returns the lines of each file of a folder, by its name.
func readPeople(fsys fs.FS) (map[string][]evaluate.Line, error) {
	names, err := fs.Glob(fsys, "*-*.jsonl")
	if err != nil {
		return nil, err
	}
	out := make(map[string][]evaluate.Line)
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		if out[strings.TrimSuffix(name, path.Ext(name))], err = evaluate.Parse(name, data); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no GROUP-SOURCE.jsonl: %w", evaluate.ErrNoLines)
	}
	return out, nil
}

// readStrange returns the lines of the strangeFiles whose message stands alone and fits no
// intent.
func readStrange(fsys fs.FS) (out []evaluate.Line, err error) {
	for _, name := range strangeFiles {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		lines, err := evaluate.Parse(name, data)
		if err != nil {
			return nil, err
		}
		for i := range lines {
			if l := &lines[i]; l.Intent == intents.FallbackID && len(l.Intents) < 2 && len(l.History) == 0 {
				out = append(out, *l)
			}
		}
	}
	return out, nil
}

// trier answers as the running system does: by words, and where these are unsure with
// the encoder.
type trier struct {
	catalog  *intents.Catalog
	words    *local.Model
	embedded *local.Embedded
	embedder *encoder.Embedder
}

func newTrier(into tree) (*trier, error) {
	embedder, err := encoder.NewEmbedder(1, encoder.RecentTexts)
	if err != nil {
		return nil, err
	}
	file, err := os.ReadFile(into.path(vectorsFile))
	if err != nil {
		return nil, err
	}
	c := &trier{catalog: intents.Bundled(), embedder: embedder}
	c.words = local.Train(c.catalog)
	read := local.FewTextsOf(c.catalog, encoder.MaxTexts, embedder.Fits)
	c.embedded, err = local.TrainEmbedded(c.words, vectors.Among(local.TextsOf(c.catalog), vectors.OpenFile(file).Vectors(read)))
	return c, err
}

// fit fits the part for words, then that for the encoder to what it is asked about.
func (c *trier) fit(ctx context.Context, sources map[string][]evaluate.Line) (local.Trust, []local.Tried, error) {
	var tried []local.Tried
	each := func(answer func(in classify.Input) (local.Trusted, error)) error {
		tried = nil
		for source, lines := range sources {
			group, _, _ := strings.Cut(source, "-")
			for i := range lines {
				text := lines[i].Text
				a, err := answer(classify.Input{Catalog: c.catalog, Latest: conversation.Latest(text), Paste: conversation.Pasted(text)})
				if err != nil {
					return err
				}
				tried = append(tried, local.Tried{Trusted: a, Right: right(&lines[i], &a), Strange: group == strangeGroup, Group: group, Source: source})
			}
		}
		slices.SortStableFunc(tried, func(a, b local.Tried) int { return strings.Compare(a.Source, b.Source) })
		return nil
	}
	if err := each(func(in classify.Input) (local.Trusted, error) { return c.words.Try(in, nil, nil), nil }); err != nil {
		return local.Trust{}, nil, err
	}
	t := local.FitTrust(tried)
	words := t.Words
	err := each(func(in classify.Input) (local.Trusted, error) {
		a := c.words.Try(in, nil, nil)
		if !a.Other && t.Of(a) >= encoder.Accept {
			return a, nil
		}
		return c.withVector(ctx, in, a)
	})
	t = local.FitTrust(tried)
	t.Words = words // of all messages, also those that the encoder answers
	return t, tried, err
}

func (c *trier) withVector(ctx context.Context, in classify.Input, byWords local.Trusted) (local.Trusted, error) {
	texts := c.embedded.Texts(in)
	if len(texts) == 0 || !c.embedder.Fits(texts[0]) {
		return byWords, nil
	}
	found, err := c.embedder.Vectors(ctx, texts)
	if err != nil {
		return byWords, err
	}
	return c.words.Try(in, c.embedded, found), nil
}

func right(line *evaluate.Line, a *local.Trusted) bool {
	got := a.Intent
	if a.Other {
		got = intents.FallbackID
	}
	return got == line.Intent || slices.Contains(line.Intents, got)
}

// leaveSourcesOut prints the calibration error of each source, and that of a fit to the
// other sources.
func leaveSourcesOut(tried []local.Tried) {
	var sources []string
	for _, o := range tried {
		sources = append(sources, o.Source)
	}
	slices.Sort(sources)
	for _, source := range slices.Compact(sources) {
		isHere := func(o local.Tried) bool { return o.Source == source }
		here := slices.DeleteFunc(slices.Clone(tried), func(o local.Tried) bool { return !isHere(o) || o.Other })
		t := local.FitTrust(slices.DeleteFunc(slices.Clone(tried), isHere))
		gap, raw, hits := 0.0, 0.0, 0.0
		for _, o := range here {
			gap += t.Of(o.Trusted)
			raw += o.Chance
			if o.Right {
				hits++
			}
		}
		n := max(1, float64(len(here)))
		fmt.Printf("%-24s %5d named, right %.2f, raw confidence %.2f, fitted to other sources %.2f\n", source, len(here), hits/n, raw/n, gap/n)
	}
}

// rounded returns the numbers with four decimals: more are chance.
func rounded(t local.Trust) local.Trust {
	const places = 1e4
	for i := range t.Words {
		t.Words[i], t.Vectors[i] = math.Round(t.Words[i]*places)/places, math.Round(t.Vectors[i]*places)/places
	}
	return t
}
