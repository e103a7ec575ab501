package main

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/tools/encoded"
	"intenthint/tools/labelled"
)

// set is the training part of a public set, by label.
type set struct {
	name   string
	labels []string
	texts  map[string][]string
}

// readSets reads the training parts.
func readSets(data fs.FS) ([]set, error) {
	var out []set
	for _, name := range []string{"clinc150/data_full.json.gz", "banking77/train.csv", "hwu64/train.tsv"} {
		lines, err := labelled.Read(data, name, "train")
		if err != nil {
			return nil, err
		}
		out = append(out, byLabel(name, lines))
	}
	return out, nil
}

func byLabel(name string, lines []evaluate.Line) set {
	s := set{name: name, texts: map[string][]string{}}
	for i := range lines {
		l := &lines[i]
		if s.texts[l.Intent] == nil {
			s.labels = append(s.labels, l.Intent)
		}
		s.texts[l.Intent] = append(s.texts[l.Intent], l.Text)
	}
	return s
}

// simulation makes catalogues of labels, and asks them.
type simulation struct {
	sets     []set
	embedder *encoded.Encoder
	rounds   int
}

// trial is one message to one catalogue.
type trial struct {
	set      string
	bare     bool
	observed local.Observed
}

const (
	leastIntents, mostIntents = 3, 8
	// messagesEach is the number of messages of each intent, of which as many fit none.
	messagesEach = 4
)

// examplesEach are the numbers of examples of an intent.
var examplesEach = []int{0, 1, 2, 3, 5}

func (s *simulation) run(ctx context.Context) (out []trial, err error) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same catalogues each time
	for i := range s.sets {
		for _, n := range examplesEach {
			for range s.rounds {
				found, err := s.ask(ctx, random, i, n)
				if err != nil {
					return nil, err
				}
				out = append(out, found...)
			}
		}
	}
	return out, nil
}

// message is a text, and the label that it fits; "" for none.
type message struct{ text, label string }

// ask makes a catalogue of labels of a set, with n examples each, and asks it.
func (s *simulation) ask(ctx context.Context, random *rand.Rand, which, n int) ([]trial, error) {
	catalog, messages := s.catalogue(random, which, n)
	words := local.Train(catalog)
	_, embedded, err := s.embedder.Train(ctx, catalog, words)
	if err != nil {
		return nil, err
	}
	var out []trial
	add := func(o local.Observed, ok bool) {
		if ok {
			out = append(out, trial{s.sets[which].name, n == 0, o})
		}
	}
	for _, m := range messages {
		in := classify.Input{Catalog: catalog, Latest: m.text}
		add(words.Observe(in, nil, nil, m.label))
		if embedded == nil {
			continue
		}
		found, err := s.embedder.Vectors(ctx, embedded.Texts(in))
		if err != nil {
			return nil, err
		}
		if o, ok := words.Observe(in, embedded, found, m.label); o.Vectors { // else it was judged by words
			add(o, ok)
		}
	}
	return out, nil
}

// catalogue draws a catalogue and its messages.
func (s *simulation) catalogue(random *rand.Rand, which, n int) (*intents.Catalog, []message) {
	from := &s.sets[which]
	labels := slices.Clone(from.labels)
	random.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	chosen := labels[:leastIntents+random.IntN(mostIntents-leastIntents+1)]
	var list []intents.Intent
	var messages []message
	for _, label := range chosen {
		texts := from.texts[label]
		order := random.Perm(len(texts))
		name := strings.ReplaceAll(label, "_", " ")
		in := intents.Intent{ID: strings.ToUpper(label), Name: name, Triggers: []string{name}}
		for _, k := range order[:min(n, len(order))] {
			in.Examples = append(in.Examples, texts[k])
		}
		for _, k := range order[min(n, len(order)):min(n+messagesEach, len(order))] {
			messages = append(messages, message{texts[k], in.ID})
		}
		list = append(list, in)
	}
	for i := range messagesEach * len(chosen) {
		other, rest := from, labels[len(chosen):]
		if i%2 == 0 {
			other = &s.sets[(which+1+random.IntN(len(s.sets)-1))%len(s.sets)]
			rest = other.labels
		}
		texts := other.texts[rest[random.IntN(len(rest))]]
		messages = append(messages, message{text: texts[random.IntN(len(texts))]})
	}
	return intents.NewCatalog(list), messages
}
