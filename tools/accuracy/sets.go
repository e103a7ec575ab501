package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/tools/labelled"
)

// set is a labelled set.
type set struct {
	name        string
	train, test []evaluate.Line
	// rejected are known messages that fit no intent: the fallback's examples.
	rejected []string
	// shots bounds the examples of a label if bounded is set.
	shots   int
	bounded bool
}

// catalog makes one intent of each label: the label in words is its trigger, the
// training texts are its examples.
func (s *set) catalog() *intents.Catalog {
	position := map[string]int{}
	var out []intents.Intent
	for _, line := range s.train {
		key := strings.ToUpper(line.Intent)
		i, ok := position[key]
		if !ok {
			i = len(out)
			position[key] = i
			words := strings.ReplaceAll(line.Intent, "_", " ")
			out = append(out, intents.Intent{ID: line.Intent, Name: words, Triggers: []string{words}})
		}
		if !s.bounded || len(out[i].Examples) < s.shots {
			out[i].Examples = append(out[i].Examples, line.Text)
		}
	}
	if len(s.rejected) > 0 {
		fallback := intents.NewCatalog(nil).Fallback()
		fallback.Examples = append(append([]string(nil), fallback.Examples...), s.rejected...)
		out = append(out, fallback)
	}
	return intents.NewCatalog(out)
}

// source names the files of a set.
type source struct {
	name, train, test string
	// rejected is a file with messages that fit no intent, "" for none.
	rejected string
	// shots bounds the examples of a label if bounded is set.
	shots   int
	bounded bool
}

// sources are the public sets, each as it was published.
func sources() []source {
	const clinc = "clinc150/data_full.json.gz"
	var out []source
	for _, s := range []source{
		{name: "CLINC150", train: clinc, test: clinc},
		{name: "BANKING77", train: "banking77/train.csv", test: "banking77/test.csv"},
		{name: "HWU64", train: "hwu64/train.tsv", test: "hwu64/test.tsv"},
	} {
		out = append(out, source{name: s.name + " full", train: s.train, test: s.test})
		if s.train == clinc {
			out = append(out, source{name: s.name + " full, oos_train known", train: clinc, test: clinc, rejected: clinc})
		}
		for _, shots := range []int{10, 5} {
			train := fmt.Sprintf("fewshot-splits/%s.train_%d.tsv", path.Dir(s.test), shots)
			out = append(out, source{name: fmt.Sprintf("%s, %d an intent", s.name, shots), train: train, test: s.test})
		}
		for _, shots := range []int{3, 1, 0} { // the first of the five
			train := fmt.Sprintf("fewshot-splits/%s.train_5.tsv", path.Dir(s.test))
			out = append(out, source{name: fmt.Sprintf("%s, %d an intent", s.name, shots), train: train, test: s.test, shots: shots, bounded: true})
		}
	}
	return out
}

// read reads the files of a set.
func (src source) read(fsys fs.FS) (*set, error) {
	out := &set{name: src.name, shots: src.shots, bounded: src.bounded}
	var err error
	if out.train, err = labelled.Read(fsys, src.train, "train"); err != nil {
		return nil, err
	}
	if out.test, err = labelled.Read(fsys, src.test, "test", "oos_test"); err != nil {
		return nil, err
	}
	if src.rejected == "" {
		return out, nil
	}
	rejected, err := labelled.Read(fsys, src.rejected, "oos_train")
	for _, line := range rejected {
		out.rejected = append(out.rejected, line.Text)
	}
	return out, err
}

// examples returns how many training texts the catalogue holds.
func (s *set) examples() (n int) {
	for _, in := range s.catalog().Enabled() {
		n += len(in.Examples)
	}
	return n
}
