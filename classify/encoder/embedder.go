package encoder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"intenthint/model/provider"
)

const (
	// Ref names the encoder as an embedding model.
	Ref = "builtin/use-lite"
	// Version distinguishes vectors of these weights from others.
	Version = "use-lite/1"
	// MaxTexts bounds the texts of a catalogue that are embedded, which takes half
	// a minute of one processor for so many, and the memory: 4 kB each.
	MaxTexts = 15000
	// Accept is the confidence from which the words of a message answer alone.
	Accept = 0.8
)

// How many vectors are cached, of 2 kB each: one megabyte for requests, 32 for
// a command that reads recorded turns, which repeat texts.
const (
	RecentTexts   = 512
	RecordedTexts = 16384
)

// errSlow reports a text that is too long for the time left.
var errSlow = errors.New("text too long for the time left")

// Embedder is the encoder as an embedding model. It reads texts in lower case. It
// is safe for concurrent use.
type Embedder struct {
	encoder *Encoder
	places  chan struct{} // one for each text in progress
	// pace is roughly how long a token took recently, in nanoseconds; 0 before the
	// first text.
	pace   atomic.Int64
	recent *lru.Cache[string, []float32]
}

// NewEmbedder returns an embedder that uses up to the given number of
// processors, and caches the vectors of the given number of texts, the most
// recently used ones.
func NewEmbedder(processors, texts int) (*Embedder, error) {
	e, err := New()
	if err != nil {
		return nil, err
	}
	recent, err := lru.New[string, []float32](texts)
	if err != nil {
		return nil, err
	}
	return &Embedder{encoder: e, places: make(chan struct{}, max(processors, 1)), recent: recent}, nil
}

// Fits reports whether the vector of a text is meaningful: the text must be
// English.
func (e *Embedder) Fits(text string) bool { return e.encoder.Fits(strings.ToLower(text)) }

// Vectors returns the vector of each text, by text, and caches it. Its errors
// are those of ctx; a text that would miss the deadline is not begun.
func (e *Embedder) Vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	out := make(map[string][]float32, len(texts))
	for _, text := range texts {
		v, ok := e.recent.Get(text)
		if !ok {
			var err error
			if v, err = e.one(ctx, text); err != nil {
				return nil, err
			}
			e.recent.Add(text, v)
		}
		out[text] = v
	}
	return out, nil
}

// Embed returns the vector of each text. It embeds several texts concurrently.
// Its errors are those of Vectors.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error) {
	out := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(e.places))
	for i, text := range texts {
		group.Go(func() (err error) {
			out[i], err = e.one(ctx, text)
			return err
		})
	}
	return out, provider.Usage{}, group.Wait()
}

func (e *Embedder) one(ctx context.Context, text string) ([]float32, error) {
	select {
	case e.places <- struct{}{}:
		defer func() { <-e.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ids := e.encoder.Tokens(strings.ToLower(text))
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: no words", provider.ErrMalformed)
	}
	pace := e.pace.Load()
	if deadline, ok := ctx.Deadline(); ok && time.Duration(pace*int64(len(ids))) > time.Until(deadline) {
		// A pace that was slow for a moment must recover.
		e.pace.CompareAndSwap(pace, pace-pace/16)
		return nil, fmt.Errorf("%w: %w", context.DeadlineExceeded, errSlow)
	}
	began := time.Now()
	v, err := e.encoder.encode(ctx, ids)
	if err != nil {
		return nil, err
	}
	now := int64(time.Since(began)) / int64(len(ids))
	if pace > 0 {
		now = (3*pace + now) / 4
	}
	e.pace.Store(now)
	return v, nil
}
