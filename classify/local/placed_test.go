package local

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

func TestPlacedVectors(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	some := func() []float32 {
		v := make([]float32, 37)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return unit(v)
	}
	e := &Embedded{dimensions: 37, mean: some()}
	for i := range e.mean {
		e.mean[i] /= 4
	}
	e.number()
	rows := [][]float32{some(), nil, some(), e.mean}
	for _, v := range rows {
		e.rows.add(v, e.mean)
	}
	vector, want := make([]float32, 37), make([]float32, 37)
	e.centre(vector, some())
	q := newQuery(vector, e.mean)
	for i, v := range rows {
		require.Equal(t, v != nil, e.rows.has(i))
		if v == nil {
			require.Zero(t, e.rows.cosine(i, q))
			continue
		}
		e.centre(want, v)
		if i == 3 {
			clear(want) // but for rounding it is the mean: whatever is left is noise
			continue
		}
		require.InDelta(t, product(want, vector), e.rows.cosine(i, q), 0.01)
	}
	require.Zero(t, e.rows.cosine(0, newQuery(make([]float32, 37), e.mean)), "a vector that is the mean")
}

// fileOfVectors is a file with the vectors of texts.
type fileOfVectors struct {
	texts []string
	placed
}

func (f *fileOfVectors) Place(text string) int { return slices.Index(f.texts, text) }
func (f *fileOfVectors) Numbers() []byte       { return f.numbers }
func (f *fileOfVectors) Sum() uint32           { return uint32(len(f.texts)) }

func TestAShippedModelIsTheTrainedOne(t *testing.T) {
	var list []intents.Intent
	for i, verb := range []string{"play", "translate", "book"} {
		in := intents.Intent{ID: strings.ToUpper(verb), Name: verb, Triggers: []string{"the user wants to " + verb}}
		for k, what := range strings.Fields("song letter room table album poem flight hotel video page seat word ticket 音樂") {
			in.Examples = append(in.Examples, fmt.Sprintf("%s the %s number%d please", verb, what, (i+k)%5))
		}
		list = append(list, in)
	}
	list = append(list, intents.Intent{ID: intents.FallbackID, Name: "Other", Examples: []string{"asdf", "you are funny"}})
	cat := intents.NewCatalog(list)
	trained := newModel(cat)
	require.Nil(t, trained.around)
	trained.train()
	vectors := vectorsOf(TextsOf(cat), grams(nil))
	vectors["asdf"] = nil
	e, err := TrainEmbedded(trained, vectors)
	require.NoError(t, err)
	file := &fileOfVectors{placed: placed{size: e.dimensions}}
	for text, v := range vectors {
		if v != nil {
			file.texts = append(file.texts, text)
			file.add(v, e.mean)
		}
	}
	data, err := shippedOf(trained, e, vectors, file).encode()
	require.NoError(t, err)

	shipped := newModel(cat)
	shipped.use(openShipped(data))
	by := ShippedEmbedded(shipped, file)
	require.NotNil(t, by)
	for _, message := range append(TextsOf(cat), "book me a song", "a poem, translate it", "zork", "音樂", "") {
		require.Equal(t, trained.Predict(message, nil, nil), shipped.Predict(message, nil, nil), message)
		in := classify.Input{Latest: message}
		asked := vectorsOf(e.Texts(in), grams(nil))
		require.Equal(t, e.PredictVectors(in, nil, asked), by.PredictVectors(in, nil, asked), message)
	}

	require.Nil(t, ShippedEmbedded(trained, file), "a model that was trained")
	file.texts = append(file.texts, "another")
	require.Nil(t, ShippedEmbedded(shipped, file), "other vectors")
	for name, other := range map[string][]byte{
		"nothing": nil, "another format": append([]byte("x"), data[1:]...), "cut off": data[:len(data)-1], "its first bytes": data[:len(shippedMagic)],
		"surplus bytes": append(slices.Clone(data), 0),
	} {
		require.Nil(t, openShipped(other), name)
	}
}

func TestFingerprint(t *testing.T) {
	samples := []sample{{text: "play some jazz", class: 0}, {text: "will it rain", class: 1}}
	sum := fingerprint(samples)
	require.Equal(t, sum, fingerprint(slices.Clone(samples)))
	for name, change := range map[string]func(s []sample){
		"text": func(s []sample) { s[1].text += "?" }, "class": func(s []sample) { s[1].class = 0 }, "kind": func(s []sample) { s[0].trigger = true },
	} {
		other := slices.Clone(samples)
		change(other)
		require.NotEqual(t, sum, fingerprint(other), name)
	}
}
