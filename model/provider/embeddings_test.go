package provider

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

func embedder(t testing.TB, s *providertest.Server) *Embedder {
	t.Helper()
	r, err := New(map[string]Config{"p": {BaseURL: s.OpenAIURL(), APIKeyEnv: "K"}}, Options{
		Getenv:    func(string) string { return secret },
		Transport: transport(t),
	})
	require.NoError(t, err)
	e, err := r.Embedder("p/vendor/small")
	require.NoError(t, err)
	require.Equal(t, "p/vendor/small", e.Ref)
	require.Equal(t, s.OpenAIURL(), e.BaseURL)
	return e
}

func TestEmbed(t *testing.T) {
	s := providertest.New(t)
	vectors, usage, err := embedder(t, s).Embed(t.Context(), []string{"call Anna", "ring Anna", "weather"})
	require.NoError(t, err)
	require.Len(t, vectors, 3)
	for _, v := range vectors {
		require.Len(t, v, providertest.NGramDimensions)
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		require.InDelta(t, 1, sum, 1e-5)
	}
	require.Greater(t, product(vectors[0], vectors[1]), product(vectors[0], vectors[2]))
	require.Equal(t, Usage{InputTokens: 9}, usage)

	asked := s.Requests()
	require.Len(t, asked, 1)
	require.Equal(t, "/v1/embeddings", asked[0].Path)
	require.Equal(t, "vendor/small", asked[0].Model)
	require.Equal(t, []string{"call Anna", "ring Anna", "weather"}, asked[0].Texts)
	require.Equal(t, "Bearer "+secret, asked[0].Header.Get("Authorization"))
}

func product(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestEmbedPutsVectorsInOrder(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Body: embeddingBody(`{"index":1,"embedding":[0,2]}`, `{"index":0,"embedding":[3,0]}`)})
	vectors, _, err := embedder(t, s).Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 0}, {0, 1}}, vectors)
}

func TestEmbedReadsOnlyWhatItNeeds(t *testing.T) {
	const a, b = `"embedding":[3,0]`, `"embedding":[0,2]`
	for _, tt := range []struct {
		name, body string
		tokens     int
	}{
		{"without indexes", `{"data":[{` + a + `},{` + b + `}]}`, 0},
		{"indexes that are null", `{"data":[{"index":null,` + a + `},{"index":null,` + b + `}]}`, 0},
		{"indexes with a fraction", `{"data":[{"index":1.0,` + b + `},{"index":0.0,` + a + `}]}`, 0},
		{"a count with a fraction", `{"data":[{` + a + `},{` + b + `}],"usage":{"prompt_tokens":4.0}}`, 4},
		{"other fields of any type", `{"object":5,"model":[],"data":[{"object":7,` + a + `},{` + b + `}],"usage":"none"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := providertest.New(t)
			s.Always(providertest.Answer{Body: tt.body})
			vectors, usage, err := embedder(t, s).Embed(t.Context(), []string{"a", "b"})
			require.NoError(t, err)
			require.Equal(t, [][]float32{{1, 0}, {0, 1}}, vectors)
			require.Equal(t, Usage{InputTokens: tt.tokens}, usage)
		})
	}
}

func TestEmbedReadsLargeResponses(t *testing.T) {
	s := providertest.New(t)
	s.Vectors(func(string) []float32 {
		v := make([]float32, 4096)
		for i := range v {
			v[i] = 1 / float32(i+3)
		}
		return v
	})
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	vectors, _, err := embedder(t, s).Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, vectors, 64)
}

func embeddingBody(data ...string) string {
	return `{"object":"list","data":[` + strings.Join(data, ",") + `],"usage":{"prompt_tokens":4,"total_tokens":4}}`
}

func TestATextInWhichTheModelFindsNothing(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Body: embeddingBody(`{"index":0,"embedding":[0,0]}`, `{"index":1,"embedding":[0,2]}`)})
	vectors, _, err := embedder(t, s).Embed(t.Context(), []string{"🍵", "tea"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{0, 0}, {0, 1}}, vectors)
	require.True(t, IsBlank(vectors[0]))
	require.False(t, IsBlank(vectors[1]))
}

func TestEmbedFailures(t *testing.T) {
	const one, two = `{"index":0,"embedding":[1,0]}`, `{"index":1,"embedding":[0,1]}`
	for _, tt := range []struct {
		name   string
		answer providertest.Answer
		want   error
		says   string
	}{
		{"too few", providertest.Answer{Body: embeddingBody(one)}, ErrMalformed, "1 vectors for 2 texts"},
		{"none", providertest.Answer{Body: `{}`}, ErrMalformed, "0 vectors for 2 texts"},
		{"too many", providertest.Answer{Body: embeddingBody(one, two, one)}, ErrMalformed, "3 vectors for 2 texts"},
		{"one twice", providertest.Answer{Body: embeddingBody(one, one)}, ErrMalformed, "index 0"},
		{"an index out of bounds", providertest.Answer{Body: embeddingBody(one, `{"index":2,"embedding":[0,1]}`)}, ErrMalformed, "index 2"},
		{"an index below zero", providertest.Answer{Body: embeddingBody(one, `{"index":-1,"embedding":[0,1]}`)}, ErrMalformed, "index -1"},
		{"an index on one only", providertest.Answer{Body: embeddingBody(one, `{"embedding":[0,1]}`)}, ErrMalformed, "index null"},
		{"an index between two", providertest.Answer{Body: embeddingBody(one, `{"index":0.5,"embedding":[0,1]}`)}, ErrMalformed, "index 0.5"},
		{"an index that is a text", providertest.Answer{Body: embeddingBody(one, `{"index":"1","embedding":[0,1]}`)}, ErrMalformed, `index "1"`},
		{"no vector", providertest.Answer{Body: embeddingBody(one, `{"index":1}`)}, ErrMalformed, "vector 1"},
		{"data of the wrong type", providertest.Answer{Body: `{"data":{"index":0,"embedding":[1,0]}}`}, ErrMalformed, "0 vectors for 2 texts"},
		{"dimensions that differ", providertest.Answer{Body: embeddingBody(one, `{"index":1,"embedding":[0,1,0]}`)}, ErrMalformed, "vectors of 2 and 3 numbers"},
		{"NaN", providertest.Answer{Body: embeddingBody(one, `{"index":1,"embedding":[NaN,1]}`)}, ErrMalformed, "not a JSON object"},
		{"too large a number", providertest.Answer{Body: embeddingBody(one, `{"index":1,"embedding":[1e99,1]}`)}, ErrMalformed, "1e99"},
		{"too small to have a direction", providertest.Answer{Body: embeddingBody(one, `{"index":1,"embedding":[0,1e-30]}`)}, ErrMalformed, "cannot be normalized"},
		{"no numbers", providertest.Answer{Body: embeddingBody(`{"index":0,"embedding":[]}`, `{"index":1,"embedding":[]}`)}, ErrMalformed, "cannot be normalized"},
		{"texts for numbers", providertest.Answer{Body: embeddingBody(one, `{"index":1,"embedding":["a","b"]}`)}, ErrMalformed, ""},
		{"garbage", providertest.Answer{Body: "<html>", ContentType: "text/html"}, ErrMalformed, "text/html"},
		{"an error of status 200", providertest.Answer{Body: `{"error":{"message":"no such model"}}`}, nil, "no such model"},
		{"status 500", providertest.Answer{Status: http.StatusInternalServerError, Message: "out of order"}, nil, "500 Internal Server Error: out of order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := providertest.New(t)
			s.Always(tt.answer)
			vectors, _, err := embedder(t, s).Embed(t.Context(), []string{"a", "b"})
			require.Error(t, err)
			require.Nil(t, vectors)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
			require.ErrorContains(t, err, tt.says)
			require.NotContains(t, err.Error(), secret)
			require.Equal(t, 1, s.Count(), "it is asked once")
		})
	}
}

func TestEmbedRetryAfter(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Status: http.StatusTooManyRequests, Message: "slow down", Header: http.Header{"Retry-After": {"7"}}})
	_, _, err := embedder(t, s).Embed(t.Context(), []string{"a"})
	status, ok := errors.AsType[*StatusError](err)
	require.True(t, ok, err)
	require.Equal(t, 7*time.Second, status.RetryAfter)
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	s := providertest.New(t)
	s.Always(providertest.Answer{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, _, err := embedder(t, s).Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestEmbedderCannotBeResolved(t *testing.T) {
	configured := map[string]Config{
		"claude": {BaseURL: "http://127.0.0.1:1", API: APIAnthropic},
		"keyed":  {BaseURL: "http://127.0.0.1:1", APIKeyEnv: "K"},
		"own":    {BaseURL: "http://127.0.0.1:1"},
	}
	r, err := New(configured, Options{Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	for _, tt := range []struct{ name, ref, says string }{
		{"unknown provider", "nobody/x", `provider "nobody" is not configured`},
		{"no model", "own", "not of the form provider/model"},
		{"an API without embeddings", "claude/x", `speaks anthropic-messages, which has no embeddings`},
		{"a built-in provider without embeddings", "anthropic/x", `has no embeddings`},
		{"no key", "keyed/x", `needs a key in the environment variable K`},
		{"a built-in provider without a key", "openai/x", `OPENAI_API_KEY`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := r.Embedder(tt.ref)
			require.ErrorIs(t, err, ErrUnresolved)
			require.ErrorContains(t, err, tt.says)
		})
	}
	for _, ref := range []string{"own/x", "ollama/nomic-embed-text"} {
		_, err := r.Embedder(ref)
		require.NoError(t, err)
	}
}

func TestNormalize(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		v    []float32
		want []float32
	}{
		{"a vector", []float32{3, 4}, []float32{0.6, 0.8}},
		{"large numbers", []float32{3e30, 4e30}, []float32{0.6, 0.8}},
		{"zero", []float32{0, 0}, nil},
		{"empty", nil, nil},
		{"not a number", []float32{float32(math.NaN()), 1}, nil},
		{"infinite", []float32{inf, 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want != nil, normalize(tt.v))
			if tt.want != nil {
				require.InDeltaSlice(t, tt.want, tt.v, 1e-6)
			}
		})
	}
}
