package encoder

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// shared is the encoder of all tests: unpacking it takes time under the race
// detector.
var shared = sync.OnceValues(New)

func bundledEncoder(t testing.TB) *Encoder {
	t.Helper()
	e, err := shared()
	require.NoError(t, err)
	return e
}

// kernelEncoder is an encoder by the name of its kernels.
type kernelEncoder struct {
	name string
	*Encoder
}

// plainEncoder computes as processors without vector kernels do.
var plainEncoder = sync.OnceValues(func() (*Encoder, error) { return parse(bundled, &plainKernels) })

// everyEncoder returns the encoder with plain kernels, and with those of this
// processor if it has some.
func everyEncoder(t testing.TB) []kernelEncoder {
	t.Helper()
	plain, err := plainEncoder()
	require.NoError(t, err)
	out := []kernelEncoder{{"plain", plain}}
	if vectorKernels() != nil {
		out = append(out, kernelEncoder{"vector", bundledEncoder(t)})
	}
	return out
}

type golden struct {
	Text   string    `json:"text"`
	Tokens []int32   `json:"tokens"`
	Vector []float32 `json:"vector"`
}

func goldens(t testing.TB) []golden {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "golden.jsonl"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	var out []golden
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g golden
		require.NoError(t, json.Unmarshal(lines.Bytes(), &g))
		out = append(out, g)
	}
	require.NoError(t, lines.Err())
	require.Len(t, out, 20)
	return out
}

func name(text string) string { return text[:min(len(text), 40)] }

func TestTokensAreThoseOfTheReference(t *testing.T) {
	e := bundledEncoder(t)
	for _, g := range goldens(t) {
		t.Run(name(g.Text), func(t *testing.T) {
			all, _ := e.vocabulary.segment(pieces(g.Text))
			require.Equal(t, g.Tokens, all)
			require.Equal(t, g.Tokens[:min(len(g.Tokens), maxTokens)], e.Tokens(g.Text))
		})
	}
}

func TestVectorsAreNearThoseOfTheReference(t *testing.T) {
	const least = 0.9995
	for _, e := range everyEncoder(t) {
		lowest := 1.0
		for _, g := range goldens(t) {
			t.Run(e.name+"/"+name(g.Text), func(t *testing.T) {
				v, err := e.Encode(t.Context(), g.Text)
				require.NoError(t, err)
				require.Len(t, v, Dimensions)
				require.InDelta(t, 1, cosine(v, v), 1e-5)
				c := cosine(v, g.Vector)
				lowest = min(lowest, c)
				require.GreaterOrEqual(t, c, least)
			})
		}
		t.Logf("%s: lowest cosine %.6f", e.name, lowest)
	}
}

// The weights before they are rounded are not kept: go generate puts them into
// .cache.
func TestVectorsOfTheExactWeightsAreThoseOfTheReference(t *testing.T) {
	const most = 2e-6
	data, err := os.ReadFile(filepath.Join("..", "..", ".cache", "use-lite.f32"))
	if err != nil {
		t.Skip("go generate ./classify/encoder makes the exact weights")
	}
	e, err := parse(string(data), &plainKernels)
	require.NoError(t, err)
	furthest := 0.0
	for _, g := range goldens(t) {
		v, err := e.Encode(t.Context(), g.Text)
		require.NoError(t, err)
		for i := range v {
			furthest = max(furthest, math.Abs(float64(v[i]-g.Vector[i])))
		}
	}
	t.Logf("furthest number %.2g", furthest)
	require.LessOrEqual(t, furthest, most)
}

func TestATextWithoutACharacterHasNoVector(t *testing.T) {
	e := bundledEncoder(t)
	for _, text := range []string{"", " ", "\n\t", "　"} {
		v, err := e.Encode(t.Context(), text)
		require.NoError(t, err)
		require.Nil(t, v, "%q", text)
	}
}

func TestEncodeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := bundledEncoder(t).Encode(ctx, "will it rain tomorrow")
	require.ErrorIs(t, err, ctx.Err())
}

func TestLongAndShortTextsDoNotDisturbEachOther(t *testing.T) {
	e := bundledEncoder(t)
	alone, err := e.Encode(t.Context(), "will it rain tomorrow")
	require.NoError(t, err)
	_, err = e.Encode(t.Context(), strings.Repeat("book me a flight ", 10))
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			again, err := e.Encode(t.Context(), "will it rain tomorrow")
			if err != nil || cosine(alone, again) < 0.999999 {
				t.Error("another vector than alone", err)
			}
		})
	}
	group.Wait()
}

func TestFitsWhatIsEnglish(t *testing.T) {
	e := bundledEncoder(t)
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a question", "what is the weather like in paris tomorrow?", true},
		{"a word", "hello", true},
		{"an emoji beside", "thanks a lot for your help 👍 see you tomorrow", true},
		{"technical", "git rebase keeps failing with a merge conflict in main.go", true},
		{"Chinese", "明天早上九點提醒我澆花", false},
		{"Chinese with a name", "明天會下雨嗎 in Taipei", false},
		{"Japanese", "明日の天気はどうですか", false},
		{"Korean", "내일 날씨 어때", false},
		{"Russian", "какая завтра погода", false},
		{"keys at random", "xqzj wvkq pfgh zzxq", false},
		{"digits", "12345", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, e.Fits(tt.text)) })
	}
}

func TestWrongWeightsAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, data string }{
		{"nothing", ""},
		{"another file", "GIF89a and more"},
		{"no vocabulary", magicInt8},
		{"cut in the vocabulary", bundled[:100]},
		{"cut in a matrix", bundled[:len(bundled)/2]},
		{"cut at the end", bundled[:len(bundled)-1]},
		{"more than there should be", bundled + "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.data, &plainKernels)
			require.ErrorIs(t, err, errWeights)
		})
	}
}

func FuzzTokens(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.Text)
	}
	f.Add("\xff\xfe")
	f.Add("▁▁ a▁")
	f.Add(":) ://")
	e := bundledEncoder(f)
	f.Fuzz(func(t *testing.T, text string) {
		whole := pieces(text)
		ids, score := e.vocabulary.segment(whole)
		if (whole == "") != (len(ids) == 0) {
			t.Fatalf("%d tokens of %q", len(ids), whole)
		}
		if len(ids) > utf8.RuneCountInString(whole) || score > 0 || score < unknownScore-1 {
			t.Fatalf("%d tokens, score %f", len(ids), score)
		}
		for i, id := range ids {
			if id != unknown && (id < firstPiece || int(id) >= e.vocabulary.size) || id == unknown && i > 0 && ids[i-1] == unknown {
				t.Fatalf("token %d is %d", i, id)
			}
		}
		if len(e.Tokens(text)) > maxTokens {
			t.Fatal("too many tokens")
		}
		e.Fits(text)
	})
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode is the time of a text by its length, with the kernels of this
// processor and with the plain ones.
func BenchmarkEncode(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"2tokens", "hello"},
		{"4tokens", "will it rain tomorrow"},
		{"13tokens", "what is the weather like in paris this coming sunday?"},
		{"36tokens", strings.Repeat("book me a table for two ", 6)},
		{"128tokens", strings.Repeat("this sentence is longer than the model reads ", 40)},
	} {
		for _, e := range everyEncoder(b) {
			b.Run(bench.name+"/"+e.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := e.Encode(b.Context(), bench.text); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(e.Tokens(bench.text))), "tokens")
			})
		}
	}
}

func BenchmarkFits(b *testing.B) {
	e := bundledEncoder(b)
	b.ReportAllocs()
	for b.Loop() {
		e.Fits("what is the weather like in paris this coming sunday?")
	}
}

func cosine(a, b []float32) float64 {
	sum, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return sum / math.Sqrt(aa*bb)
}
