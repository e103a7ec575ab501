package main

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/tools/encoded"
	"intenthint/tools/labelled"
)

// tinySets are sets in the format of the public ones.
func tinySets(t *testing.T) fstest.MapFS {
	t.Helper()
	data := fstest.MapFS{}
	put := func(name, content string) { data[name] = &fstest.MapFile{Data: []byte(content)} }
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(`{"train": [["will it rain tomorrow", "weather"], ["how hot is it outside", "weather"],
		["pay my electricity bill", "pay_bill"], ["settle the phone bill", "pay_bill"]],
		"val": [], "test": [["will it rain tomorrow", "weather"], ["pay my electricity bill", "pay_bill"]],
		"oos_train": [["xqzv wkjp", "oos"]], "oos_val": [], "oos_test": [["gnrf tlbd", "oos"]]}`))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	put("clinc150/data_full.json.gz", zipped.String())
	const first = "label\ttext\nweather\twill it \"rain\" tomorrow\npay_bill\tpay my electricity bill\n"
	const last = "text,category\n\"will it rain, tomorrow\n\",Weather\npay my electricity bill,pay_bill\n"
	put("banking77/train.csv", last)
	put("banking77/test.csv", last)
	put("hwu64/train.tsv", first)
	put("hwu64/test.tsv", first)
	for _, folder := range []string{"clinc150", "banking77", "hwu64"} {
		put("fewshot-splits/"+folder+".train_5.tsv", first)
		put("fewshot-splits/"+folder+".train_10.tsv", first)
	}
	return data
}

func TestTable(t *testing.T) {
	data := tinySets(t)
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), data, sources(), nil, &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	rows := strings.Split(strings.TrimPrefix(stdout.String(), heading), "\n")
	require.Regexp(t, `^\| CLINC150 full \| words \| 4 \| 100\.0 \| 100\.0 \| 100\.0 \| 100\.0 \| 0\.\d{3} \| \d+ \| \d+ \|$`, rows[0])
	require.Regexp(t, `^\| HWU64, 5 an intent \| words \| 2 \| 100\.0 \| 100\.0 \| – \| – \| 0\.\d{3} \| \d+ \| \d+ \|$`, rows[15])
	require.Regexp(t, `^\| HWU64, 1 an intent \| words \| 2 \|`, rows[17])
	require.Regexp(t, `^\| HWU64, 0 an intent \| words \| 0 \|`, rows[18])
	for _, row := range rows[:19] {
		require.Equal(t, strings.Count(heading, "|")/2, strings.Count(row, "|"), row)
	}

	for name, left := range map[string]string{
		"hwu64/train.tsv":                     "HWU64 full skipped",
		"fewshot-splits/clinc150.train_5.tsv": "CLINC150, 5 an intent skipped",
	} {
		delete(data, name)
		stdout.Reset()
		stderr.Reset()
		require.Equal(t, 1, run(t.Context(), data, sources(), nil, &stdout, &stderr))
		require.Contains(t, stderr.String(), left)
		require.Contains(t, stderr.String(), name)
		require.Contains(t, stdout.String(), "| BANKING77 full |", "the other sets remain")
	}
}

func TestTableWithTheEncoder(t *testing.T) {
	var stdout, stderr bytes.Buffer
	embedder, err := encoded.New()
	require.NoError(t, err)
	require.Zero(t, run(t.Context(), tinySets(t), sources()[:1], embedder, &stdout, &stderr), stderr.String())
	rows := strings.Split(strings.TrimPrefix(stdout.String(), heading), "\n")
	require.Regexp(t, `^\| CLINC150 full \| words \| 4 \| 100\.0 \|`, rows[0])
	require.Regexp(t, `^\| CLINC150 full \| encoder \| 4 \| 100\.0 \|`, rows[1])
	require.Positive(t, embedder.Texts())
}

func TestNoSets(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), fstest.MapFS{}, sources(), nil, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Equal(t, len(sources()), strings.Count(stderr.String(), "\n"))
}

func TestTestLabelWithoutTrainingTexts(t *testing.T) {
	data := tinySets(t)
	data["hwu64/test.tsv"] = &fstest.MapFile{Data: []byte("label\ttext\nmusic\tplay jazz\n")}
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), data, sources(), nil, &stdout, &stderr))
	require.Contains(t, stderr.String(), `the first is "music"`)
}

func TestCatalog(t *testing.T) {
	s := &set{
		train:    []evaluate.Line{{Text: "one", Intent: "pay_bill"}, {Text: "two", Intent: "weather"}, {Text: "three", Intent: "Pay_bill"}},
		rejected: []string{"nothing"},
	}
	c := s.catalog()
	require.Equal(t, []intents.Intent{
		{ID: "pay_bill", Name: "pay bill", Triggers: []string{"pay bill"}, Examples: []string{"one", "three"}},
		{ID: "weather", Name: "weather", Triggers: []string{"weather"}, Examples: []string{"two"}},
	}, c.Enabled())
	builtin := intents.NewCatalog(nil).Fallback()
	require.Equal(t, append(append([]string(nil), builtin.Examples...), "nothing"), c.Fallback().Examples)
	s.rejected = nil
	require.Equal(t, builtin, s.catalog().Fallback())
	s.bounded, s.shots = true, 1
	require.Equal(t, []string{"one"}, s.catalog().Enabled()[0].Examples)
	require.Equal(t, 2, s.examples())
	s.shots = 0
	require.Empty(t, s.catalog().Enabled()[0].Examples)
	require.Len(t, s.catalog().Enabled(), 2)
}

func TestBrokenFiles(t *testing.T) {
	for _, tc := range []struct {
		name, file, content, want string
	}{
		{"line without a tab", "hwu64/train.tsv", "label\ttext\na\tb\nno tab\n", "line 3: no tab between label and text"},
		{"row of three fields", "banking77/train.csv", "text,category\na,b,c\n", "wrong number of fields"},
		{"not gzip", "clinc150/data_full.json.gz", "this is not gzip", "gzip: invalid header"},
		{"heading alone", "banking77/test.csv", "text,category\n", labelled.ErrEmpty.Error()},
		{"heading alone in the training part", "hwu64/train.tsv", "label\ttext\n", labelled.ErrEmpty.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := tinySets(t)
			data[tc.file] = &fstest.MapFile{Data: []byte(tc.content)}
			var stdout, stderr bytes.Buffer
			require.Equal(t, 1, run(t.Context(), data, sources(), nil, &stdout, &stderr))
			require.Contains(t, stderr.String(), tc.file+": ")
			require.Contains(t, stderr.String(), tc.want)
		})
	}
}
