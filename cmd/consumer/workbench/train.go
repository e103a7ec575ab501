package workbench

import (
	"fmt"
	"time"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
)

// trained is the configured classifier, and its parts that commands show.
type trained struct {
	*classify.Classifier
	local     *local.Model
	embedding *app.Tier // nil if no model is configured or available
	// embedMs is how long embedding took, in milliseconds.
	embedMs float64
}

// train makes the configured classifier. If the embedding model fails, train
// prints that, and the local classifier answers alone.
func train(inv *cli.Invocation, catalog *intents.Catalog) (trained, error) {
	t := trained{local: local.Trained(catalog)}
	o := app.Observer{Metrics: app.NewMetrics(inv.Version, ""), Log: inv.Quiet()}
	bar := cli.NewProgress(inv.Stderr)
	began := time.Now()
	var err error
	t.embedding, err = app.MakeTier(inv.Ctx, inv.Config, catalog, t.local, o, bar.Show)
	bar.Clear()
	if t.embedding != nil {
		t.embedMs = ms(time.Since(began))
	}
	if err != nil {
		_, _ = fmt.Fprintf(inv.Stderr, "embedding model unavailable, the local classifier answers alone: %v\n", err)
	}
	t.Classifier, err = app.NewClassifier(inv.Config, t.local, t.embedding, o, nil)
	return t, err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
