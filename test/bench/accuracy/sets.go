package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"intenthint/classify/evaluate"
	"intenthint/intents"
)

// outOfScope is CLINC150's label for messages that fit no intent.
const outOfScope = "oos"

// set is a labelled set.
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

// source names the files of a set.
type source struct {
	name, train, test string
	// rejected is a file with messages that fit no intent, "" for none.
	rejected string
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
	}
	return out
}

// read reads the files of a set.
func (src source) read(fsys fs.FS) (*set, error) {
	out := &set{name: src.name}
	var err error
	if out.train, err = readLines(fsys, src.train, "train"); err != nil {
		return nil, err
	}
	if out.test, err = readLines(fsys, src.test, "test", "oos_test"); err != nil {
		return nil, err
	}
	if src.rejected == "" {
		return out, nil
	}
	rejected, err := readLines(fsys, src.rejected, "oos_train")
	for _, line := range rejected {
		out.rejected = append(out.rejected, line.Text)
	}
	return out, err
}

var errEmpty = errors.New("no rows")

// readLines reads a file in the format that its name ends in. parts are read of
// a JSON file, which holds several.
func readLines(fsys fs.FS, name string, parts ...string) ([]evaluate.Line, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var lines []evaluate.Line
	switch path.Ext(name) {
	case ".csv":
		lines, err = parseCSV(data)
	case ".tsv":
		lines, err = parseTSV(data)
	default:
		lines, err = parseCLINC(data, parts)
	}
	if err == nil && len(lines) == 0 {
		err = errEmpty
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}

// parseCLINC reads parts of gzipped JSON: each a list of text and label.
func parseCLINC(data []byte, names []string) ([]evaluate.Line, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var parts map[string][][2]string
	if err := json.NewDecoder(unzipped).Decode(&parts); err != nil {
		return nil, err
	}
	var lines []evaluate.Line
	for _, name := range names {
		for _, row := range parts[name] {
			line := evaluate.Line{Text: row[0], Intent: row[1]}
			if line.Intent == outOfScope {
				line.Intent = intents.FallbackID
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// parseCSV reads CSV with a heading, text before label.
func parseCSV(data []byte) ([]evaluate.Line, error) {
	rows := csv.NewReader(bytes.NewReader(data))
	rows.FieldsPerRecord = 2
	all, err := rows.ReadAll()
	if err != nil {
		return nil, err
	}
	var lines []evaluate.Line
	for _, row := range all[min(len(all), 1):] {
		lines = append(lines, evaluate.Line{Text: strings.TrimSpace(row[0]), Intent: row[1]})
	}
	return lines, nil
}

// parseTSV reads tab-separated lines with a heading, label before text;
// quotation marks have no meaning.
func parseTSV(data []byte) ([]evaluate.Line, error) {
	var lines []evaluate.Line
	number := 0
	for row := range strings.Lines(string(data)) {
		number++
		row = strings.TrimRight(row, "\r\n")
		if number == 1 || row == "" {
			continue
		}
		label, text, ok := strings.Cut(row, "\t")
		if !ok {
			return nil, fmt.Errorf("line %d: no tab between label and text", number)
		}
		lines = append(lines, evaluate.Line{Text: text, Intent: label})
	}
	return lines, nil
}
