package main

import (
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/tools/labelled"
)

// set is a labelled set in three parts that share no row.
type set struct {
	name                    string
	traffic, validate, test []evaluate.Line
}

// source names the files of a set.
type source struct {
	name                    string
	train, validation, test string
}

// sources are the public sets. The validation rows of BANKING77 and HWU64 are part
// of their training files.
func sources() []source {
	const clinc = "clinc150/data_full.json.gz"
	return []source{
		{"CLINC150", clinc, clinc, clinc},
		{"BANKING77", "banking77/train.csv", "fewshot-splits/banking77.valid.tsv", "banking77/test.csv"},
		{"HWU64", "hwu64/train.tsv", "fewshot-splits/hwu64.valid.tsv", "hwu64/test.tsv"},
	}
}

// read reads a set. The traffic comes in the order of the seed.
func (src source) read(fsys fs.FS, seed uint64) (*set, error) {
	out := &set{name: src.name}
	var err error
	if out.traffic, err = labelled.Read(fsys, src.train, "train", "oos_train"); err != nil {
		return nil, err
	}
	if out.validate, err = labelled.Read(fsys, src.validation, "val", "oos_val"); err != nil {
		return nil, err
	}
	if out.test, err = labelled.Read(fsys, src.test, "test"); err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, line := range out.validate {
		held[plain(line.Text)] = true
	}
	out.traffic = slices.DeleteFunc(out.traffic, func(line evaluate.Line) bool { return held[plain(line.Text)] })
	shuffle := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same order in every run
	shuffle.Shuffle(len(out.traffic), func(i, k int) { out.traffic[i], out.traffic[k] = out.traffic[k], out.traffic[i] })
	return out, nil
}

// plain returns a text without case and punctuation, which few-shot splits have
// changed.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// ids returns the sorted labels of the traffic, without the fallback.
func (s *set) ids() []string {
	var out []string
	for _, line := range s.traffic {
		if line.Intent != intents.FallbackID {
			out = append(out, line.Intent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// catalog makes one intent of each label, whose words are its name and its trigger,
// with its known examples.
func catalog(ids []string, examples map[string][]string) *intents.Catalog {
	fallback := intents.NewCatalog(nil).Fallback()
	fallback.Examples = slices.Concat(fallback.Examples, examples[intents.FallbackID])
	out := []intents.Intent{fallback}
	for _, id := range ids {
		words := strings.ReplaceAll(id, "_", " ")
		out = append(out, intents.Intent{ID: id, Name: words, Triggers: []string{words}, Examples: examples[id]})
	}
	return intents.NewCatalog(out)
}
