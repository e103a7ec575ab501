// Package labelled reads public sets of labelled messages, each in the format in
// which it was published.
package labelled

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

// ErrEmpty reports a file without a message.
var ErrEmpty = errors.New("no rows")

// outOfScope is CLINC150's label for messages that fit no intent.
const outOfScope = "oos"

// Read reads a file in the format that its name ends in: .csv, .tsv, or else gzipped
// JSON with several parts, of which the given ones are read. Messages that fit
// no intent have [intents.FallbackID]. Errors name the file, and may wrap
// [ErrEmpty].
func Read(fsys fs.FS, name string, parts ...string) ([]evaluate.Line, error) {
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
		err = ErrEmpty
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
