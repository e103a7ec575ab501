package evaluate_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
	"intenthint/payload"
)

// minConfidence is the default of HINT_MIN_CONFIDENCE.
const minConfidence = 0.6

// counts are the answers to the messages of catalogues.
type counts struct {
	fit, right, wrong, silenced int // messages that fit an intent; silenced: a sure OTHER
	strange, misled             int // messages that fit none
}

func (c *counts) add(outcomes []evaluate.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		hinted, other := o.Hinted(minConfidence), o.Got == intents.FallbackID
		if o.Want == intents.FallbackID {
			c.strange++
			if hinted && !other {
				c.misled++
			}
			continue
		}
		c.fit++
		switch {
		case !hinted:
		case o.Right():
			c.right++
		case other:
			c.silenced++
		default:
			c.wrong++
		}
	}
}

// ownCatalogue is a catalogue of testdata/catalogues and its messages.
func ownCatalogue(t *testing.T, name string) (*intents.Catalog, []evaluate.Line) {
	t.Helper()
	dir := filepath.Join("testdata", "catalogues")
	files, _, err := intents.Load(os.DirFS(filepath.Join(dir, name)))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
	require.NoError(t, err)
	lines, err := evaluate.Parse(name, data)
	require.NoError(t, err)
	catalog := intents.CatalogOf(files)
	lines, unknown := evaluate.Resolve(lines, catalog)
	require.Empty(t, unknown)
	require.Len(t, lines, 30)
	return catalog, lines
}

// tierOf makes the tier of the encoder, as the running system does; nil if no text
// of the catalogue is English.
func tierOf(t *testing.T, embedder *encoder.Embedder, catalog *intents.Catalog, words *local.Model) (*classify.Embedding, *local.Embedded) {
	t.Helper()
	found, err := embedder.Vectors(t.Context(), local.FewTextsOf(catalog, encoder.MaxTexts, embedder.Fits))
	require.NoError(t, err)
	maps.Copy(found, vectors.Bundled(words.Background()))
	embedded, err := local.TrainEmbedded(words, vectors.Among(local.TextsOf(catalog), found))
	if err != nil {
		require.ErrorIs(t, err, local.ErrNoVectors)
		return nil, nil
	}
	return classify.NewBuiltIn(encoder.Ref, embedder, embedded, embedder.Fits), embedded
}

// classifyOwn runs the messages of a catalogue as the running system classifies
// them at its default settings, but waits for each vector.
func classifyOwn(ctx context.Context, t *testing.T, embedder *encoder.Embedder, name string) []evaluate.Outcome {
	t.Helper()
	catalog, lines := ownCatalogue(t, name)
	words := local.Train(catalog)
	tier, embedded := tierOf(t, embedder, catalog, words)
	opts := classify.Options{Bounds: classify.Bounds{Accept: encoder.Accept, Share: 1}}
	if tier != nil {
		opts.Embedding = tier
	}
	run := evaluate.Run{
		Catalog:    catalog,
		Classifier: classify.New(classify.ModeLocal, words, nil, opts),
		Predict: func(source string, in classify.Input) local.Prediction {
			if source == payload.SourceEmbedding {
				if found, err := tier.Vectors(ctx, in); err == nil {
					return embedded.PredictVectors(in, nil, found)
				}
			}
			return words.PredictInput(in, nil)
		},
	}
	outcomes, err := run.Classify(ctx, lines)
	require.NoError(t, err)
	return outcomes
}

// Catalogues of people's own, with three or four examples an intent, and messages
// that were written before the code they measure: what docs/figures.md says must
// hold.
func TestOwnCatalogues(t *testing.T) {
	embedder, err := encoder.NewEmbedder(1, encoder.RecentTexts)
	require.NoError(t, err)
	var all counts
	for _, name := range []string{"avocats", "baeckerei", "dentist", "devops", "gakkou", "gameserver", "helpdesk-names", "original"} {
		t.Run(name, func(t *testing.T) {
			outcomes := classifyOwn(t.Context(), t, embedder, name)
			var c counts
			c.add(outcomes)
			all.add(outcomes)
			t.Logf("%+v, forced %.2f, ECE %.2f", c, evaluate.Measure(outcomes).AccuracyForced, evaluate.ECE(outcomes))
			if name == "helpdesk-names" { // names alone: silence or right
				require.GreaterOrEqual(t, c.right, 15)
				require.LessOrEqual(t, c.wrong+c.silenced+c.misled, 2)
			}
		})
	}
	t.Logf("all: %+v", all)
	require.GreaterOrEqual(t, all.right, 94, "of %d that fit an intent", all.fit)
	require.LessOrEqual(t, all.wrong, 15)
	require.LessOrEqual(t, all.silenced, 1)
	require.LessOrEqual(t, all.misled, 12, "of %d that fit none", all.strange)
}
