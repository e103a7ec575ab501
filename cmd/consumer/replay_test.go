package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/workbench"
	"intenthint/config"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/subjects"
)

// replay runs the command in this process and returns what --json prints.
func replay(t *testing.T, env environment, args ...string) workbench.ReplaySummary {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), append([]string{"replay", "--json"}, args...), &stdout, &stderr), stderr.String())
	var out workbench.ReplaySummary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &out))
	return out
}

// replayed runs the command in this process and returns the lines of --jsonl.
func replayed(t *testing.T, env environment, args ...string) []record.Difference {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), append([]string{"replay", "--jsonl"}, args...), &stdout, &stderr), stderr.String())
	var out []record.Difference
	for raw := range strings.Lines(stdout.String()) {
		var d record.Difference
		require.NoError(t, json.Unmarshal([]byte(raw), &d))
		out = append(out, d)
	}
	return out
}

// chat is a conversation in one session: user messages and what was answered.
type chat struct {
	session, key string
	says         []string
}

var long = strings.Repeat("The meeting notes go on about the budget, the roof and the garden party. ", 120)

// chats are what a system is asked in these tests.
var chats = []chat{
	{"english", "direct:1", []string{
		"is this safe to merge?", "and the other branch?", "what did I tell you about the dentist?", "thanks, that is all", "xqzv wkjp", "hm", "rain",
		"remind me at nine to water the plants", "make that ten", "my laptop's fan is loud, what could that be", "do i need a coat when i leave the house",
	}},
	{"chinese", "direct:2", []string{"明天早上九點提醒我澆花", "改成十點", "幫我看看這段程式碼有沒有問題", "谢谢", "那個呢"}},
	{"german", "direct:3", []string{"erinnere mich morgen um neun an die Blumen", "lieber um zehn", "kannst du den Code noch einmal prüfen?", "was habe ich dir über den Zahnarzt gesagt"}},
	{"long", "direct:4", []string{long + "Please review this commit.", "summarise that", long, "Write to ada@example.org that it is done"}},
	{"explicit", "explicit:5", []string{"/hint off", "#CODE_REVIEW is this fine?", "use the intent CODE_REVIEW", "/hint wrong CODE_REVIEW"}},
}

// converse asks all that is in chats, as a gateway that sends the conversation, and
// waits until it is recorded. It returns the number of turns.
func converse(t *testing.T, s *apptest.System) int { return converseWith(t, s, true) }

// converseWith is converse. A gateway that sends no conversation tells of a new
// session in the midst of each.
func converseWith(t *testing.T, s *apptest.System, sends bool) int {
	t.Helper()
	turns := map[string]int{}
	n := 0
	for _, c := range chats {
		messages := []any{}
		for i, text := range c.says {
			env := s.Prompt(c.session, fmt.Sprint(c.session, i), text)
			env.Event, _ = json.Marshal(map[string]any{"prompt": text, "messages": messages})
			env.Ctx, _ = json.Marshal(payload.Context{
				RunID: fmt.Sprint(c.session, i), AgentID: "main", SessionID: c.session, SessionKey: "agent:main:" + c.key, Trigger: "user",
			})
			s.Ask(env, time.Minute)
			if sends {
				messages = append(messages,
					map[string]any{"role": "user", "content": text}, map[string]any{"role": "assistant", "content": "Done: " + strings.ToLower(text)})
			} else if i == len(c.says)/2 {
				env.Hook, env.Event, env.TS, env.ID = subjects.HookSessionStart, json.RawMessage(`{}`), env.TS+1, env.ID+"s"
				s.Sequence++
				s.Tell(env)
			}
			turns[c.session]++
			n++
		}
	}
	s.Eventually("all turns", func() bool {
		for session, n := range turns {
			history, _ := s.Document(session)["history"].([]any)
			if len(history) < n-1 {
				return false
			}
		}
		return true
	})
	return n
}

// The same classifier and the same catalogue say the same.
func TestReplayUnderTheSameCatalogue(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings map[string]string
		bare     bool // no conversation is sent
	}{
		{name: "words"},
		{name: "hints are not repeated", settings: map[string]string{"HINT_REPEAT": "changed"}},
		{name: "another threshold", settings: map[string]string{"HINT_MIN_CONFIDENCE": "0.8"}},
		{name: "a denied intent", settings: map[string]string{"HINT_INTENT_DENY": `{"main": ["PRODUCTIVITY_*"]}`}},
		{name: "the latest message alone", settings: map[string]string{"HINT_QUERY_MODE": "message"}},
		{name: "redacted", settings: map[string]string{"HINT_REDACT": "strict"}},
		{name: "no conversation is sent", bare: true},
		{name: "none is sent, and two messages count", bare: true, settings: map[string]string{"HINT_CONTEXT_WINDOW": `{"user":{"turns":2}}`}},
		{name: "none is sent, and it is redacted", bare: true, settings: map[string]string{"HINT_REDACT": "strict"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{"HINT_ALLOWED_CHAT_TYPES": "direct,explicit"}
			maps.Copy(settings, row.settings)
			s := start(t, settings)
			n := converseWith(t, s.System, !row.bare)
			got := replay(t, s.env)
			require.Empty(t, replayed(t, s.env))
			want := record.Summary{Turns: n, Compared: n, Pairs: []record.Pair{}}
			if row.settings["HINT_REDACT"] != "" {
				// A message may read otherwise without what was redacted.
				want.LeftOut.Altered = got.LeftOut.Altered
				want.Compared -= got.LeftOut.Altered
				require.LessOrEqual(t, got.LeftOut.Altered, 1, "one message is redacted")
			}
			require.Equal(t, want, got.Summary)
			if row.settings["HINT_INTENT_DENY"] != "" {
				require.Positive(t, replay(t, s.env.with("HINT_INTENT_DENY", "")).Changed, "the rule was applied")
			}
		})
	}
}

// renamed copies the built-in definitions to a directory, one id changed.
func renamed(t *testing.T, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	found := false
	paths, err := filepath.Glob("../../intents/bundled/*")
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		changed := bytes.Replace(data, []byte("\nid: "+from+"\n"), []byte("\nid: "+to+"\n"), 1)
		found = found || len(changed) != len(data)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), changed, 0o600))
	}
	require.True(t, found, "an intent was renamed")
	return dir
}

// One changed intent gives its turns, and no others. The order of ids is that in
// which the classifier is trained: where an id comes to another place in it, turns at
// the threshold may come to its other side, and turns between two intents to the other.
func TestReplayUnderARenamedIntent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains on the built-in definitions twice more")
	}
	env := settle(t, nil)
	cfg := env.config(t)
	// Beside examples their first halves, of which many are unsure.
	var texts []string
	for _, in := range intents.Bundled().Enabled() {
		for i := 0; i < len(in.Examples); i += 12 {
			words := strings.Fields(in.Examples[i])
			texts = append(texts, in.Examples[i], strings.Join(words[:(len(words)+1)/2], " "))
		}
	}
	want := remember(t, cfg, texts)["CODE_REVIEW"]
	require.NotEmpty(t, want)
	for _, row := range []struct {
		name, to string
		others   int
	}{
		{"in its place", "CODE_REVIEWED", 0},
		{"first of all", "AAA", len(texts) / 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			var runs []string
			others := 0
			for _, d := range replayed(t, env, "--intents", renamed(t, "CODE_REVIEW", row.to)) {
				if d.From == "CODE_REVIEW" && d.To == row.to {
					runs = append(runs, d.RunID)
					continue
				}
				others++
			}
			require.Subset(t, want, runs)
			// A turn that has left the renamed intent is one of the others.
			require.GreaterOrEqual(t, len(runs), len(want)-row.others)
			require.LessOrEqual(t, others, row.others)
		})
	}
}

// remember stores messages with the answers of the built-in definitions. It returns
// the runs of which an intent was said.
func remember(t *testing.T, cfg *config.Config, texts []string) map[string][]string {
	t.Helper()
	sessions, err := app.OpenStore(t.Context(), cfg, nil, nil, nil)
	require.NoError(t, err)
	classifier := local.Trained(intents.Bundled())
	facts, said := make([]store.Fact, len(texts)), map[string][]string{}
	for i, text := range texts {
		result := classifier.Classify(classify.Input{Catalog: intents.Bundled(), Latest: conversation.Latest(text)})
		facts[i] = turnAt("s", strconv.Itoa(i), text, time.UnixMilli(1763680000000+int64(i)), &result)
		facts[i].Begin.Conversation = nil
		if result.Confidence >= cfg.Classifier.MinConfidence {
			said[result.Intent] = append(said[result.Intent], facts[i].RunID)
		}
	}
	require.NoError(t, sessions.Apply(t.Context(), facts))
	return said
}

// What the embedding model answered is answered by it again, and what words answered
// without it by words.
func TestReplayWithAnEmbeddingModel(t *testing.T) {
	t.Parallel()
	_, embedding := apptest.EmbeddingModel(t)
	without := maps.Clone(embedding)
	without["HINT_EMBEDDING_MODEL"] = "off"
	says := []string{"will it rain tomorrow", "quassel", "is there quassel", "tolmi brelk please", "xqzv wkjp"}
	for _, row := range []struct {
		name     string
		settings map[string]string
		sources  string
	}{
		{"with it", embedding, payload.SourceEmbedding},
		{"without it", without, payload.SourceLocal},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.settings["HINT_DATA_DIR"] = t.TempDir()
			row.settings["HINT_MIN_CONFIDENCE"] = "0"
			s := start(t, row.settings)
			if row.sources == payload.SourceEmbedding {
				s.Eventually("the embedding model is in use", func() bool { return strings.Contains(s.Log.String(), "embedding model in use") })
			}
			for i, text := range says {
				reply := s.Ask(s.Prompt("s", strconv.Itoa(i), text), time.Minute)
				require.Equal(t, row.sources, reply.Header.Get(subjects.HeaderSource))
			}
			s.Eventually("all turns", func() bool { history, _ := s.Document("s")["history"].([]any); return len(history) == len(says)-1 })
			got := replay(t, s.env.with("HINT_EMBEDDING_MODEL", "mock/embed"), "--yes")
			require.Equal(t, record.Summary{Turns: len(says), Compared: len(says), Pairs: []record.Pair{}}, got.Summary)
			if row.sources == payload.SourceEmbedding {
				require.Positive(t, replay(t, s.env.with("HINT_EMBEDDING_MODEL", "off")).Changed, "words alone say something else")
			}
		})
	}
}

func TestReplayWithTheBuiltInEncoder(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{
		"HINT_ALLOWED_CHAT_TYPES": "direct,explicit", "HINT_EMBEDDING_MODEL": "builtin", "HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_MIN_CONFIDENCE": "0.3",
	})
	s.Eventually("the encoder is in use", func() bool { return strings.Contains(s.Log.String(), "embedding model in use") })
	n := converse(t, s.System)
	got := replay(t, s.env)
	require.Equal(t, record.Summary{Turns: n, Compared: n, Pairs: []record.Pair{}}, got.Summary)
}

// routed is what a model answers.
func routed(intent string) providertest.Answer {
	return providertest.Answer{Text: strings.Replace(apptest.HintAnswer, "CHAT (Small Talk)", intent, 1)}
}

func TestReplayAsksAModel(t *testing.T) {
	t.Parallel()
	model, settings := apptest.ModelSettings(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	s := start(t, settings)
	env := s.env
	byMessage := func(r providertest.Request) providertest.Answer {
		switch {
		case strings.Contains(r.User, "broken"):
			return providertest.Answer{Status: 500}
		case strings.Contains(r.User, "rain"):
			return routed("WEATHER")
		}
		return routed("MONEY")
	}
	model.Handle(byMessage)
	for i, text := range []string{"will it rain tomorrow", "is it hot outside", "what is my bank balance", "rain", "broken"} {
		s.Ask(s.Prompt("s", strconv.Itoa(i), text), time.Minute)
	}
	s.Eventually("all turns", func() bool { history, _ := s.Document("s")["history"].([]any); return len(history) == 4 })
	require.NoError(t, s.Stop())

	t.Run("turns of a model are left out without one", func(t *testing.T) {
		asked := model.Count()
		got := replay(t, env)
		require.Equal(t, []int{5, 0, 4, 1}, []int{got.Turns, got.Compared, got.LeftOut.Model, got.LeftOut.Unanswered})
		require.Equal(t, asked, model.Count(), "nobody is asked")
	})
	t.Run("unless all are compared", func(t *testing.T) {
		got := replay(t, env, "--all")
		require.Equal(t, []int{5, 5}, []int{got.Turns, got.Compared})
		require.Contains(t, got.Pairs, record.Pair{From: "MONEY", To: "WEATHER", Turns: 1})
	})
	t.Run("the same model", func(t *testing.T) {
		asked := model.Count()
		got := replay(t, env, "--model", "mock/small", "--yes")
		require.Equal(t, record.Summary{Turns: 5, Compared: 4, LeftOut: record.LeftOut{Unanswered: 1}, Pairs: []record.Pair{}}, got.Summary)
		require.Equal(t, asked+4, model.Count())
	})
	t.Run("a model that says something else", func(t *testing.T) {
		model.Handle(func(providertest.Request) providertest.Answer { return routed("MONEY") })
		defer model.Handle(byMessage)
		got := replayed(t, env, "--model", "mock/other", "--yes", "--all")
		require.Len(t, got, 3)
		require.Equal(t, []string{"WEATHER", "MONEY", "llm"}, []string{got[0].From, got[0].To, got[0].ToSource})
		require.Equal(t, []string{"OTHER", "MONEY"}, []string{got[2].From, got[2].To})
	})
	t.Run("cascade asks about what the local classifier is not sure of", func(t *testing.T) {
		env := env.with("HINT_CLASSIFIER", "cascade").with("HINT_LOCAL_ACCEPT", "0.995")
		asked := model.Count()
		got := replay(t, env, "--model", "mock/small", "--yes")
		require.Equal(t, 4, got.Compared)
		require.Greater(t, model.Count(), asked)
		require.Less(t, model.Count(), asked+4)
	})
	t.Run("a model that fails", func(t *testing.T) {
		model.Always(providertest.Answer{Status: 500})
		defer model.Handle(byMessage)
		for _, mode := range []string{"llm", "hedged", "cascade"} {
			env := env.with("HINT_CLASSIFIER", mode).with("HINT_LOCAL_ACCEPT", "1")
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitFailed, env.run(t.Context(), []string{"replay", "--model", "mock/small", "-y"}, &stdout, &stderr), mode)
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), "4 of 5 turns got no answer")
		}
	})
	t.Run("what it costs is said, and nothing is asked without a yes", func(t *testing.T) {
		asked := model.Count()
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, env.run(t.Context(), []string{"replay", "--model", "mock/small"}, &stdout, &stderr))
		require.Regexp(t, `^4 calls to mock/small at most, about \d{4} input tokens \(\d{5} bytes of prompts, 4 bytes per token\)\n`, stderr.String())
		require.Contains(t, stderr.String(), "add --yes")
		require.Equal(t, asked, model.Count())
	})
}

func TestReplayPrints(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	cfg := env.config(t)
	remember(t, cfg, []string{"is this safe to merge?", "xqzv"})
	for _, row := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing changed", nil, []string{"turns .* 2 .* under the built-in definitions, the local classifier, threshold 0.6", "changed .* 0 .* 0.0 %"}},
		{"a hint is lost", []string{"--min-confidence", "0.999"}, []string{`changed +1 +50.0 %`, `lost +1 `, `CODE_REVIEW +OTHER +1\n`, `s +0 +CODE_REVIEW 0.9\d +[A-Z_]+ +OTHER 0.9\d \(CODE_REVIEW\) +is this safe to merge\?`}},
		{"another directory", []string{"--intents", apptest.WriteIntents(t)}, []string{`under /\S+, the local classifier`, `changed +1 `}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Zero(t, env.run(t.Context(), append([]string{"replay"}, row.args...), &stdout, &stderr), stderr.String())
			for _, want := range row.want {
				require.Regexp(t, want, stdout.String())
			}
		})
	}
	t.Run("turns of the last hour", func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		require.Zero(t, env.run(t.Context(), []string{"replay", "--since", "1h", "--json"}, &stdout, &stderr))
		require.Contains(t, stderr.String(), "no such turns")
		require.Contains(t, stdout.String(), `"pairs": []`)
	})
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	for _, row := range []struct {
		name, args string
		code       int
	}{
		{"a threshold above 1", "--min-confidence 80", exitUsage},
		{"a threshold that is not a number", "--min-confidence NaN", exitUsage},
		{"two outputs", "--json --jsonl", exitUsage},
		{"a model of an unknown provider", "--model nobody/small", exitUsage},
		{"a model without a provider", "--model small", exitUsage},
		{"no such directory", "--intents /nowhere/at/all", exitFailed},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, row.code, env.run(t.Context(), append([]string{"replay"}, strings.Fields(row.args)...), &stdout, &stderr), stderr.String())
			require.Empty(t, stdout.String())
		})
	}
}
