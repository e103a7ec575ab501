package vectors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/model/provider"
)

// embedder gives each text a direction by its length, of so many dimensions.
type embedder struct {
	dimensions int
	delay      time.Duration
	// fail is the error of each request, from the first on; nil for none.
	fail []error
	// odd changes an answer.
	odd func([][]float32) [][]float32

	mu    sync.Mutex
	asked [][]string
}

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, slices.Clone(texts))
	if e.delay > 0 {
		select {
		case <-time.After(e.delay):
		case <-ctx.Done():
			return nil, provider.Usage{}, ctx.Err()
		}
	}
	if len(e.fail) > 0 {
		err := e.fail[0]
		e.fail = e.fail[1:]
		if err != nil {
			return nil, provider.Usage{}, err
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, e.dimensions)
		angle := float64(len(text))
		v[0], v[1] = float32(math.Cos(angle)), float32(math.Sin(angle))
		out[i] = v
	}
	if e.odd != nil {
		out = e.odd(out)
	}
	return out, provider.Usage{InputTokens: len(texts)}, nil
}

func (e *embedder) texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.asked...)
}

type calls []model.Call

func (c *calls) ModelCalled(call model.Call) { *c = append(*c, call) }

// source returns a source of a model and what it logs.
func source(dir string, e model.EmbeddingClient) (*Source, *bytes.Buffer) {
	var log bytes.Buffer
	return &Source{
		Embedder: e, Ref: "p/e", BaseURL: "http://127.0.0.1:1/v1", Dir: dir,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, &log
}

func numbered(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint("text ", strings.Repeat("x", i)))
	}
	return out
}

// of gets vectors and makes sure that they are those of the model.
func of(t *testing.T, dir string, e *embedder, texts []string) (log string) {
	t.Helper()
	s, out := source(dir, e)
	got, err := s.Of(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, got, len(texts))
	for _, text := range texts {
		require.Len(t, got[text], e.dimensions, text)
		require.InDelta(t, math.Cos(float64(len(text))), got[text][0], 1e-6, text)
	}
	return out.String()
}

func TestEachTextIsFetchedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "cache")
	e := &embedder{dimensions: 4}
	log := of(t, dir, e, numbered(0, 150))
	require.Contains(t, log, "texts=150 cached=0")
	require.Equal(t, numbered(0, 150), e.texts())
	require.Len(t, e.asked, 3)
	for _, texts := range e.asked {
		require.LessOrEqual(t, len(texts), batchTexts)
	}

	t.Run("a restart fetches nothing", func(t *testing.T) {
		again := &embedder{dimensions: 4}
		of(t, dir, again, numbered(0, 150))
		require.Empty(t, again.asked)
	})
	t.Run("an edit fetches the new text", func(t *testing.T) {
		again := &embedder{dimensions: 4}
		of(t, dir, again, append(numbered(0, 149), "a new text"))
		require.Equal(t, []string{"a new text"}, again.texts())
	})
	t.Run("a removed text comes back from the cache", func(t *testing.T) {
		again := &embedder{dimensions: 4}
		of(t, dir, again, numbered(0, 150))
		require.Empty(t, again.asked)
	})
	t.Run("another model fetches all", func(t *testing.T) {
		for _, s := range []Source{{Ref: "p/other", BaseURL: "http://127.0.0.1:1/v1"}, {Ref: "p/e", BaseURL: "http://127.0.0.1:2/v1"}} {
			again := &embedder{dimensions: 4}
			s.Embedder, s.Dir, s.Log = again, dir, slog.New(slog.DiscardHandler)
			_, err := s.Of(t.Context(), numbered(0, 3))
			require.NoError(t, err)
			require.Len(t, again.texts(), 3)
		}
		files, err := filepath.Glob(filepath.Join(dir, "vectors-*"))
		require.NoError(t, err)
		require.Len(t, files, 2, "only the models used last")
	})
}

func TestATextInWhichTheModelFindsNothingHasNoVector(t *testing.T) {
	dir := t.TempDir()
	e := &embedder{dimensions: 2, odd: func(v [][]float32) [][]float32 {
		clear(v[0])
		return v
	}}
	for _, when := range []string{"fetched", "from the cache"} {
		s, _ := source(dir, e)
		got, err := s.Of(t.Context(), []string{"🍵", "tea"})
		require.NoError(t, err, when)
		require.Contains(t, got, "🍵", when)
		require.Nil(t, got["🍵"], when)
		require.Len(t, got["tea"], 2, when)
	}
	require.Len(t, e.asked, 1)
}

func TestLongTextsGoInSmallBatches(t *testing.T) {
	e := &embedder{dimensions: 2}
	long := strings.Repeat("y", batchBytes)
	of(t, t.TempDir(), e, []string{"a", "b", long, "c", long + "y"})
	require.Equal(t, [][]string{{"a", "b"}, {long}, {"c"}, {long + "y"}}, e.asked)
}

func TestDamagedFilesAreFetchedAgain(t *testing.T) {
	whole := func(t *testing.T, dir string) (path string, data []byte) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "vectors-*.bin"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		data, err = os.ReadFile(files[0])
		require.NoError(t, err)
		return files[0], data
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string, data []byte)
	}{
		{"cut short", func(t *testing.T, path string, data []byte) {
			require.NoError(t, os.WriteFile(path, data[:len(data)-9], 0o600))
		}},
		{"empty", func(t *testing.T, path string, _ []byte) { require.NoError(t, os.Truncate(path, 0)) }},
		{"text", func(t *testing.T, path string, _ []byte) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("hello ", 99)), 0o600))
		}},
		{"flipped bit", func(t *testing.T, path string, data []byte) {
			data[len(data)/2] ^= 4
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}},
		{"too long", func(t *testing.T, path string, _ []byte) { require.NoError(t, os.Truncate(path, 1<<31)) }},
		{"a directory", func(t *testing.T, path string, _ []byte) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			of(t, dir, &embedder{dimensions: 3}, numbered(0, 5))
			path, data := whole(t, dir)
			tt.damage(t, path, data)
			again := &embedder{dimensions: 3}
			log := of(t, dir, again, numbered(0, 5))
			require.Contains(t, log, "level=WARN")
			require.Len(t, again.texts(), 5)
			if tt.name == "a directory" {
				return // a directory is not replaced
			}
			again = &embedder{dimensions: 3}
			of(t, dir, again, numbered(0, 5))
			require.Empty(t, again.texts())
		})
	}
}

func TestWithoutADirectoryAllIsFetchedEveryTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for range 2 {
		e := &embedder{dimensions: 3}
		log := of(t, filepath.Join(file, "cache"), e, numbered(0, 5))
		require.Contains(t, log, "level=WARN")
		require.Len(t, e.texts(), 5)
	}
}

func TestVectorsBeforeAFailureAreKept(t *testing.T) {
	busy := &provider.StatusError{Code: 429, RetryAfter: 7 * time.Second}
	for _, tt := range []struct {
		name    string
		model   *embedder
		says    string
		outcome model.Outcome
	}{
		{"a status", &embedder{dimensions: 3, fail: []error{nil, busy}}, "429", model.OutcomeFailed},
		{"too few vectors", &embedder{dimensions: 3, odd: func(v [][]float32) [][]float32 {
			if len(v) < batchTexts {
				return v[1:]
			}
			return v
		}}, "vectors for 36 texts", model.OutcomeFailed},
		{"another dimension", &embedder{dimensions: 3, odd: func(v [][]float32) [][]float32 {
			if len(v) < batchTexts {
				for i := range v {
					v[i] = v[i][:2]
				}
			}
			return v
		}}, "vectors of 3 and 2 numbers", model.OutcomeOK},
		{"late", &embedder{dimensions: 3, fail: []error{nil, context.DeadlineExceeded}}, "deadline", model.OutcomeLate},
		{"canceled", &embedder{dimensions: 3, fail: []error{nil, context.Canceled}}, "canceled", model.OutcomeCanceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s, _ := source(dir, tt.model)
			var seen calls
			s.Observer = &seen
			_, err := s.Of(t.Context(), numbered(0, 100))
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, "p/e: 36 of 100 texts have no vector yet")
			require.Len(t, seen, 2)
			require.Equal(t, model.OutcomeOK, seen[0].Outcome)
			require.Equal(t, tt.outcome, seen[1].Outcome)
			require.Equal(t, batchTexts, seen[0].Usage.InputTokens)

			again := &embedder{dimensions: 3}
			of(t, dir, again, numbered(0, 100))
			require.Equal(t, numbered(64, 100), again.texts())
		})
	}
	t.Run("the error wraps its cause", func(t *testing.T) {
		s, _ := source(t.TempDir(), &embedder{dimensions: 3, fail: []error{busy}})
		_, err := s.Of(t.Context(), numbered(0, 2))
		status, ok := errors.AsType[*provider.StatusError](err)
		require.True(t, ok)
		require.Equal(t, 7*time.Second, status.RetryAfter)
	})
}

func TestAnotherDimensionFetchesAll(t *testing.T) {
	dir := t.TempDir()
	of(t, dir, &embedder{dimensions: 3}, numbered(0, 5))
	e := &embedder{dimensions: 4}
	log := of(t, dir, e, numbered(0, 6))
	require.Contains(t, log, "another dimension")
	require.Equal(t, append(numbered(5, 6), numbered(0, 6)...), e.texts())
}

func TestUnusedTextsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		of(t, dir, &embedder{dimensions: 3}, []string{"old", "kept"})
		entries := func() int {
			s, _ := source(dir, nil)
			return len(s.read().entries)
		}
		time.Sleep(20 * 24 * time.Hour)
		of(t, dir, &embedder{dimensions: 3}, []string{"kept"})
		require.Equal(t, 2, entries(), "not expired yet")
		time.Sleep(20 * 24 * time.Hour)
		e := &embedder{dimensions: 3}
		of(t, dir, e, []string{"kept"})
		require.Equal(t, 1, entries())
		require.Empty(t, e.texts())
	})
}

func TestLongFetchIsLoggedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 46*time.Second)
		defer cancel()
		s, log := source(dir, &embedder{dimensions: 3, delay: 3 * time.Second})
		var done []int
		s.Progress = func(n, of int) {
			require.Equal(t, 2000, of)
			done = append(done, n)
		}
		var texts []string
		for i := range 2000 {
			texts = append(texts, strconv.Itoa(i))
		}
		_, err := s.Of(ctx, texts)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, done, 15)
		require.GreaterOrEqual(t, strings.Count(log.String(), "vector fetch progress"), 7)
		again, _ := source(dir, nil)
		require.Equal(t, 15*batchTexts, len(again.read().entries)) //nolint:testifylint // the entries would be printed
	})
}

func FuzzDecode(f *testing.F) {
	id := identity("p/e", "")
	c := newCache()
	f.Add(c.encode(id))
	c.add("a", []float32{1, 0})
	c.add("b", []float32{0, 1})
	good := c.encode(id)
	f.Add(good)
	f.Add(good[:len(good)-5])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data, id)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := decode(c.encode(id), id)
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func TestDecodeChecksMoreThanTheChecksum(t *testing.T) {
	id := identity("p/e", "")
	for _, tt := range []struct {
		name   string
		vector []float32
		id     [32]byte
		says   string
	}{
		{"NaN", []float32{float32(math.NaN()), 1}, id, "length 1"},
		{"infinite", []float32{float32(math.Inf(1)), 1}, id, "length 1"},
		{"another length", []float32{1, 1}, id, "length 1"},
		{"another model", []float32{1, 0}, identity("p/f", ""), "another model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCache()
			c.add("a", tt.vector)
			_, err := decode(c.encode(tt.id), id)
			require.ErrorIs(t, err, errDamaged)
			require.ErrorContains(t, err, tt.says)
		})
	}
}
