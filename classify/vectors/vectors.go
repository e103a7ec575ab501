package vectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"intenthint/model"
	"intenthint/model/provider"
)

const (
	// Bounds of one request, in texts and in bytes of text.
	batchTexts = 64
	batchBytes = 32 << 10
	// batchTime is how long one request may take.
	batchTime = time.Minute
	// logEvery is how often the progress of a long fetch is logged.
	logEvery = 5 * time.Second
)

// Source gets vectors.
type Source struct {
	Embedder model.EmbeddingClient
	// Ref is the model, provider/model, and BaseURL its endpoint. Vectors of
	// different models or endpoints are never mixed.
	Ref, BaseURL string
	// Dir holds the cache files; it is created if it does not exist.
	Dir string
	// Observer is called for every request; it may be nil.
	Observer model.Observer
	Log      *slog.Logger
	// Progress is called with the number of missing texts done; it may be nil.
	Progress func(done, of int)
}

// Of returns the vectors of texts, by text; nil for a text without any words
// for the model. It fetches those that are not cached, in batches, and returns
// the first failure; vectors fetched before it are kept. A broken cache is
// logged and fetched anew.
func (s *Source) Of(ctx context.Context, texts []string) (map[string][]float32, error) {
	began := time.Now()
	c := s.read()
	out, missing := c.find(texts)
	if len(missing) > 0 {
		s.Log.Info("fetching vectors", "model", s.Ref, "texts", len(missing), "cached", len(texts)-len(missing))
	}
	fetched, of := 0, len(missing)
	logged := began
	for len(missing) > 0 {
		n := batch(missing)
		got, err := s.ask(ctx, missing[:n])
		if err == nil && c.dimensions != 0 && len(got[0]) != c.dimensions {
			if fetched > 0 {
				err = fmt.Errorf("%w: vectors of %d and %d numbers", provider.ErrMalformed, c.dimensions, len(got[0]))
			} else {
				// All are fetched again.
				s.Log.Warn("embeddings have another dimension", "model", s.Ref, "before", c.dimensions, "now", len(got[0]))
				c = newCache()
				out, missing = c.find(texts)
				of = len(missing)
				continue
			}
		}
		if err != nil {
			s.save(c, texts, fetched > 0)
			return nil, fmt.Errorf("%s: %d of %d texts have no vector yet: %w", s.Ref, len(missing), len(texts), err)
		}
		for i, text := range missing[:n] {
			c.add(text, got[i])
			out[text] = got[i]
		}
		missing, fetched = missing[n:], fetched+n
		if s.Progress != nil {
			s.Progress(fetched, of)
		}
		if len(missing) > 0 && time.Since(logged) >= logEvery {
			logged = time.Now()
			s.Log.Info("vector fetch progress", "model", s.Ref, "done", fetched, "of", of)
		}
	}
	s.save(c, texts, fetched > 0)
	for text, vector := range out {
		if provider.IsBlank(vector) {
			out[text] = nil
		}
	}
	s.Log.Debug("vectors ready", "model", s.Ref, "texts", len(texts), "fetched", fetched, "took_ms", time.Since(began).Milliseconds())
	return out, nil
}

// batch is how many texts go into the next request.
func batch(texts []string) int {
	size := 0
	for i, text := range texts {
		if size += len(text); i == batchTexts || i > 0 && size > batchBytes {
			return i
		}
	}
	return len(texts)
}

// ask makes one request.
func (s *Source) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	return model.Observe(ctx, s.Observer, s.Ref, func() ([][]float32, provider.Usage, error) {
		vectors, usage, err := s.Embedder.Embed(ctx, texts)
		if err == nil && len(vectors) != len(texts) {
			err = fmt.Errorf("%w: %d vectors for %d texts", provider.ErrMalformed, len(vectors), len(texts))
		}
		return vectors, usage, err
	})
}

// read returns the cache, or an empty one if none is usable.
func (s *Source) read() *cache {
	c, err := readCache(s.Dir, s.Ref, s.BaseURL)
	switch {
	case err == nil:
		return c
	case !errors.Is(err, fs.ErrNotExist):
		s.Log.Warn("vector cache unusable", "error", err)
	}
	return newCache()
}

// save writes the cache if needed.
func (s *Source) save(c *cache, texts []string, changed bool) {
	now := time.Now()
	if outdated := c.use(texts, now); !changed && !outdated {
		return
	}
	c.forget(now)
	if err := writeCache(s.Dir, s.Ref, s.BaseURL, c); err != nil {
		s.Log.Warn("vector cache not written", "error", err)
	}
}
