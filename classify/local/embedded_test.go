package local

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
)

// synonyms are words that no text of [tiny] has.
var synonyms = map[string]string{"quassel": "rain", "ploosh": "rain", "vorna": "music", "brelk": "play", "tolmi": "mail", "jusk": "read"}

// unit gives a vector the length 1.
func unit(v []float32) []float32 {
	sum := float32(0)
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= sqrt32(sum)
	}
	return v
}

// grams is an embedding model that knows synonyms.
func grams(known map[string]string) func(string) []float32 {
	f := providertest.NGrams(known)
	return func(text string) []float32 { return unit(f(text)) }
}

func vectorsOf(texts []string, f func(string) []float32) map[string][]float32 {
	out := make(map[string][]float32)
	for _, text := range texts {
		out[text] = f(text)
	}
	return out
}

// tiny is a small catalogue in two languages.
func tiny() *intents.Catalog {
	return intents.NewCatalog([]intents.Intent{
		{ID: "WEATHER", Name: "weather", Triggers: []string{"The user asks about the weather. Not for music."}, Examples: []string{
			"will it rain tomorrow", "what is the weather like", "is it raining in Rome", "how cold is it today", "明天會下雨嗎",
		}},
		{ID: "MUSIC", Name: "music", Triggers: []string{"The user wants to hear music"}, Examples: []string{
			"play some jazz", "play the next song", "put on music for the evening", "louder please, I love this song", "放一點音樂",
		}},
		{ID: "MAIL", Name: "mail", Triggers: []string{"The user reads or writes mail"}, Examples: []string{
			"read my mail", "write a mail to Anna", "is there mail from the bank today", "send it tomorrow", "幫我寫信給老闆",
		}},
		{ID: intents.FallbackID, Name: "Other", Examples: []string{"asdf", "you are funny"}},
	})
}

func embeddedOn(t testing.TB, cat *intents.Catalog, f func(string) []float32) *Embedded {
	t.Helper()
	e, err := TrainEmbedded(Train(cat), vectorsOf(TextsOf(cat), f))
	require.NoError(t, err)
	return e
}

func TestEmbeddedKnowsSynonyms(t *testing.T) {
	cat, f := tiny(), grams(synonyms)
	e := embeddedOn(t, cat, f)
	said := func(texts ...string) []payload.Turn {
		var out []payload.Turn
		for _, text := range texts {
			out = append(out, payload.Turn{Role: "user", Text: text}, payload.Turn{Role: "assistant", Text: "Shall I do more?"})
		}
		return out
	}
	for _, tt := range []struct {
		name, message string
		conversation  []payload.Turn
		deny          []string
		want          string
	}{
		{"synonym", "will it quassel near Porto?", nil, nil, "WEATHER"},
		{"another synonym", "is it ploosh today", nil, nil, "WEATHER"},
		{"two synonyms", "brelk vorna", nil, nil, "MUSIC"},
		{"two others", "jusk tolmi", nil, nil, "MAIL"},
		{"known words", "what is the weather like in Paris", nil, nil, "WEATHER"},
		{"example", "play some jazz", nil, nil, "MUSIC"},
		{"unknown words", "quantum zebras", nil, nil, intents.FallbackID},
		{"no words", "?!", nil, nil, intents.FallbackID},
		{"empty", "", nil, nil, intents.FallbackID},
		{"denied intent", "quassel near Porto?", nil, []string{"WEATHER"}, intents.FallbackID},
		{"all intents denied", "quassel near Porto?", nil, []string{"*"}, intents.FallbackID},
		{"acknowledgement of the earlier message", "yes please", said("jusk tolmi"), nil, "MAIL"},
		{"skips another acknowledgement", "go ahead", said("brelk vorna", "yes please"), nil, "MUSIC"},
		{"short message that goes on", "and ploosh?", said("quassel near Porto"), nil, "WEATHER"},
		{"acknowledgement without a conversation", "yes please", nil, nil, intents.FallbackID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := classify.Input{Catalog: cat.Without(tt.deny), Latest: tt.message, Conversation: tt.conversation}
			got := e.ClassifyVectors(in, vectorsOf(e.Texts(in), f))
			require.Equal(t, tt.want, got.Intent, "%+v", got)
			require.NotEmpty(t, got.Reason)
			require.NotEmpty(t, got.Complexity)
			require.Positive(t, got.Confidence)
			require.LessOrEqual(t, got.Confidence, 1.0)
		})
	}
	t.Run("words alone are not enough", func(t *testing.T) {
		for _, message := range []string{"quassel near Porto?", "brelk vorna", "jusk tolmi"} {
			require.Equal(t, intents.FallbackID, e.words.Classify(classify.Input{Catalog: cat, Latest: message}).Intent, message)
		}
	})
	t.Run("prediction agrees", func(t *testing.T) {
		p := e.PredictVectors(classify.Input{Latest: "brelk vorna"}, nil, map[string][]float32{"brelk vorna": f("brelk vorna")})
		require.Equal(t, "MUSIC", p.Intent)
		require.False(t, p.Other)
		require.Contains(t, []string{"play some jazz", "play the next song", "put on music for the evening", "The user wants to hear music", "music"}, p.Nearest)
		sum := 0.0
		for _, s := range p.Ranked {
			sum += s.Probability
		}
		require.Len(t, p.Ranked, 4)
		require.InDelta(t, 1, sum, 1e-9)
		require.True(t, slices.IsSortedFunc(p.Ranked, func(a, b Score) int { return int(math.Copysign(1, b.Probability-a.Probability)) }))
	})
	t.Run("words decide without vectors", func(t *testing.T) {
		for _, message := range []string{"what is the weather like in Paris", "quassel near Porto?", ""} {
			in := classify.Input{Catalog: cat, Latest: message}
			require.Equal(t, e.words.Classify(in), e.ClassifyVectors(in, nil))
		}
	})
}

func TestEmbeddedOnAnotherCatalogue(t *testing.T) {
	f := grams(synonyms)
	e := embeddedOn(t, tiny(), f)
	// Reloaded: one of the intents is gone, and one is new.
	cat := intents.NewCatalog([]intents.Intent{
		{ID: "MAIL", Triggers: []string{"mail"}}, {ID: "NEW", Triggers: []string{"The user asks about the weather"}},
	})
	in := classify.Input{Catalog: cat, Latest: "quassel near Porto?"}
	require.NotEqual(t, "WEATHER", e.ClassifyVectors(in, vectorsOf(e.Texts(in), f)).Intent)
}

func TestTexts(t *testing.T) {
	e := embeddedOn(t, tiny(), grams(nil))
	turns := []payload.Turn{
		{Role: "user", Text: "zero"},
		{Role: "user", Text: "one"},
		{Role: "user", Text: "two"},
		{Role: "user", Text: "three"},
		{Role: "assistant", Text: "sunshine"},
		{Role: "user", Text: "four"},
		{Role: "user", Text: "four"},
		{Role: "user", Text: "five\nlines"},
	}
	for _, tt := range []struct {
		name, latest string
		want         []string
	}{
		{"standalone message", "by the way, will it rain tomorrow", []string{"by the way, will it rain tomorrow"}},
		{"message too long to lean on another", "rain " + strings.TrimSpace(strings.Repeat("or ", 14)), []string{"rain " + strings.TrimSpace(strings.Repeat("or ", 14))}},
		{"acknowledgement", "yes  please", []string{"yes please", "five lines"}},
		{"thanks", "thanks", []string{"thanks"}},
		{"message that goes on", "and rain?", []string{"and rain?", "five lines"}},
		{"message that goes back", "and the sunshine?", []string{"and the sunshine?", "zero"}},
		{"the earlier message again", "five lines", []string{"five lines"}},
		{"quotation", "put it into verse: “the rain that falls on the plain of Spain”", []string{"put it into verse: “the rain that falls on the plain of Spain”", "put it into verse"}},
		{"content", "translate this: the rain that falls on the plain of Spain", []string{"translate this: the rain that falls on the plain of Spain", "translate this"}},
		{"a part ruled out", "by the way, no need to sing, will it rain tomorrow", []string{"by the way, no need to sing, will it rain tomorrow", "by the way, will it rain tomorrow"}},
		{"a part ruled out of a message that goes on", "not the wind, the rain", []string{"not the wind, the rain", "the rain", "five lines"}},
		{"blank", " \n", nil},
		{"invalid UTF-8", "by the way, rain for\xff the whole \x80 day", []string{"by the way, rain for the whole day"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, e.Texts(classify.Input{Latest: tt.latest, Conversation: turns}))
		})
	}
	t.Run("what was recorded", func(t *testing.T) {
		recorded := []payload.Turn{{Role: "user", Text: "four"}, {Role: "user", Text: "five\nlines"}}
		require.Equal(t, []string{"and rain?", "five lines"}, e.Texts(classify.Input{Latest: "and rain?", Earlier: recorded}))
	})
	t.Run("long", func(t *testing.T) {
		got := e.Texts(classify.Input{Latest: "begin " + strings.Repeat("好 ", 900) + "end"})
		require.Len(t, got, 1)
		require.Len(t, []rune(got[0]), headChars+tailChars+3)
		require.True(t, strings.HasPrefix(got[0], "begin 好") && strings.HasSuffix(got[0], "好 end"))
	})
}

func TestTextsOfIsWithoutRepetition(t *testing.T) {
	cat := intents.NewCatalog([]intents.Intent{
		{ID: "A", Triggers: []string{"one. Not for two.", " "}, Examples: []string{"one", "three\n four", "\t"}},
		{ID: "B", Triggers: []string{"one"}, Examples: []string{"three four"}},
		{ID: intents.FallbackID, Examples: []string{"five"}},
	})
	texts := TextsOf(cat)
	require.Equal(t, texts, TextsOf(cat.Without([]string{"A"})), "texts of the root catalogue")
	require.Contains(t, texts, "three four")
	require.Contains(t, texts, "five")
	require.NotContains(t, texts, "")
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(texts))), len(texts))
}

func TestTrainEmbeddedRefuses(t *testing.T) {
	cat := tiny()
	m, f := Train(cat), grams(nil)
	for _, tt := range []struct {
		name   string
		vector []float32
		says   string
	}{
		{"a missing text", nil, "missing vector for “play some jazz”"},
		{"an empty vector", []float32{}, "missing vector for “play some jazz”"},
		{"another dimension", []float32{1, 0}, "2 dimensions, not 256"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			vectors := vectorsOf(TextsOf(cat), f)
			if vectors["play some jazz"] = tt.vector; tt.vector == nil {
				delete(vectors, "play some jazz")
			}
			_, err := TrainEmbedded(m, vectors)
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestATextMayHaveNoVector(t *testing.T) {
	cat, f := tiny(), grams(synonyms)
	vectors := vectorsOf(TextsOf(cat), f)
	for text := range vectors {
		if !isASCII(text) {
			vectors[text] = nil
		}
	}
	e, err := TrainEmbedded(Train(cat), vectors)
	require.NoError(t, err)
	for _, tt := range []struct{ name, text, intent, nearest string }{
		{"a synonym", "quassel tomorrow", "WEATHER", "will it rain tomorrow"},
		{"a text without a vector, by its words", "明天會下雨嗎", "WEATHER", "明天會下雨嗎"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := map[string][]float32{}
			if isASCII(tt.text) {
				found = vectorsOf([]string{tt.text}, f)
			}
			got := e.PredictVectors(classify.Input{Latest: tt.text}, nil, found)
			require.Equal(t, []string{tt.intent, tt.nearest}, []string{got.Intent, got.Nearest})
		})
	}
	for text := range vectors {
		vectors[text] = nil
	}
	_, err = TrainEmbedded(Train(cat), vectors)
	require.ErrorIs(t, err, ErrNoVectors)
}

// A panic is caught by the caller, and the model goes on. The pool may drop a scratch
// at any time, so it takes several tries to meet one again.
func TestAPanicLeavesNothingBehind(t *testing.T) {
	e := embeddedOn(t, tiny(), grams(synonyms))
	m, in := e.words, classify.Input{Latest: "play the mail from the bank"}
	want := m.Predict(in.Latest, nil, nil)
	tooLong := map[string][]float32{in.Latest: make([]float32, e.Dimensions()+1)}
	for _, row := range []struct {
		name string
		do   func()
	}{
		{"classification", func() { e.ClassifyVectors(in, tooLong) }},
		{"prediction", func() { e.PredictVectors(in, nil, tooLong) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				require.Panics(t, row.do)
				require.Equal(t, want, m.Predict(in.Latest, nil, nil))
			}
		})
	}
}

func TestTrainEmbeddedOnOddCatalogues(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []intents.Intent
	}{
		{"no intents", nil},
		{"one intent", []intents.Intent{{ID: "A", Triggers: []string{"rain"}}}},
		{"blank texts", []intents.Intent{{ID: "A", Triggers: []string{" "}, Examples: []string{"", "rain"}}, {ID: "B", Triggers: []string{" "}}}},
		{"the same texts", []intents.Intent{{ID: "A", Triggers: []string{"rain"}, Examples: []string{"rain"}}, {ID: "B", Triggers: []string{"rain"}, Examples: []string{"rain"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cat, f := intents.NewCatalog(tt.list), grams(nil)
			e := embeddedOn(t, cat, f)
			for _, message := range []string{"rain", "snow", "", "yes"} {
				in := classify.Input{Catalog: cat, Latest: message}
				got := e.ClassifyVectors(in, vectorsOf(e.Texts(in), f))
				require.False(t, math.IsNaN(got.Confidence))
				require.NotEmpty(t, got.Intent)
			}
		})
	}
}

// planted is an embedding model that sees what texts are about, as clearly as
// the strength says: every text has a direction of its own, that of its subject
// and one that all share.
func planted(strength float32, subject func(string) string) func(string) []float32 {
	const dimensions = 64
	direction := func(s string) []float32 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s))
		random := rand.New(rand.NewPCG(h.Sum64(), 1))
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	return func(text string) []float32 {
		v := direction("text " + text)
		axpy(v, direction("subject "+subject(text)), strength)
		axpy(v, direction("all texts"), 1)
		return unit(v)
	}
}

// subjects returns a catalogue of so many intents whose texts share their words,
// so that words tell little, and messages with their intents, a fifth of which
// fit none.
func subjects(n int) (cat *intents.Catalog, messages map[string]string, subject func(string) string) {
	random := rand.New(rand.NewPCG(3, 4))
	text := func(own string) string {
		var b strings.Builder
		for range 5 {
			fmt.Fprintf(&b, "w%d ", random.IntN(40))
		}
		if random.IntN(2) == 0 {
			b.WriteString(own)
		} else {
			fmt.Fprintf(&b, "x%d", random.IntN(1000))
		}
		return b.String()
	}
	subjectOf := make(map[string]string)
	var list []intents.Intent
	messages = make(map[string]string)
	for i := range n + n/4 {
		id := fmt.Sprintf("I%02d", i)
		in := intents.Intent{ID: id, Triggers: []string{"about " + id}}
		for range 12 {
			in.Examples = append(in.Examples, text("own"+id))
		}
		for _, e := range append(in.Examples, in.Triggers...) {
			subjectOf[e] = id
		}
		for range 8 {
			m := text("own" + id)
			subjectOf[m], messages[m] = id, id
			if i >= n {
				messages[m] = intents.FallbackID
			}
		}
		if i < n {
			list = append(list, in)
		}
	}
	return intents.NewCatalog(list), messages, func(text string) string { return subjectOf[text] }
}

// tryOut returns the share of messages in scope whose best intent is right, and
// the calibration error over all messages.
func tryOut(messages map[string]string, predict func(message string) Prediction) (forced, ece float64) {
	var inScope, right float64
	var sum, hits, count [10]float64
	for message, want := range messages {
		p := predict(message)
		if want != intents.FallbackID {
			inScope++
			if p.Intent == want {
				right++
			}
		}
		got := p.Intent
		if p.Other {
			got = intents.FallbackID
		}
		bin := min(int(p.Confidence*10), 9)
		sum[bin] += p.Confidence
		count[bin]++
		if got == want {
			hits[bin]++
		}
	}
	for i := range count {
		ece += math.Abs(sum[i]-hits[i]) / float64(len(messages))
	}
	return right / inScope, ece
}

func TestEmbeddedLearnsToTrustVectors(t *testing.T) {
	cat, messages, subject := subjects(30)
	m := Train(cat)
	words, _ := tryOut(messages, func(message string) Prediction { return m.Predict(message, nil, nil) })
	for _, tt := range []struct {
		name     string
		strength float32
		// least is how many percent more messages are right than by words.
		least float64
	}{
		{"random vectors", 0, -4},
		{"vectors with a weak signal", 0.6, 10},
		{"vectors with a strong signal", 2, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := planted(tt.strength, subject)
			e, err := TrainEmbedded(m, vectorsOf(TextsOf(cat), f))
			require.NoError(t, err)
			forced, ece := tryOut(messages, func(message string) Prediction {
				return e.PredictVectors(classify.Input{Latest: message}, nil, map[string][]float32{message: f(message)})
			})
			t.Logf("words %.3f, with vectors %.3f, ECE %.3f, mix %+v", words, forced, ece, e.mix)
			require.GreaterOrEqual(t, 100*(forced-words), tt.least)
			require.Less(t, ece, 0.13)
		})
	}
}

func TestTrainEmbeddedIsDeterministic(t *testing.T) {
	cat, messages, subject := subjects(8)
	f := planted(0.6, subject)
	one, two := embeddedOn(t, cat, f), embeddedOn(t, cat, f)
	require.Equal(t, one.mix, two.mix)
	require.Equal(t, one.inScope, two.inScope)
	var wg sync.WaitGroup
	for message := range messages {
		wg.Go(func() {
			in := classify.Input{Catalog: cat, Latest: message}
			vectors := vectorsOf(one.Texts(in), f)
			if a, b := one.ClassifyVectors(in, vectors), two.ClassifyVectors(in, vectors); a != b {
				t.Errorf("%+v and %+v", a, b)
			}
		})
	}
	wg.Wait()
}

func BenchmarkEmbedded(b *testing.B) {
	const dimensions = 1536
	cat := intents.Bundled()
	random := rand.New(rand.NewPCG(1, 1))
	f := func(string) []float32 {
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return unit(v)
	}
	vectors := vectorsOf(TextsOf(cat), f)
	m := Train(cat)
	b.Run("train", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := TrainEmbedded(m, vectors)
			require.NoError(b, err)
		}
	})
	b.Run("classify", func(b *testing.B) {
		e, err := TrainEmbedded(m, vectors)
		require.NoError(b, err)
		in := classify.Input{Catalog: cat, Latest: "could you check the invoice from Keller?"}
		found := vectorsOf(e.Texts(in), f)
		b.ReportAllocs()
		for b.Loop() {
			e.ClassifyVectors(in, found)
		}
	})
}

// In a conversation the vector of a message counts where its words stand alone, and not
// where they lean.
func TestEmbeddedInConversations(t *testing.T) {
	m := bundled()
	e := &Embedded{words: m}
	before := []payload.Turn{{Role: payload.RoleUser, Text: "sum up the annual report"}, {Role: payload.RoleAssistant, Text: "Revenue grew. Shall I translate it into French?"}}
	for message, want := range map[string]bool{
		"yes please": true, "and the second chapter?": true, "shorter": true,
		"what's the capital of burkina faso": false, "turn off the lights in the kitchen": false,
	} {
		require.Equal(t, want, e.NeedsConversation(classify.Input{Latest: message, Conversation: before}), message)
		require.False(t, e.NeedsConversation(classify.Input{Latest: message}), message)
	}
}

// A message that stands alone in a conversation is judged by its own vector.
func TestEmbeddedServesConversations(t *testing.T) {
	cat, f := tiny(), grams(synonyms)
	e := embeddedOn(t, cat, f)
	music := []payload.Turn{{Role: payload.RoleUser, Text: "play some jazz"}, {Role: payload.RoleAssistant, Text: "Here is some jazz."}}
	in := classify.Input{Catalog: cat, Latest: "by the way, jusk tolmi", Conversation: music}
	own := vectorsOf(e.Texts(in)[:1], f)
	require.Equal(t, "MAIL", e.ClassifyVectors(in, own).Intent)
	require.NotEqual(t, "MAIL", e.words.Classify(in).Intent, "words alone")

	in.Latest = "louder please"
	require.Equal(t, e.words.Classify(in).Intent, e.ClassifyVectors(in, vectorsOf(e.Texts(in)[:1], f)).Intent, "it leans: words decide")
}
