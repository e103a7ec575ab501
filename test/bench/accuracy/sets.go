package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"intenthint/classify/evaluate"
	"intenthint/intents"
)

// outOfScope is the label of CLINC150 for what fits no intent.
const outOfScope = "oos"

// set is a labelled set: what an operator would have written down, and messages
// to try.
type set struct {
	name        string
	train, test []evaluate.Line
	// rejected are known messages that fit no intent: the fallback's examples.
	rejected []string
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
		out[i].Examples = append(out[i].Examples, line.Text)
	}
	if len(s.rejected) > 0 {
		fallback := intents.NewCatalog(nil).Fallback()
		fallback.Examples = append(append([]string(nil), fallback.Examples...), s.rejected...)
		out = append(out, fallback)
	}
	return intents.NewCatalog(out)
}

// source is a set that is read when its turn comes.
type source struct {
	name string
	read func(fsys fs.FS) (*set, error)
}

// sources are the public sets, each as it was published.
func sources() []source {
	out := []source{
		{"CLINC150 full", func(fsys fs.FS) (*set, error) { return clincFull(fsys, false) }},
		{"CLINC150 full, oos_train known", func(fsys fs.FS) (*set, error) { return clincFull(fsys, true) }},
	}
	for _, shots := range []int{10, 5} {
		out = append(out, source{fmt.Sprintf("CLINC150, %d an intent", shots), func(fsys fs.FS) (*set, error) {
			full, err := clincFull(fsys, false)
			return fewShot(fsys, "clinc150", shots, full, err)
		}})
	}
	for _, s := range []struct {
		name, folder string
		read         func(fsys fs.FS) (*set, error)
	}{{"BANKING77", "banking77", banking}, {"HWU64", "hwu64", hwu}} {
		out = append(out, source{s.name + " full", s.read})
		for _, shots := range []int{10, 5} {
			out = append(out, source{fmt.Sprintf("%s, %d an intent", s.name, shots), func(fsys fs.FS) (*set, error) {
				full, err := s.read(fsys)
				return fewShot(fsys, s.folder, shots, full, err)
			}})
		}
	}
	return out
}

// clincFull reads CLINC150 with its out-of-scope messages; with known, those for
// training become the fallback's examples.
func clincFull(fsys fs.FS, known bool) (*set, error) {
	name := "clinc150/data_full.json.gz"
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var parts map[string][][2]string
	if err := json.NewDecoder(unzipped).Decode(&parts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := &set{}
	for _, row := range parts["train"] {
		out.train = append(out.train, evaluate.Line{Text: row[0], Intent: row[1]})
	}
	for _, row := range append(parts["test"], parts["oos_test"]...) {
		line := evaluate.Line{Text: row[0], Intent: row[1]}
		if line.Intent == outOfScope {
			line.Intent = intents.FallbackID
		}
		out.test = append(out.test, line)
	}
	if known {
		for _, row := range parts["oos_train"] {
			out.rejected = append(out.rejected, row[0])
		}
	}
	return out.checked(name)
}

// fewShot is full with the training texts of a published split.
func fewShot(fsys fs.FS, folder string, shots int, full *set, err error) (*set, error) {
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("fewshot-splits/%s.train_%d.tsv", folder, shots)
	train, err := labelFirst(fsys, name)
	if err != nil {
		return nil, err
	}
	out := &set{train: train, test: full.test}
	return out.checked(name)
}

func banking(fsys fs.FS) (*set, error) {
	train, err := labelLast(fsys, "banking77/train.csv")
	if err != nil {
		return nil, err
	}
	name := "banking77/test.csv"
	test, err := labelLast(fsys, name)
	if err != nil {
		return nil, err
	}
	out := &set{train: train, test: test}
	return out.checked(name)
}

func hwu(fsys fs.FS) (*set, error) {
	train, err := labelFirst(fsys, "hwu64/train.tsv")
	if err != nil {
		return nil, err
	}
	name := "hwu64/test.tsv"
	test, err := labelFirst(fsys, name)
	if err != nil {
		return nil, err
	}
	out := &set{train: train, test: test}
	return out.checked(name)
}

// errEmpty: a file holds none of the rows that it should.
var errEmpty = errors.New("there are no rows in it")

// checked says whether there is something to train on and to try; name is the
// file that was read last.
func (s *set) checked(name string) (*set, error) {
	if len(s.train) == 0 || len(s.test) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errEmpty)
	}
	return s, nil
}

// labelLast reads CSV with a heading, text before label.
func labelLast(fsys fs.FS, name string) ([]evaluate.Line, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return readCSV(name, bytes.NewReader(data))
}

func readCSV(name string, r io.Reader) ([]evaluate.Line, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = 2
	all, err := rows.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var lines []evaluate.Line
	for _, row := range all[min(len(all), 1):] {
		lines = append(lines, evaluate.Line{Text: strings.TrimSpace(row[0]), Intent: row[1]})
	}
	return lines, nil
}

// labelFirst reads tab-separated lines with a heading, label before text;
// quotation marks mean nothing.
func labelFirst(fsys fs.FS, name string) ([]evaluate.Line, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return readTSV(name, string(data))
}

func readTSV(name, data string) ([]evaluate.Line, error) {
	var lines []evaluate.Line
	number := 0
	for row := range strings.Lines(data) {
		number++
		row = strings.TrimRight(row, "\r\n")
		if number == 1 || row == "" {
			continue
		}
		label, text, ok := strings.Cut(row, "\t")
		if !ok {
			return nil, fmt.Errorf("%s:%d: no tab between label and text", name, number)
		}
		lines = append(lines, evaluate.Line{Text: text, Intent: label})
	}
	return lines, nil
}
