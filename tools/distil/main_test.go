package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/tools/encoded"
)

// phrases make messages of two intents that share few words.
func phrases(n int, from uint64) []evaluate.Line {
	draw := rand.New(rand.NewPCG(from, 7))
	pick := func(words string) string { all := strings.Fields(words); return all[draw.IntN(len(all))] }
	lines := make([]evaluate.Line, n)
	for i := range lines {
		if i%2 == 0 {
			lines[i] = evaluate.Line{Text: fmt.Sprintf("%s it %s in %s %s", pick("will does did"), pick("rain snow hail thunder"), pick("Paris Rome Oslo Lima Kyiv Bonn"), pick("today tomorrow tonight sunday")), Intent: "weather"}
		} else {
			lines[i] = evaluate.Line{Text: fmt.Sprintf("%s my %s bill from %s", pick("pay settle clear"), pick("phone water power gas"), pick("January March May July August")), Intent: "pay_bill"}
		}
	}
	return lines
}

func TestOracle(t *testing.T) {
	s := &set{traffic: phrases(20_000, 1)}
	for i := range s.traffic {
		s.traffic[i].Text += fmt.Sprint(" ", i)
	}
	o, same := newOracle(s), newOracle(s)
	wrong := 0
	for _, line := range s.traffic {
		c, err := o.Classify(t.Context(), classify.Input{Latest: line.Text})
		require.NoError(t, err)
		require.Equal(t, payload.SourceLLM, c.Source)
		require.Equal(t, same.answer(line.Text), c.Intent)
		if c.Intent != line.Intent {
			wrong++
		}
	}
	require.InDelta(t, 1000, wrong, 100, "five in a hundred")
	require.EqualValues(t, len(s.traffic), o.calls.Load())
}

func TestTheLearnerSavesCalls(t *testing.T) {
	s := &set{traffic: phrases(600, 1), validate: phrases(100, 2), test: phrases(100, 3)}
	l := newLearner(newOracle(s), nil, 0.98)
	var over []window
	require.NoError(t, l.stream(t.Context(), s.traffic, []int{5, 600}, func(n int, since tally) { over = append(over, window{n, since}) }))
	require.Equal(t, []int{5, 600}, []int{over[0].until, over[1].until})
	require.Equal(t, []int{5, 5, 595}, []int{over[0].n, over[0].calls, over[1].n}, "the model answers all until there are examples")
	require.Less(t, over[1].per100(), 50.0)
	require.Greater(t, over[1].accuracy(), 80.0)
	require.EqualValues(t, over[0].calls+over[1].calls, l.model.calls.Load())
	require.Greater(t, l.trained, 1)
	known := 0
	for _, texts := range l.examples {
		known += len(texts)
	}
	require.Len(t, l.known, known)

	before := len(l.known)
	got, err := l.measure(t.Context(), s.test)
	require.NoError(t, err)
	require.Equal(t, 100, got.n)
	require.Less(t, got.per100(), 20.0)
	require.Len(t, l.known, before, "measuring teaches nothing")
}

func TestCatalogBeginsWithNames(t *testing.T) {
	c := catalog([]string{"pay_bill"}, nil)
	require.Equal(t, []intents.Intent{{ID: "pay_bill", Name: "pay bill", Triggers: []string{"pay bill"}}}, c.Enabled())
	c = catalog([]string{"pay_bill"}, map[string][]string{"pay_bill": {"settle it"}, "OTHER": {"hm"}})
	require.Equal(t, []string{"settle it"}, c.Enabled()[0].Examples)
	require.Contains(t, c.Fallback().Examples, "hm")
}

func TestChoose(t *testing.T) {
	outcome := func(calls, right int) *trial {
		return &trial{validate: tally{n: 100, calls: calls, right: right, modelRight: 95, apart: max(95-right, right-95)}}
	}
	for _, row := range []struct {
		name   string
		trials [][]*trial
		want   []int // positions, by set
	}{
		{"fewest calls", [][]*trial{{outcome(20, 95)}, {outcome(10, 96)}, {outcome(30, 97)}}, []int{1}},
		{"not at a loss", [][]*trial{{outcome(5, 94)}, {outcome(10, 95)}, {outcome(30, 97)}}, []int{1}},
		{"each set its own", [][]*trial{{outcome(5, 95), outcome(5, 90)}, {outcome(10, 95), outcome(10, 95)}}, []int{0, 1}},
		{"the most careful when all lose some", [][]*trial{{outcome(5, 80)}, {outcome(10, 90)}}, []int{1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for i, got := range choose(row.trials) {
				require.Same(t, row.trials[row.want[i]][i], got)
			}
		})
	}
}

// files are the sets in the format of the public ones.
func files(t *testing.T) fstest.MapFS {
	t.Helper()
	part := func(lines []evaluate.Line) string {
		var rows []string
		for _, l := range lines {
			rows = append(rows, fmt.Sprintf("[%q, %q]", l.Text, l.Intent))
		}
		return "[" + strings.Join(rows, ",") + "]"
	}
	tsv := func(lines []evaluate.Line) *fstest.MapFile {
		rows := []string{"label\ttext"}
		for _, l := range lines {
			rows = append(rows, l.Intent+"\t"+l.Text)
		}
		return &fstest.MapFile{Data: []byte(strings.Join(rows, "\n"))}
	}
	csv := func(lines []evaluate.Line) *fstest.MapFile {
		rows := []string{"text,category"}
		for _, l := range lines {
			rows = append(rows, l.Text+","+l.Intent)
		}
		return &fstest.MapFile{Data: []byte(strings.Join(rows, "\n"))}
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := fmt.Fprintf(w, `{"train": %s, "val": %s, "test": %s, "oos_train": [["xqzv wkjp", "oos"]], "oos_val": [], "oos_test": []}`,
		part(phrases(200, 1)), part(phrases(40, 2)), part(phrases(40, 3)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	held := phrases(40, 2)
	for i := range held {
		held[i].Text = strings.ToLower(held[i].Text) + "?"
	}
	return fstest.MapFS{
		"clinc150/data_full.json.gz":         {Data: zipped.Bytes()},
		"banking77/train.csv":                csv(append(phrases(200, 1), phrases(40, 2)...)),
		"banking77/test.csv":                 csv(phrases(40, 3)),
		"fewshot-splits/banking77.valid.tsv": tsv(held),
		"hwu64/train.tsv":                    tsv(phrases(200, 1)),
		"hwu64/test.tsv":                     tsv(phrases(40, 3)),
		"fewshot-splits/hwu64.valid.tsv":     tsv(phrases(40, 2)),
	}
}

func TestTrafficHoldsNothingThatIsValidatedOn(t *testing.T) {
	data := files(t)
	for _, src := range sources() {
		s, err := src.read(data, seed)
		require.NoError(t, err)
		held := map[string]bool{}
		for _, line := range s.validate {
			held[plain(line.Text)] = true
		}
		require.NotEmpty(t, s.traffic)
		for _, line := range s.traffic {
			require.False(t, held[plain(line.Text)], line.Text)
		}
		again, err := src.read(data, seed)
		require.NoError(t, err)
		require.Equal(t, s.traffic, again.traffic)
	}
}

func TestTables(t *testing.T) {
	data := files(t)
	var stdout, again bytes.Buffer
	require.NoError(t, run(t.Context(), data, sources(), nil, []float64{0.5, 0.9}, &stdout))
	require.Regexp(t, `\| \| CLINC150 \| BANKING77 \| HWU64 \|`, stdout.String())
	require.Regexp(t, `\| the model alone \| 100, \d`, stdout.String())
	require.Regexp(t, `\| chosen \| 0\.[59] \| 0\.[59] \| 0\.[59] \|\n`, stdout.String())
	require.Regexp(t, `\| HWU64 \| all \| \d+\.\d \|`, stdout.String())
	require.Regexp(t, `\| BANKING77 \| \d+ \| \d+ \| \d+ \| \d+ \| \d+\.\d \| \d+\.\d \| \d+\.\d \| -?\d+\.\d, \d+\.\d \|\n`, stdout.String())
	require.NoError(t, run(t.Context(), data, sources(), nil, []float64{0.5, 0.9}, &again))
	require.Equal(t, stdout.String(), again.String(), "the same in every run")

	encoder, err := encoded.New()
	require.NoError(t, err)
	again.Reset()
	require.NoError(t, run(t.Context(), data, sources()[2:], encoder, []float64{0.9}, &again))
	require.Contains(t, again.String(), "HWU64")
	require.Positive(t, encoder.Texts())

	delete(data, "hwu64/test.tsv")
	require.ErrorContains(t, run(t.Context(), data, sources(), nil, []float64{0.5}, &again), "hwu64/test.tsv")
}
