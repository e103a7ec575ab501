package knowhub_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
	"intenthint/model/provider"
	"intenthint/part"
)

// rhymes is an encoder for which texts are about the same if they end in the same letter.
// It takes some time for each, and knows no text with "ß".
type rhymes struct {
	takes time.Duration
	mu    sync.Mutex
	asked []string // questions
	made  []string // experiences
}

func (r *rhymes) Fits(text string) bool { return !strings.Contains(text, "ß") }

func (r *rhymes) Vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, texts...)
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return map[string][]float32{texts[0]: rhyme(texts[0])}, nil
}

func (r *rhymes) Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, texts...)
	return [][]float32{rhyme(texts[0])}, provider.Usage{}, ctx.Err()
}

func (r *rhymes) questions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func rhyme(text string) []float32 {
	v := make([]float32, index.Dimensions)
	v[text[len(text)-1]] = 1
	return v
}

// understanding runs a copy of experiences with an encoder, and returns it with the
// vectors made.
func understanding(t *testing.T, encoder func() (part.Encoder, error), es ...experience.Experience) *knowhub.Copy {
	t.Helper()
	b := make(told)
	c := knowhub.NewCopy(knowhub.CopyOptions{
		Bucket: b, Encoder: encoder, Metrics: knowhub.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	b <- func(f bucket.Follower, o bucket.Following) error {
		f.Reset("b")
		for i, e := range es {
			f.Apply([]experience.Change{{ID: e.ID, Revision: uint64(i + 1), Experience: e}}) //nolint:gosec // small
		}
		o.CaughtUp()
		return nil
	}
	synctest.Wait()
	return c
}

var rhyming = []experience.Experience{
	{ID: "en", Task: "Renew a passport", Result: "took four dayz", Status: experience.Approved},
	{ID: "de", Task: "Große Straße", Result: "gesperrt, ß", Status: experience.Approved},
}

func foundBy(t *testing.T, c *knowhub.Copy, ctx context.Context, q string) (ids []string) { //nolint:revive // the context is what differs
	t.Helper()
	hits, err := c.Search(ctx, index.Query{Text: q})
	require.NoError(t, err)
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// Experiences are found by meaning once their vectors are made, and questions are encoded
// only if there is time.
func TestSearchByMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &rhymes{takes: 10 * time.Millisecond}
		c := understanding(t, func() (part.Encoder, error) { return e, nil }, rhyming...)
		require.Equal(t, []string{"Renew a passport. took four dayz"}, e.made, "no vector for text that is not English")
		require.Equal(t, []string{"en"}, foundBy(t, c, t.Context(), "travel document expirez"))
		require.Equal(t, 1, e.questions())
		require.Empty(t, foundBy(t, c, t.Context(), "Maßband, Fußballz"), "not English")
		require.Equal(t, 1, e.questions())

		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Empty(t, foundBy(t, c, short, "travel document expirez"))
		require.Equal(t, 1, e.questions(), "not begun: the time is short")

		c.Put(bucket.Stored{Experience: experience.Experience{ID: "new", Task: "Sharpen a knife", Result: "with a stonez", Status: experience.Approved}, Revision: 9})
		synctest.Wait()
		require.ElementsMatch(t, []string{"en", "new"}, foundBy(t, c, t.Context(), "travel document expirez"), "one that this process took")

		e.takes = time.Hour
		began := time.Now()
		require.Empty(t, foundBy(t, c, t.Context(), "travel document gonez"), "words alone")
		require.Equal(t, 30*time.Millisecond, time.Since(began), "it is not waited for")
	})
}

// An encoder that fails leaves the search by words.
func TestSearchWithoutEncoder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := understanding(t, func() (part.Encoder, error) { return nil, errors.New("damaged") }, rhyming...)
		require.Equal(t, []string{"en"}, foundBy(t, c, t.Context(), "renew my passport"))
		require.Empty(t, foundBy(t, c, t.Context(), "travel document expirez"))
	})
}

// Who has little time is answered before it has passed, though the copy is not complete.
func TestReadsAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runCopy(t, make(told), "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Search(ctx, index.Query{Text: "shop"})
		require.Error(t, err)
		require.Equal(t, 900*time.Millisecond, time.Since(began))
	})
}
