package local

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

// The fit finds how often answers are right, however many lines a source has.
func TestFitTrust(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var tried []Tried
	add := func(group, source string, n int, chance, rightly float64, vectors bool) {
		for range n {
			o := Tried{Right: random.Float64() < rightly, Group: group, Source: source}
			o.Chance, o.Vectors = chance, vectors
			o.seen = evidence{vectors: vectors, read: true}
			o.seen.signals[trustBias] = 1
			tried = append(tried, o)
		}
	}
	for _, chance := range []float64{0.3, 0.6, 0.9} {
		add("user", "a", 200, chance, chance/2, false)
		add("user", "b", 200, chance, chance/2, true)
	}
	fitted := FitTrust(tried)
	for _, o := range tried {
		require.InDelta(t, o.Chance/2, fitted.Of(o.Trusted), 0.12)
	}

	tried = nil
	add("user", "a", 400, 0.9, 0.5, false)
	add("user", "b", 4000, 0.9, 1, false)
	fitted = FitTrust(tried)
	require.InDelta(t, 0.75, fitted.Of(tried[0].Trusted), 0.05, "each source counts alike")

	tried = tried[:400]
	for i := range tried {
		tried[i].Other = true
	}
	fitted = FitTrust(tried)
	require.InDelta(t, 0.9, fitted.Of(tried[0].Trusted), 1e-6, "without an answer that names an intent the probability stays")
}

// Messages that fit nothing have their share, however many there are, and those that got
// the fallback count as well.
func TestFitTrustToWhatFitsNothing(t *testing.T) {
	t.Parallel()
	answers := func(n int, right, strange, other bool) (out []Tried) {
		o := Tried{Right: right, Strange: strange, Group: "user", Source: "a"}
		o.Chance, o.Other = 0.9, other
		o.seen = evidence{read: true}
		o.seen.signals[trustBias] = 1
		for range n {
			out = append(out, o)
		}
		return out
	}
	for name, row := range map[string]struct {
		strange, other int
		want           float64
	}{
		"none":                          {0, 0, 1},
		"few":                           {100, 0, 1 - strangeShare},
		"many":                          {4000, 0, 1 - strangeShare},
		"half of them get the fallback": {500, 500, 1 - strangeShare/2/(1-strangeShare/2)},
	} {
		t.Run(name, func(t *testing.T) {
			tried := slices.Concat(answers(1000, true, false, false), answers(row.strange, false, true, false), answers(row.other, true, true, true))
			fitted := FitTrust(tried)
			require.InDelta(t, row.want, fitted.Of(tried[0].Trusted), 0.01)
		})
	}
}

// The fallback says something only where a rule knows it.
func TestTheFallbackIsRarelySure(t *testing.T) {
	t.Parallel()
	m := bundled()
	for message, sure := range map[string]bool{
		"qzxv wkjq ppfh zzr":             true,
		"hhhhhhhhjk":                     true,
		"qwertzuiop asdf":                true,
		"фывапролд":                      true,
		"?!":                             true,
		"did the zorbing go gloomily":    false,
		"Frobnicate the gnarly wibbles":  false,
		"dzień dobry, kup proszę masło":  false,
		"wo ist denn der blaue Frotzler": false,
	} {
		p := m.Predict(message, nil, nil)
		if p.Other {
			require.Equal(t, sure, p.Confidence >= 0.6, "%s %.2f", message, p.Confidence)
		}
		require.False(t, sure && !p.Other, message)
		sum := 0.0
		for _, s := range p.Ranked {
			sum += s.Probability
		}
		require.InDelta(t, 1, sum, 1e-6, message)
	}
}

// A message of which few words are known gets no hint, in any language.
func TestFewKnownWordsAreNeverSure(t *testing.T) {
	t.Parallel()
	for _, cat := range []*intents.Catalog{intents.Bundled(), tiny()} {
		m := Trained(cat)
		for _, message := range []string{"ავტობუსი რომელ საათზე მიდის", "როგორ ხარ", "የአየር ሁኔታው እንዴት ነው", "kaskwoj plimbrat zqenterhuvs"} {
			p := m.Predict(message, nil, nil)
			require.Less(t, p.Confidence, 0.6, message)
		}
	}
}

func TestTrustFor(t *testing.T) {
	t.Parallel()
	require.NotNil(t, trustFor(intents.Bundled()))
	require.Nil(t, trustFor(tiny().Root()), "a catalogue of one's own")
	require.NotNil(t, trustFor(intents.NewCatalog(intents.Bundled().Enabled()[2:])), "without two intents")
	require.Nil(t, trustFor(intents.NewCatalog(intents.Bundled().Enabled()[20:])))
}

func TestSmashed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"qwertzuiop asdf": true, "asdf": true, "hhhhhjk": true, "zzzzkk bnmm": true, "…": true, "": true, "йцукен": true,
		"hello": false, "asdf what": false, "lol": false, "npm": false, "12345678": false, "Angstschweiß": false, "👍": false,
		"你好": false, "rhythm and blues": false, "שלום": false, "ok": false,
	} {
		var r reading
		r.reset(message)
		require.Equal(t, want, r.smashed(), message)
	}
}
