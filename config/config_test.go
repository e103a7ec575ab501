package config

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/decide"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/internal/tlstest"
	"intenthint/knowhub"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/triage"
)

// setenv makes the environment hold exactly these HINT_* variables.
func setenv(t *testing.T, values map[string]string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "HINT_") {
			require.NoError(t, os.Unsetenv(name))
			t.Cleanup(func() { _ = os.Setenv(name, value) })
		}
	}
	for name, value := range values {
		t.Setenv(name, value)
	}
}

// objects are what the parts of the program declare.
var objects = []part.Object{triage.Declared, decide.Declared, knowhub.Declared}

func triageOf(c *Config) any  { return *triage.Declared.In(c.Parts) }
func knowHubOf(c *Config) any { return *knowhub.Declared.In(c.Parts) }

func load(t *testing.T, values map[string]string) (*Config, []Warning, error) {
	t.Helper()
	setenv(t, values)
	return Load(objects...)
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TZ", "Asia/Taipei")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	c, warnings, err := load(t, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	taipei, err := time.LoadLocation("Asia/Taipei")
	require.NoError(t, err)
	require.Equal(t, &Config{
		DataDir: "data", Auth: "on", objects: objects, Parts: part.Values{
			"triage":  &triage.Settings{Threshold: 5, Quiet: triage.QuietGroups{Per: time.Hour}, Examples: 6, Recall: 10, MaxTokens: 10, Timeout: 5 * time.Second, LogDecisions: true},
			"decide":  &decide.Settings{Target: 0.95, Record: decide.RecordOff, Sample: 10},
			"knowhub": &knowhub.Settings{Listen: "127.0.0.1:8000", RemindAtStart: true, RemindEvery: 3, Trigger: "agent_end", Strict: true, MinConfidence: 0.7, Approval: true, Shared: true},
		},
		Bus: Bus{
			Conf: "nats.conf", Prefix: "openclaw", QueueGroup: "intent-hint", Stream: "OPENCLAW_EVENTS",
			StreamMaxAge: 336 * time.Hour, StreamMaxBytes: 1 << 30, StreamReplicas: 1,
			InboxPrefix: "_INBOX",
		},
		Store:  Store{Kind: "file", SessionsDir: filepath.Join("data", "sessions"), Retention: 336 * time.Hour, HistoryLimit: 200},
		HTTP:   HTTP{Addr: "127.0.0.1:8377"},
		Log:    Log{Format: "auto", Level: slog.LevelInfo},
		Policy: Policy{Agents: []string{"*"}, IntentDeny: map[string][]string{}, ChatTypes: []string{"direct"}, MainKey: "main"},
		Query:  Query{Mode: conversation.ModeRecent, Window: conversation.Window{User: conversation.Side{Turns: 5, Chars: 500}, Assistant: conversation.Side{Turns: 3, Chars: 300}}},
		Classifier: Classifier{
			Mode: classify.ModeLocal, LocalAccept: 0.9, Embedding: EmbeddingBuiltIn, MinConfidence: 0.6, Providers: map[string]provider.Config{}, MaxInflight: 256, Timeout: 3 * time.Second,
		},
		Timezone:     Zone{Name: "Asia/Taipei", Location: taipei},
		HookTimeouts: map[string]time.Duration{},
		Prices:       map[string]payload.Price{},
		Redact:       "off",
		Learn:        "off",
		Form:         render.Full,
		Frame:        render.FrameOperator,
		Repeat:       repetition.Rule{Repeat: repetition.Changed, After: 8, Budget: 16384},
		env:          map[string]string{},
	}, c)
}

func TestSettingsHaveTheNamesOfTheContract(t *testing.T) {
	contract, err := os.ReadFile("../docs/contract.md")
	require.NoError(t, err)
	described, inFile := map[string]bool{}, map[string]bool{}
	for _, s := range withObjects(objects) {
		require.NotEmpty(t, s.doc, s.field)
		if name := s.env(); name != "" {
			require.False(t, described[name], name)
			described[name] = true
			require.Contains(t, string(contract), "`"+name+"`")
		}
		if s.inFile() {
			require.False(t, inFile[s.field], s.field)
			inFile[s.field] = true
		}
	}
	// The names of contract §9, so that none is lost.
	for name := range strings.FieldsSeq(`HINT_NATS_URL HINT_NATS_CREDS HINT_NATS_CONF HINT_NATS_PORT HINT_DATA_DIR HINT_SUBJECT_PREFIX
		HINT_QUEUE_GROUP HINT_STREAM HINT_STREAM_MAX_AGE HINT_STREAM_MAX_BYTES HINT_STREAM_REPLICAS HINT_STORE HINT_SESSIONS_DIR HINT_HTTP_ADDR HINT_AUTH HINT_HTTP_TOKEN HINT_HTTP_PUBLIC HINT_LOG_FORMAT HINT_LOG_LEVEL
		HINT_CONFIG HINT_CLASSIFIER HINT_LOCAL_ACCEPT HINT_MIN_CONFIDENCE HINT_AGENTS HINT_TRIAGE HINT_DECIDE HINT_DECIDE_MODEL HINT_KNOWHUB HINT_HOOK_TIMEOUTS
		HINT_INTENT_DENY HINT_MODEL HINT_MODEL_FALLBACK HINT_EMBEDDING_MODEL HINT_PROVIDERS HINT_ALLOWED_CHAT_TYPES HINT_ALLOWED_CHAT_IDS HINT_DENIED_CHAT_IDS
		HINT_QUERY_MODE HINT_CONTEXT_WINDOW HINT_TIMEOUT_MS HINT_INTENTS_DIR HINT_COMPLEXITY_PROMPTS HINT_USER_TIMEZONE HINT_MAX_INFLIGHT
		HINT_SESSION_RETENTION HINT_HISTORY_LIMIT`) {
		require.True(t, described[name], name)
	}
}

// newSeed returns the seed of a new user.
func newSeed(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	return string(seed)
}

// credentials returns the content of a credentials file.
func credentials(token, seed string) string {
	return "-----BEGIN NATS USER JWT-----\n" + token + "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n"
}

func TestGoodValues(t *testing.T) {
	dir := t.TempDir()
	file, secret := write(t, "user", "SECRET"), newSeed(t)
	creds := write(t, "user.creds", credentials("eyJ0eXAi", secret))
	nkey, authority := write(t, "user.nk", secret), tlstest.New(t)
	get := func(at func(*Config) any) func(*Config) any { return at }
	level := get(func(c *Config) any { return c.Log.Level })
	window := get(func(c *Config) any { return c.Query.Window })
	timeout := get(func(c *Config) any { return c.Classifier.Timeout })
	age := get(func(c *Config) any { return c.Bus.StreamMaxAge })
	bytes := get(func(c *Config) any { return c.Bus.StreamMaxBytes })
	urls := get(func(c *Config) any { return c.Bus.URLs })
	port := get(func(c *Config) any { return c.Bus.Port })
	addr := get(func(c *Config) any { return c.HTTP })
	agents := get(func(c *Config) any { return c.Policy.Agents })
	deny := get(func(c *Config) any { return c.Policy.IntentDeny })
	providers := get(func(c *Config) any { return c.Classifier.Providers })
	for _, tc := range []struct {
		row, name, value string
		got              func(*Config) any
		want             any
	}{
		{"one server", "HINT_NATS_URL", "nats://127.0.0.1:4333", urls, []string{"nats://127.0.0.1:4333"}},
		{"servers without a scheme", "HINT_NATS_URL", "a:4222, tls://b", urls, []string{"nats://a:4222", "tls://b"}},
		{"server with IPv6", "HINT_NATS_URL", "nats://[::1]:4222", urls, []string{"nats://[::1]:4222"}},
		{"creds", "HINT_NATS_CREDS", creds, func(c *Config) any { return c.Bus.Creds }, creds},
		{"nkey", "HINT_NATS_NKEY", nkey, func(c *Config) any { return c.Bus.NKey }, nkey},
		{"authority", "HINT_NATS_CA", authority.File, func(c *Config) any { return c.Bus.CA }, authority.File},
		{"inbox that begins with the letters of the prefix", "HINT_NATS_INBOX_PREFIX", "openclaw_in", func(c *Config) any { return c.Bus.InboxPrefix }, "openclaw_in"},
		{"inbox", "HINT_NATS_INBOX_PREFIX", "_INBOX_consumer", func(c *Config) any { return c.Bus.InboxPrefix }, "_INBOX_consumer"},
		{"open", "HINT_ALLOW_OPEN", "1", func(c *Config) any { return c.AllowOpen }, true},
		{"not open", "HINT_ALLOW_OPEN", "False", func(c *Config) any { return c.AllowOpen }, false},
		{"conf", "HINT_NATS_CONF", file, func(c *Config) any { return c.Bus.Conf }, file},
		{"default conf that is not there", "HINT_NATS_CONF", "nats.conf", func(c *Config) any { return c.Bus.Conf }, "nats.conf"},
		{"free port", "HINT_NATS_PORT", "-1", port, -1},
		{"port", "HINT_NATS_PORT", "65535", port, 65535},
		{"data", "HINT_DATA_DIR", dir, func(c *Config) any { return c.Store.SessionsDir }, filepath.Join(dir, "sessions")},
		{"sessions", "HINT_SESSIONS_DIR", dir, func(c *Config) any { return c.Store.SessionsDir }, dir},
		{"prefix of two tokens", "HINT_SUBJECT_PREFIX", "acme.claw", func(c *Config) any { return c.Bus.Prefix }, "acme.claw"},
		{"group", "HINT_QUEUE_GROUP", "hint_2-b", func(c *Config) any { return c.Bus.QueueGroup }, "hint_2-b"},
		{"stream", "HINT_STREAM", "EVENTS", func(c *Config) any { return c.Bus.Stream }, "EVENTS"},
		{"age", "HINT_STREAM_MAX_AGE", "90m", age, 90 * time.Minute},
		{"age in days", "HINT_STREAM_MAX_AGE", "14d12h", age, 348 * time.Hour},
		{"unlimited age", "HINT_STREAM_MAX_AGE", "0", age, time.Duration(0)},
		{"bytes", "HINT_STREAM_MAX_BYTES", "1048576", bytes, int64(1 << 20)},
		{"bytes binary", "HINT_STREAM_MAX_BYTES", "2GiB", bytes, int64(2 << 30)},
		{"bytes decimal", "HINT_STREAM_MAX_BYTES", "512 mb", bytes, int64(512e6)},
		{"bytes without limit", "HINT_STREAM_MAX_BYTES", "-1", bytes, int64(-1)},
		{"replicas", "HINT_STREAM_REPLICAS", "3", func(c *Config) any { return c.Bus.StreamReplicas }, 3},
		{"store", "HINT_STORE", "FILE", func(c *Config) any { return c.Store.Kind }, "file"},
		{"store kv", "HINT_STORE", "KV", func(c *Config) any { return c.Store.Kind }, "kv"},
		{"retention of all", "HINT_SESSION_RETENTION", "0", func(c *Config) any { return c.Store.Retention }, time.Duration(0)},
		{"history", "HINT_HISTORY_LIMIT", "2", func(c *Config) any { return c.Store.HistoryLimit }, 2},
		{"http", "HINT_HTTP_ADDR", ":0", addr, HTTP{Addr: ":0", Fixed: true}},
		{"http, the default set", "HINT_HTTP_ADDR", "127.0.0.1:8377", addr, HTTP{Addr: "127.0.0.1:8377", Fixed: true}},
		{"http off", "HINT_HTTP_ADDR", "off", addr, HTTP{Fixed: true}},
		{"log json", "HINT_LOG_FORMAT", "json", func(c *Config) any { return c.Log.Format }, "json"},
		{"log debug", "HINT_LOG_LEVEL", "DEBUG", level, slog.LevelDebug},
		{"log warn", "HINT_LOG_LEVEL", "warning", level, slog.LevelWarn},
		{"log error", "HINT_LOG_LEVEL", "error", level, slog.LevelError},
		{"classifier local", "HINT_CLASSIFIER", "local", func(c *Config) any { return c.Classifier.Mode }, classify.ModeLocal},
		{"auto with a model", "HINT_MODEL", "openai/gpt", func(c *Config) any { return c.Classifier.Mode }, classify.ModeHedged},
		{"auto with a fallback", "HINT_MODEL_FALLBACK", "openai/gpt", func(c *Config) any { return c.Classifier.Mode }, classify.ModeHedged},
		{"embedding model", "HINT_EMBEDDING_MODEL", "ollama/nomic-embed-text", func(c *Config) any { return c.Classifier.Embedding }, "ollama/nomic-embed-text"},
		{"embedding model by default", "HINT_EMBEDDING_MODEL", "", func(c *Config) any { return c.Classifier.Embedding }, "builtin"},
		{"built-in embedding model", "HINT_EMBEDDING_MODEL", "builtin", func(c *Config) any { return c.Classifier.Embedding }, "builtin"},
		{"built-in embedding model in other case", "HINT_EMBEDDING_MODEL", "BuiltIn", func(c *Config) any { return c.Classifier.Embedding }, "builtin"},
		{"no embedding model", "HINT_EMBEDDING_MODEL", "off", func(c *Config) any { return c.Classifier.Embedding }, "off"},
		{"no embedding model in other case", "HINT_EMBEDDING_MODEL", "OFF", func(c *Config) any { return c.Classifier.Embedding }, "off"},
		{"embedding model alone", "HINT_EMBEDDING_MODEL", "openai/text-embedding-3-small", func(c *Config) any { return c.Classifier.Mode }, classify.ModeLocal},
		{"model with slashes", "HINT_MODEL", "openrouter/google/gemini:free", func(c *Config) any { return c.Classifier.Model }, "openrouter/google/gemini:free"},
		{"accept", "HINT_LOCAL_ACCEPT", "1", func(c *Config) any { return c.Classifier.LocalAccept }, 1.0},
		{"confidence", "HINT_MIN_CONFIDENCE", "0.25", func(c *Config) any { return c.Classifier.MinConfidence }, 0.25},
		{"no holdout", "HINT_HOLDOUT", "", func(c *Config) any { return c.Holdout }, 0.0},
		{"holdout", "HINT_HOLDOUT", "0.05", func(c *Config) any { return c.Holdout }, 0.05},
		{"prices", "HINT_PRICES", `{"openai/gpt":{"input":2.5,"cacheRead":0.25}}`, func(c *Config) any { return c.Prices }, map[string]payload.Price{"openai/gpt": {Input: 2.5, CacheRead: 0.25}}},
		{"agents", "HINT_AGENTS", " main, ops-* ,,main", agents, []string{"main", "ops-*"}},
		{"agents as JSON", "HINT_AGENTS", `["a,b"]`, agents, []string{"a,b"}},
		{"deny", "HINT_INTENT_DENY", `{"*":"CODE_*","m?":["A","B "]}`, deny, map[string][]string{"*": {"CODE_*"}, "m?": {"A", "B"}}},
		{"chat types", "HINT_ALLOWED_CHAT_TYPES", "Direct,unknown", func(c *Config) any { return c.Policy.ChatTypes }, []string{"direct", "unknown"}},
		{"chat ids", "HINT_ALLOWED_CHAT_IDS", "Telegram:X:1", func(c *Config) any { return c.Policy.AllowedChatIDs }, []string{"telegram:x:1"}},
		{"denied ids", "HINT_DENIED_CHAT_IDS", "A,b", func(c *Config) any { return c.Policy.DeniedChatIDs }, []string{"a", "b"}},
		{"query", "HINT_QUERY_MODE", "full", func(c *Config) any { return c.Query.Mode }, conversation.ModeFull},
		{"window in part", "HINT_CONTEXT_WINDOW", `{"user":{"turns":2}}`, window, conversation.Window{User: conversation.Side{Turns: 2, Chars: 500}, Assistant: conversation.Side{Turns: 3, Chars: 300}}},
		{"window clamped up", "HINT_CONTEXT_WINDOW", `{"user":{"turns":-1,"chars":1},"assistant":{"turns":-9,"chars":39.9}}`, window, conversation.Window{User: conversation.Side{Turns: 0, Chars: 40}, Assistant: conversation.Side{Turns: 0, Chars: 40}}},
		{"window clamped down", "HINT_CONTEXT_WINDOW", `{"user":{"turns":99,"chars":1e300},"assistant":{"turns":11,"chars":1001}}`, window, conversation.Window{User: conversation.Side{Turns: 20, Chars: 1000}, Assistant: conversation.Side{Turns: 10, Chars: 1000}}},
		{"timeout", "HINT_TIMEOUT_MS", "2500", timeout, 2500 * time.Millisecond},
		{"timeout clamped up", "HINT_TIMEOUT_MS", "-7", timeout, 500 * time.Millisecond},
		{"timeout clamped down", "HINT_TIMEOUT_MS", "99999999999999999999999", timeout, time.Minute},
		{"intents", "HINT_INTENTS_DIR", dir, func(c *Config) any { return c.IntentsDir }, dir},
		{"prompts in part", "HINT_COMPLEXITY_PROMPTS", `{"low":"Be brief."}`, func(c *Config) any { return c.Complexity }, render.Prompts{Low: "Be brief."}},
		{"zone", "HINT_USER_TIMEZONE", "Europe/Berlin", func(c *Config) any { return c.Timezone.Location.String() }, "Europe/Berlin"},
		{"learning", "HINT_LEARN", "auto", func(c *Config) any { return c.Learn }, "auto"},
		{"redaction", "HINT_REDACT", "strict", func(c *Config) any { return c.Redact }, "strict"},
		{"in flight", "HINT_MAX_INFLIGHT", "1", func(c *Config) any { return c.Classifier.MaxInflight }, 1},
		{
			"hook times", "HINT_HOOK_TIMEOUTS", `{"before_prompt_build":600000,"before_dispatch":1}`, func(c *Config) any { return c.HookTimeouts },
			map[string]time.Duration{"before_prompt_build": 10 * time.Minute, "before_dispatch": time.Millisecond},
		},
		{"provider", "HINT_PROVIDERS", `{"mine":{"baseUrl":"http://127.0.0.1:1/v1"}}`, providers, map[string]provider.Config{"mine": {BaseURL: "http://127.0.0.1:1/v1"}}},
		{"part of a built-in provider", "HINT_PROVIDERS", `{"anthropic":{"apiKeyEnv":"MY_KEY"}}`, providers, map[string]provider.Config{"anthropic": {APIKeyEnv: "MY_KEY"}}},
		{
			"triage off", "HINT_TRIAGE", `{"enabled":false,"triageModel":"a/b","quiet":{"messages":3,"per":"30m"},"groups":["g*"],"groupPrompts":{"g":"p"},"examples":2.0,"botName":null}`,
			triageOf,
			triage.Settings{
				Model: "a/b", Quiet: triage.QuietGroups{Messages: 3, Per: 30 * time.Minute}, Groups: []string{"g*"}, GroupPrompts: map[string]string{"g": "p"},
				Threshold: 5, Examples: 2, Recall: 10, MaxTokens: 10, Timeout: 5 * time.Second, LogDecisions: true,
			},
		},
		{"triage with a part of quiet", "HINT_TRIAGE", `{"quiet":{"messages":2}}`, func(c *Config) any { return triage.Declared.In(c.Parts).Quiet }, triage.QuietGroups{Messages: 2, Per: time.Hour}},
		{
			"triage on, with all fields", "HINT_TRIAGE", `{"enabled":true,"triageModel":"a/b","triagePrompt":"p","groupPrompts":{"g":"p"},"groups":["g*"],"excludeGroups":[],"botName":"b",
			"bypassKeywords":["k"],"useConfidenceScores":true,"confidenceThreshold":10,"historyCount":20,"quiet":{"messages":0,"per":"1h"},"examples":20,"recallSkipped":50,"local":true,
			"maxTriageTokens":1,"timeoutMs":1,"logDecisions":false}`, triageOf,
			triage.Settings{
				Enabled: true, Model: "a/b", Prompt: "p", GroupPrompts: map[string]string{"g": "p"}, Groups: []string{"g*"}, ExcludeGroups: []string{}, BotName: "b",
				Keywords: []string{"k"}, Scores: true, Threshold: 10, History: 20, Quiet: triage.QuietGroups{Messages: 0, Per: time.Hour}, Examples: 20, Recall: 50, Trained: true,
				MaxTokens: 1, Timeout: time.Millisecond,
			},
		},
		{"knowhub off", "HINT_KNOWHUB", `{"privacyMode":"relaxed"}`, knowHubOf, knowhub.Settings{
			Listen: "127.0.0.1:8000", RemindAtStart: true, RemindEvery: 3, Trigger: "agent_end", MinConfidence: 0.7, Approval: true, Shared: true,
		}},
		{
			"knowhub on, with all fields", "HINT_KNOWHUB", `{"enabled":true,"listen":"127.0.0.1:0","token":null,"submittedBy":"s","remindAtStart":false,"remindEvery":0,"recall":3,
			"enableServerExtraction":true,"extractionTrigger":"before_compaction","privacyMode":"strict","minConfidence":0.5,"requireApproval":false,"model":"a/b","shareExperiences":false}`,
			knowHubOf,
			knowhub.Settings{
				Enabled: true, Listen: "127.0.0.1:0", SubmittedBy: "s", Recall: 3, Extract: true, Trigger: "before_compaction",
				Strict: true, MinConfidence: 0.5, Model: "a/b",
			},
		},
		{"knowhub with an IPv6 loopback address", "HINT_KNOWHUB", `{"enabled":true,"listen":"[::1]:8000"}`, func(c *Config) any { return knowhub.Declared.In(c.Parts).Listen }, "[::1]:8000"},
		{"knowhub everywhere, with a token", "HINT_KNOWHUB", `{"enabled":true,"listen":":8000","token":"t"}`, func(c *Config) any { return knowhub.Declared.In(c.Parts).Token }, "t"},
		{"knowhub everywhere, but off", "HINT_KNOWHUB", `{"listen":"0.0.0.0:8000"}`, func(c *Config) any { return knowhub.Declared.In(c.Parts).Enabled }, false},
		{"authentication", "HINT_AUTH", "OFF", func(c *Config) any { return c.Auth }, "off"},
		{"public URLs", "HINT_HTTP_PUBLIC", "https://Hints.Example.org/intent/, http://10.0.0.5:8080", func(c *Config) any { return c.HTTP.Public }, []string{"https://hints.example.org/intent", "http://10.0.0.5:8080"}},
		{"token of the pages", "HINT_HTTP_TOKEN", "t", func(c *Config) any { return c.HTTP.Token }, "t"},
		{"empty is not set", "HINT_TIMEOUT_MS", "", timeout, 3 * time.Second},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c, _, err := load(t, map[string]string{tc.name: tc.value})
			require.NoError(t, err)
			require.Equal(t, tc.want, tc.got(c))
		})
	}
}

func TestATildeIsTheHomeDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(home, "intents"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "plugin.json5"), []byte(`{agents: "ops", natsConf: "~/nats.conf"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "nats.conf"), nil, 0o600))
	c, _, err := load(t, map[string]string{"HINT_CONFIG": "~/plugin.json5", "HINT_DATA_DIR": "~/state", "HINT_INTENTS_DIR": "~/intents"})
	require.NoError(t, err)
	require.Equal(t, []string{"ops"}, c.Policy.Agents)
	require.Equal(t, []string{
		filepath.Join(home, "plugin.json5"), filepath.Join(home, "nats.conf"), filepath.Join(home, "state"),
		filepath.Join(home, "intents"), filepath.Join(home, "state", "sessions"),
	}, []string{c.File, c.Bus.Conf, c.DataDir, c.IntentsDir, c.Store.SessionsDir})
	_, _, err = load(t, map[string]string{"HINT_INTENTS_DIR": "~/none"})
	require.ErrorContains(t, err, "~/none")
}

func TestBadValues(t *testing.T) {
	file := write(t, "file", "x")
	long := strings.Repeat("x", 300)
	for _, tc := range []struct{ row, name, value, want string }{
		{"only white space", "HINT_AGENTS", "  ", "must not be blank"},
		{"only white space for a file", "HINT_CONFIG", "   ", "must not be blank"},
		{"only white space for a directory", "HINT_DATA_DIR", " ", "must not be blank"},
		{"only white space in a file", "HINT_CONFIG", write(t, "blank", `{"agents": " "}`), "must not be blank"},
		{"quiet longer than history is kept", "HINT_TRIAGE", `{"quiet": {"messages": 1, "per": "61m"}}`, "at most an hour"},
		{"scheme", "HINT_NATS_URL", "http://h:4222", "nats://"},
		{"no host", "HINT_NATS_URL", "nats://", "with a host"},
		{"no server", "HINT_NATS_URL", ",", "no address given"},
		{"a prefix that is the default inbox", "HINT_SUBJECT_PREFIX", "_INBOX", "never sent"},
		{"a prefix in the default inbox", "HINT_SUBJECT_PREFIX", "_INBOX.a", "never sent"},
		{"an inbox in the default prefix", "HINT_NATS_INBOX_PREFIX", "openclaw.in", "HINT_SUBJECT_PREFIX (openclaw) nor HINT_NATS_INBOX_PREFIX (openclaw.in)"},
		{"an inbox that is a prefix of NATS", "HINT_NATS_INBOX_PREFIX", "$JS.in", "must not begin with $"},
		{"server port", "HINT_NATS_URL", "nats://h:70000", "1 to 65535"},
		{"server port text", "HINT_NATS_URL", "nats://h:abc", "nats://"},
		{"an IPv6 address without brackets", "HINT_NATS_URL", "nats://::1:4222", "brackets"},
		{"creds without a seed", "HINT_NATS_CREDS", file, "must be a credentials file with a token and a seed"},
		{"creds missing", "HINT_NATS_CREDS", "/nowhere/user.creds", "no such file"},
		{"creds directory", "HINT_NATS_CREDS", t.TempDir(), "not a regular file"},
		{"nkey missing", "HINT_NATS_NKEY", "/nowhere/user.nk", "no such file"},
		{"nkey without a seed", "HINT_NATS_NKEY", file, "must be a file with the seed"},
		{"authority missing", "HINT_NATS_CA", "/nowhere/ca.pem", "no such file"},
		{"authority without a certificate", "HINT_NATS_CA", file, "at least one certificate"},
		{"certificate missing", "HINT_NATS_CERT", "/nowhere/c.pem", "no such file"},
		{"certificate without its key", "HINT_NATS_CERT", file, "HINT_NATS_KEY"},
		{"key without its certificate", "HINT_NATS_KEY", file, "HINT_NATS_CERT"},
		{"inbox with a wildcard", "HINT_NATS_INBOX_PREFIX", "_INBOX.>", "tokens joined by dots"},
		{"inbox with a dot at the end", "HINT_NATS_INBOX_PREFIX", "_INBOX.", "tokens joined by dots"},
		{"open", "HINT_ALLOW_OPEN", "perhaps", "true or false"},
		{"conf missing", "HINT_NATS_CONF", "/nowhere/nats.conf", "no such file"},
		{"port 0", "HINT_NATS_PORT", "0", "1 to 65535"},
		{"port high", "HINT_NATS_PORT", "65536", "1 to 65535"},
		{"port text", "HINT_NATS_PORT", "http", "1 to 65535"},
		{"data is a file", "HINT_DATA_DIR", file, "must be a directory"},
		{"data in a file", "HINT_DATA_DIR", filepath.Join(file, "data"), "must be a directory"},
		{"sessions is a file", "HINT_SESSIONS_DIR", file, "must be a directory"},
		{"prefix wildcard", "HINT_SUBJECT_PREFIX", "a.>", "tokens joined by dots"},
		{"prefix empty token", "HINT_SUBJECT_PREFIX", "a..b", "tokens joined by dots"},
		{"prefix space", "HINT_SUBJECT_PREFIX", "a b", "tokens joined by dots"},
		{"prefix of the server", "HINT_SUBJECT_PREFIX", "$JS", "begin with $"},
		{"prefix long", "HINT_SUBJECT_PREFIX", long, "255 bytes"},
		{"group dot", "HINT_QUEUE_GROUP", "a.b", "without white space"},
		{"group wildcard", "HINT_QUEUE_GROUP", "a*", "without white space"},
		{"group space", "HINT_QUEUE_GROUP", "a b", "without white space"},
		{"group long", "HINT_QUEUE_GROUP", long[:248], "247 bytes"},
		{"stream dot", "HINT_STREAM", "A.B", "letters A–Z"},
		{"stream with a letter that a bucket cannot have", "HINT_STREAM", "é", "letters A–Z"},
		{"stream long", "HINT_STREAM", long[:239], "238 letters"},
		{"age", "HINT_STREAM_MAX_AGE", "two weeks", "duration"},
		{"age without a unit", "HINT_STREAM_MAX_AGE", "336", "duration"},
		{"age negative", "HINT_STREAM_MAX_AGE", "-1h", "negative"},
		{"age short", "HINT_STREAM_MAX_AGE", "1ms", "at least 100ms"},
		{"age too long", "HINT_STREAM_MAX_AGE", "99999d2562047h", "duration"},
		{"bytes", "HINT_STREAM_MAX_BYTES", "lots", "number of bytes"},
		{"bytes zero", "HINT_STREAM_MAX_BYTES", "0", "greater than 0"},
		{"retention of a nanosecond", "HINT_SESSION_RETENTION", "1ns", "100ms"},
		{"bytes overflow", "HINT_STREAM_MAX_BYTES", "99999999TiB", "number of bytes"},
		{"replicas none", "HINT_STREAM_REPLICAS", "0", "from 1 to 5"},
		{"replicas many", "HINT_STREAM_REPLICAS", "6", "from 1 to 5"},
		{"store", "HINT_STORE", "redis", "must be one of file, kv"},
		{"retention", "HINT_SESSION_RETENTION", "forever", "duration"},
		{"history", "HINT_HISTORY_LIMIT", "-1", "whole number"},
		{"history fraction", "HINT_HISTORY_LIMIT", "1.5", "whole number"},
		{"http without a port", "HINT_HTTP_ADDR", "localhost", "host:port"},
		{"public name without a scheme", "HINT_HTTP_PUBLIC", "hints.example.org", "such as https://hints.example.org/intent"},
		{"public URL with a query", "HINT_HTTP_PUBLIC", "https://h/?a=b", "at most a path"},
		{"public URL with dots", "HINT_HTTP_PUBLIC", "https://h/a/../b", "at most a path"},
		{"http port", "HINT_HTTP_ADDR", "localhost:99999", "host:port"},
		{"log format", "HINT_LOG_FORMAT", "xml", "auto, text, json"},
		{"log level", "HINT_LOG_LEVEL", "loud", "debug, info, warn, error"},
		{"config missing", "HINT_CONFIG", "/nowhere/openclaw.json", "no such file"},
		{"classifier", "HINT_CLASSIFIER", "fast", "must be one of local, llm, hedged, cascade, auto"},
		{"llm without a model", "HINT_CLASSIFIER", "llm", "HINT_MODEL"},
		{"hedged without a model", "HINT_CLASSIFIER", "hedged", "HINT_MODEL"},
		{"cascade without a model", "HINT_CLASSIFIER", "cascade", "HINT_MODEL"},
		{"accept", "HINT_LOCAL_ACCEPT", "1.1", "0 to 1"},
		{"accept NaN", "HINT_LOCAL_ACCEPT", "NaN", "0 to 1"},
		{"confidence", "HINT_MIN_CONFIDENCE", "-0.1", "0 to 1"},
		{"confidence text", "HINT_MIN_CONFIDENCE", "high", "0 to 1"},
		{"two triage fields", "HINT_TRIAGE", `{"enable":true,"examples":21}`, `unknown field "enable"; examples must be a whole number from 0 to 20`},
		{"triage field twice", "HINT_TRIAGE", `{"enabled":true,"quiet":{},"enabled":false}`, `field "enabled" occurs twice`},
		{"triage inner field twice", "HINT_TRIAGE", `{"quiet":{"per":"1h","per":"2h"}}`, `field "per" occurs twice`},
		{"prompts field twice", "HINT_COMPLEXITY_PROMPTS", `{"low":"x","low":"y"}`, `field "low" occurs twice`},
		{"triage field", "HINT_TRIAGE", `{"enable":true}`, `unknown field "enable"`},
		{"triage type", "HINT_TRIAGE", `{"historyCount":"3"}`, "must be a JSON object with valid fields: historyCount must be a whole number from 0 to 20"},
		{"triage range", "HINT_TRIAGE", `{"historyCount":21}`, "0 to 20"},
		{"triage threshold", "HINT_TRIAGE", `{"confidenceThreshold":0}`, "1 to 10"},
		{"triage quiet", "HINT_TRIAGE", `{"quiet":{"per":"soon"}}`, "quiet must be"},
		{"triage model", "HINT_TRIAGE", `{"triageModel":"gpt"}`, "provider/model"},
		{"triage tokens", "HINT_TRIAGE", `{"maxTriageTokens":0}`, "from 1 to"},
		{"triage time", "HINT_TRIAGE", `{"timeoutMs":0}`, "from 1 to"},
		{"triage no object", "HINT_TRIAGE", `true`, "begin with {"},
		{"knowhub field", "HINT_KNOWHUB", `{"port":1}`, `unknown field "port"`},
		{"knowhub type", "HINT_KNOWHUB", `{"requireApproval":"no"}`, "requireApproval must be true or false"},
		{"knowhub privacy", "HINT_KNOWHUB", `{"privacyMode":"none"}`, "strict or relaxed"},
		{"knowhub trigger", "HINT_KNOWHUB", `{"extractionTrigger":"x"}`, "agent_end or before_compaction"},
		{"knowhub listen", "HINT_KNOWHUB", `{"listen":"x"}`, "host:port"},
		{"knowhub everywhere without a token", "HINT_KNOWHUB", `{"enabled":true,"listen":"0.0.0.0:8000"}`, "listen is not a loopback address, so"},
		{"knowhub on any address without a token", "HINT_KNOWHUB", `{"enabled":true,"listen":":8000","token":""}`, "so token"},
		{"knowhub at a name without a token", "HINT_KNOWHUB", `{"enabled":true,"listen":"hub.example:8000"}`, "listen is not a loopback address"},
		{"hook time zero", "HINT_HOOK_TIMEOUTS", `{"before_dispatch":0}`, "1 to 600000"},
		{"hook time high", "HINT_HOOK_TIMEOUTS", `{"before_dispatch":600001}`, "1 to 600000"},
		{"hook time fraction", "HINT_HOOK_TIMEOUTS", `{"before_dispatch":1.5}`, "whole numbers"},
		{"hook time text", "HINT_HOOK_TIMEOUTS", `{"before_dispatch":"5"}`, "whole numbers"},
		{"hook times no object", "HINT_HOOK_TIMEOUTS", `5`, "begin with {"},
		{"price below zero", "HINT_PRICES", `{"a/b":{"input":-1}}`, `"a/b" is`},
		{"price beyond all bounds", "HINT_PRICES", `{"a/b":{"output":1e10}}`, `"a/b" is`},
		{"price of no model", "HINT_PRICES", `{"gpt":{"input":1}}`, `"gpt" is not provider/model`},
		{"price of another kind", "HINT_PRICES", `{"a/b":{"outputs":1}}`, `outputs`},
		{"deny syntax", "HINT_INTENT_DENY", `{"a":}`, "at byte 6"},
		{"deny number", "HINT_INTENT_DENY", `{"a":5}`, `"a" is "5"`},
		{"deny null in a list", "HINT_INTENT_DENY", `{"a":[null]}`, `"a" is`},
		{"deny cut short", "HINT_INTENT_DENY", `{"a":"b"`, "unexpected EOF"},
		{"deny and more", "HINT_INTENT_DENY", `{"a":"b"} x`, "after the object"},
		{"model", "HINT_MODEL", "gpt-4", "provider/model"},
		{"model without a name", "HINT_MODEL", "openai/", "provider/model"},
		{"fallback", "HINT_MODEL_FALLBACK", "/gpt", "provider/model"},
		{"embedding model", "HINT_EMBEDDING_MODEL", "small", "builtin, off or provider/model"},
		{"provider api", "HINT_PROVIDERS", `{"p":{"baseUrl":"http://h","api":"soap"}}`, `api is "soap"`},
		{"provider field", "HINT_PROVIDERS", `{"p":{"url":"x"}}`, `unknown field "url"`},
		{"provider type", "HINT_PROVIDERS", `{"p":{"baseUrl":5}}`, "baseUrl is a number"},
		{"provider address", "HINT_PROVIDERS", `{"p":{"baseUrl":"ftp://h"}}`, "http or https URL"},
		{"provider without address", "HINT_PROVIDERS", `{"p":{}}`, "baseUrl is missing"},
		{"provider key", "HINT_PROVIDERS", `{"openai":{"apiKeyEnv":"not a name"}}`, "name of an environment variable"},
		{"provider no object", "HINT_PROVIDERS", `{"p":"x"}`, `of "p": it does not begin with {`},
		{"providers list", "HINT_PROVIDERS", `[]`, "begin with {"},
		{"chat type", "HINT_ALLOWED_CHAT_TYPES", "direct,forum", `"forum"`},
		{"query", "HINT_QUERY_MODE", "all", "message, recent, full"},
		{"window field", "HINT_CONTEXT_WINDOW", `{"users":{}}`, `unknown field "users"`},
		{"window inner field", "HINT_CONTEXT_WINDOW", `{"user":{"turn":1}}`, `unknown field "turn"`},
		{"window type", "HINT_CONTEXT_WINDOW", `{"user":{"turns":"5"}}`, "turns is a string"},
		{"timeout", "HINT_TIMEOUT_MS", "3s", "number of milliseconds"},
		{"timeout NaN", "HINT_TIMEOUT_MS", "nan", "number of milliseconds"},
		{"intents", "HINT_INTENTS_DIR", "/nowhere", "no such file"},
		{"prompts field", "HINT_COMPLEXITY_PROMPTS", `{"extreme":"x"}`, `unknown field "extreme"`},
		{"prompts type", "HINT_COMPLEXITY_PROMPTS", `{"low":1}`, "low is a number"},
		{"zone", "HINT_USER_TIMEZONE", "Mars/Olympus", "IANA"},
		{"zone Local", "HINT_USER_TIMEZONE", "Local", "IANA"},
		{"zone path", "HINT_USER_TIMEZONE", "../../etc/passwd", "IANA"},
		{"learning", "HINT_LEARN", "always", "must be one of off, auto"},
		{"redaction", "HINT_REDACT", "relaxed", "must be one of off, strict"},
		{"in flight", "HINT_MAX_INFLIGHT", "0", "whole number"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c, _, err := load(t, map[string]string{tc.name: tc.value})
			require.Nil(t, c)
			var problems Errors
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1)
			line := err.Error()
			require.NotContains(t, line, "\n")
			require.True(t, strings.HasPrefix(line, tc.name+"="), line)
			require.Contains(t, line, tc.want)
			require.Contains(t, line, ": must ")
			if tc.name == "HINT_PROVIDERS" {
				tc.value = hideProviders(tc.value) // Whatever may be a key is not shown.
			}
			if len(tc.value) < maxShown {
				require.Contains(t, line, tc.value)
			}
		})
	}
}

// White space around the value of a variable is cut; in JSON it is not.
func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		row, token string
		ok         bool
	}{
		{"none", "", true},
		{"a word", "s3cret", true},
		{"words", "correct horse battery", true},
		{"other letters", "schlüssel", true},
		{"blank", "  ", false},
		{"white space around it", " s3cret", false},
		{"a line break", "s3\ncret", false},
	} {
		t.Run(tt.row, func(t *testing.T) {
			hub, err := json.Marshal(map[string]any{"enabled": true, "token": tt.token})
			require.NoError(t, err)
			_, _, err = load(t, map[string]string{"HINT_KNOWHUB": string(hub)})
			if tt.ok {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "must be text without white space around it")
			}
		})
	}
}

func TestACertificateAndItsKeyBelongTogether(t *testing.T) {
	authority := tlstest.New(t)
	cert, key := authority.Issue("consumer")
	_, other := authority.Issue("gateway")
	c, _, err := load(t, map[string]string{"HINT_NATS_CERT": cert, "HINT_NATS_KEY": key})
	require.NoError(t, err)
	require.Equal(t, []string{cert, key}, []string{c.Bus.Cert, c.Bus.Key})
	for name, wrong := range map[string]string{"another's key": other, "no key": cert} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, map[string]string{"HINT_NATS_CERT": cert, "HINT_NATS_KEY": wrong})
			var problems Errors
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1)
			require.Equal(t, "HINT_NATS_CERT", problems[0].Variable)
			require.Contains(t, problems[0].Allowed, "HINT_NATS_KEY")
		})
	}
}

func TestPagesForThePublicWithoutATokenAreAWarning(t *testing.T) {
	for name, settings := range map[string]map[string]string{"made": nil, "set": {"HINT_AUTH": "off", "HINT_HTTP_TOKEN": "t"}, "none": {"HINT_AUTH": "off"}} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"HINT_HTTP_PUBLIC": "https://hints.example.org/intent"}
			maps.Copy(all, settings)
			_, warnings, err := load(t, all)
			require.NoError(t, err)
			if name != "none" {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			require.Equal(t, "HINT_HTTP_PUBLIC", warnings[0].Variable)
			require.Contains(t, warnings[0].Message, "the reverse proxy must ask who comes")
		})
	}
}

func TestAnOpenHTTPAddressIsAWarning(t *testing.T) {
	for addr, open := range map[string]bool{"0.0.0.0:8377": true, ":8377": true, "[::]:8377": true, "10.0.0.1:8377": true, "127.0.0.1:8377": false, "localhost:8377": false, "[::1]:0": false, "off": false} {
		t.Run(addr, func(t *testing.T) {
			_, warnings, err := load(t, map[string]string{"HINT_HTTP_ADDR": addr})
			require.NoError(t, err)
			if !open {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			require.Equal(t, "HINT_HTTP_ADDR", warnings[0].Variable)
			require.Contains(t, warnings[0].Message, addr)
			_, warnings, err = load(t, map[string]string{"HINT_HTTP_ADDR": addr, "HINT_ALLOW_OPEN": "1"})
			require.NoError(t, err)
			require.Empty(t, warnings)
		})
	}
}

func TestEveryWrongValueIsReportedAtOnce(t *testing.T) {
	_, _, err := load(t, map[string]string{
		"HINT_TIMEOUT_MS":    "soon",
		"HINT_CLASSIFIER":    "fast",
		"HINT_AGENTS":        "main",
		"HINT_MODEL":         "gpt",
		"HINT_LOG_LEVEL":     "loud\nHINT_FAKE=\"x\"",
		"HINT_HISTORY_LIMIT": "many",
		"HINT_FRAMES":        "policy-text,/a(b/",
	})
	require.Error(t, err)
	require.Equal(t, []string{
		`HINT_CLASSIFIER="fast": must be one of local, llm, hedged, cascade, auto`,
		`HINT_FRAMES="policy-text,/a(b/": must be a list of tag names and of RE2 patterns between slashes (pattern /a(b/: error parsing regexp: missing closing ): ` + "`a(b`)",
		`HINT_HISTORY_LIMIT="many": must be a whole number from 0 to 2147483647`,
		`HINT_LOG_LEVEL="loud\nHINT_FAKE=\"x\"": must be one of debug, info, warn, error`,
		`HINT_MODEL="gpt": must be provider/model`,
		`HINT_TIMEOUT_MS="soon": must be a number of milliseconds; it is clamped to 500–60000`,
	}, strings.Split(err.Error(), "\n"))
}

func TestAWrongModelIsNotReportedAsMissing(t *testing.T) {
	_, _, err := load(t, map[string]string{"HINT_CLASSIFIER": "llm", "HINT_MODEL": "gpt"})
	require.EqualError(t, err, `HINT_MODEL="gpt": must be provider/model`)
}

func TestUnprefixedVariablesAreNotOurs(t *testing.T) {
	t.Setenv("MODEL", "openai/gpt")
	t.Setenv("AGENTS", "nobody")
	c, _, err := load(t, nil)
	require.NoError(t, err)
	require.Empty(t, c.Classifier.Model)
	require.Equal(t, []string{"*"}, c.Policy.Agents)
}

func TestUnknownVariablesAreWarnings(t *testing.T) {
	_, warnings, err := load(t, map[string]string{"HINT_TIMEOUT": "secret-value", "HINT_AGENT": "secret-value", "HINT_AGENTS": "main"})
	require.NoError(t, err)
	require.Equal(t, []Warning{
		{Variable: "HINT_AGENT", Message: "no such variable, see consumer run --help"},
		{Variable: "HINT_TIMEOUT", Message: "no such variable, see consumer run --help"},
	}, warnings)
}

func TestDoubtsAreWarnings(t *testing.T) {
	const mine = `{"mine":{"baseUrl":"http://127.0.0.1:1"}}`
	for _, tc := range []struct {
		row      string
		settings map[string]string
		want     []string // the warnings
	}{
		{"model of an unknown provider", map[string]string{"HINT_MODEL": "mine/small"}, []string{`HINT_MODEL: "mine/small" is not asked: model cannot be resolved: provider "mine" is not configured`}},
		{"model of a configured provider", map[string]string{"HINT_MODEL": "mine/small", "HINT_PROVIDERS": mine}, nil},
		{"model without its key", map[string]string{"HINT_MODEL": "openai/gpt"}, []string{`HINT_MODEL: "openai/gpt" is not asked: model cannot be resolved: provider "openai" needs a key in the environment variable OPENAI_API_KEY`}},
		{"model with its key", map[string]string{"HINT_MODEL": "openai/gpt", "OPENAI_API_KEY": "k"}, nil},
		{
			"fallback of an unknown provider",
			map[string]string{"HINT_MODEL": "mine/small", "HINT_MODEL_FALLBACK": "yours/small", "HINT_PROVIDERS": mine},
			[]string{`HINT_MODEL_FALLBACK: "yours/small" is not asked: model cannot be resolved: provider "yours" is not configured`},
		},
		{"embedding model of an unknown provider", map[string]string{"HINT_EMBEDDING_MODEL": "mine/small"}, []string{`HINT_EMBEDDING_MODEL: "mine/small" is not asked: model cannot be resolved: provider "mine" is not configured`}},
		{
			"embedding model of a provider without embeddings",
			map[string]string{"HINT_EMBEDDING_MODEL": "anthropic/small"},
			[]string{`HINT_EMBEDDING_MODEL: "anthropic/small" is not asked: model cannot be resolved: provider "anthropic" speaks anthropic-messages, which has no embeddings; it must speak openai-completions`},
		},
		{"embedding model of a configured provider", map[string]string{"HINT_EMBEDDING_MODEL": "mine/small", "HINT_PROVIDERS": mine}, nil},
		{"parts without a model of their own", map[string]string{"HINT_TRIAGE": `{"enabled":true}`, "HINT_KNOWHUB": `{"enabled":true}`}, nil},
		{
			"extraction without a model",
			map[string]string{"HINT_KNOWHUB": `{"enabled":true,"enableServerExtraction":true}`},
			[]string{`HINT_KNOWHUB: "enableServerExtraction" has no effect: there is no model, neither its own nor HINT_MODEL`},
		},
		{
			"a knowhub model that cannot be asked",
			map[string]string{"HINT_KNOWHUB": `{"enabled":true,"enableServerExtraction":true,"model":"nobody/small"}`},
			[]string{`HINT_KNOWHUB: "nobody/small" is not asked: model cannot be resolved: provider "nobody" is not configured`},
		},
		{"a knowhub model of a part that is off", map[string]string{"HINT_KNOWHUB": `{"model":"nobody/small"}`}, nil},
		{
			"a triage model that cannot be asked",
			map[string]string{"HINT_TRIAGE": `{"enabled":true,"triageModel":"nobody/small"}`},
			[]string{`HINT_TRIAGE: "nobody/small" is not asked: model cannot be resolved: provider "nobody" is not configured`},
		},
		{"a triage model of a gate that is off", map[string]string{"HINT_TRIAGE": `{"triageModel":"nobody/small"}`}, nil},
		{
			"a size without its unit",
			map[string]string{"HINT_STREAM_MAX_BYTES": "512"},
			[]string{`HINT_STREAM_MAX_BYTES: "512" bytes hold hardly any event, and the stream drops the others; a unit may be missing`},
		},
		{"the least size without a warning", map[string]string{"HINT_STREAM_MAX_BYTES": "64KiB"}, nil},
		{
			"timeout of an observation hook",
			map[string]string{"HINT_HOOK_TIMEOUTS": `{"agent_end":5,"before_dispatch":5}`},
			[]string{`HINT_HOOK_TIMEOUTS: "agent_end" is not a hook that a gateway waits for; its timeout has no effect`},
		},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", "")
			_, warnings, err := load(t, tc.settings)
			require.NoError(t, err)
			var got []string
			for _, w := range warnings {
				got = append(got, w.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAWrongProviderIsOneError(t *testing.T) {
	_, _, err := load(t, map[string]string{"HINT_EMBEDDING_MODEL": "mine/small", "HINT_PROVIDERS": `{"mine":{}}`})
	require.ErrorContains(t, err, "HINT_PROVIDERS")
	require.NotContains(t, err.Error(), "HINT_EMBEDDING_MODEL")
}

func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2hunter2"
	creds := write(t, "user.creds", credentials(secret, newSeed(t)))
	for _, tc := range []struct{ row, name, value string }{
		{"password of a server", "HINT_NATS_URL", "http://bob:" + secret + "@h"},
		{"password without a scheme", "HINT_NATS_URL", "bob:" + secret + "@h:abc"},
		{"token of a server", "HINT_NATS_URL", "nats://" + secret + "@h:99999"},
		{"password with a slash", "HINT_NATS_URL", "nats://bob:x/" + secret + "@h:1"},
		{"key instead of its variable", "HINT_PROVIDERS", `{"p":{"baseUrl":"https://h","apiKey":"` + secret + `"}}`},
		{"key under any name", "HINT_PROVIDERS", `{"p":{"baseUrl":"https://h","bearing":"` + secret + `"}}`},
		{"key in broken JSON", "HINT_PROVIDERS", `{"p":{"apiKey":"` + secret},
		{"key as the variable", "HINT_PROVIDERS", `{"openai":{"apiKeyEnv":"sk-` + secret + `"}}`},
		{"password of a provider", "HINT_PROVIDERS", `{"p":{"baseUrl":"ftp://bob:` + secret + `@h"}}`},
		{"key as a model", "HINT_MODEL", "sk-" + secret},
		{"token of knowhub", "HINT_KNOWHUB", `{"port":1,"token":"` + secret + `"}`},
		{"token with an escape", "HINT_KNOWHUB", `{"port":1,"token":"a\"` + secret + `"}`},
		{"token of knowhub that no header takes", "HINT_KNOWHUB", `{"enabled":true,"listen":":8000","token":"` + secret + ` "}`},
		{"password of a public URL", "HINT_HTTP_PUBLIC", "https://bob:" + secret + "@h"},
		{"authentication by halves", "HINT_AUTH", "maybe"},
		{"token of the pages that no header takes", "HINT_HTTP_TOKEN", secret + "\n" + secret},
		{"creds as data", "HINT_DATA_DIR", creds},
	} {
		t.Run(tc.row, func(t *testing.T) {
			_, _, err := load(t, map[string]string{tc.name: tc.value})
			require.Error(t, err)
			require.NotContains(t, err.Error(), secret)
			require.True(t, strings.HasPrefix(err.Error(), tc.name+"="))
		})
	}

	c, _, err := load(t, map[string]string{
		"HINT_NATS_URL":   "nats://bob:" + secret + "@a:4222,carol:" + secret + "@b",
		"HINT_NATS_CREDS": creds,
		"HINT_PROVIDERS":  `{"p":{"baseUrl":"https://h/v1","apiKeyEnv":"P_KEY"}}`,
		"HINT_KNOWHUB":    `{"token":"` + secret + `"}`,
		"HINT_HTTP_TOKEN": secret,
		"HINT_MODEL":      "p/m",
	})
	require.NoError(t, err)
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("starting", "config", c)
	require.NotContains(t, out.String(), secret)
	for _, want := range []string{`"natsUrl":"nats://***@a:4222,nats://***@b"`, `"natsCreds":`, "P_KEY", `"model":"p/m"`} {
		require.Contains(t, out.String(), want)
	}
}

func TestALogShowsWhatDiffersFromTheDefaults(t *testing.T) {
	for _, tc := range []struct {
		row      string
		settings map[string]string
		want     string // the attributes as JSON
	}{
		{"nothing is set", nil, ``},
		{"defaults that are set", map[string]string{
			"HINT_STREAM": "OPENCLAW_EVENTS", "HINT_TIMEOUT_MS": "3000", "HINT_CLASSIFIER": "auto", "HINT_HOOK_TIMEOUTS": "{}",
			"HINT_SESSIONS_DIR": "data/sessions", "HINT_CONTEXT_WINDOW": `{"user":{"turns":5}}`, "HINT_STREAM_MAX_BYTES": "1GiB",
		}, ``},
		{"numbers and durations", map[string]string{"HINT_NATS_PORT": "-1", "HINT_TIMEOUT_MS": "2500"}, `{"natsPort":"-1","timeoutMs":"2.5s"}`},
		{"what follows from another setting", map[string]string{"HINT_DATA_DIR": "d", "HINT_MODEL": "p/m"}, `{"dataDir":"d","model":"p/m"}`},
		{"other than what follows from a model", map[string]string{"HINT_CLASSIFIER": "local", "HINT_MODEL": "p/m"}, `{"classifier":"local","model":"p/m"}`},
		{"the metrics off", map[string]string{"HINT_HTTP_ADDR": "off"}, `{"httpAddr":"off"}`},
		{"a zone", map[string]string{"HINT_USER_TIMEZONE": "Asia/Taipei"}, `{"userTimezone":"Asia/Taipei"}`},
		{"objects", map[string]string{"HINT_INTENT_DENY": `{"a*":["CODE_*"]}`}, `{"intentDeny":"{\"a*\":[\"CODE_*\"]}"}`},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Setenv("TZ", "Europe/Berlin")
			c, _, err := load(t, tc.settings)
			require.NoError(t, err)
			var out bytes.Buffer
			slog.New(slog.NewJSONHandler(&out, nil)).Info("starting", "config", c)
			var line struct{ Config json.RawMessage }
			require.NoError(t, json.Unmarshal(out.Bytes(), &line))
			require.Equal(t, tc.want, string(line.Config))
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	_, _, err := load(t, map[string]string{"HINT_QUERY_MODE": strings.Repeat("é", 5000)})
	require.Error(t, err)
	require.Less(t, len(err.Error()), 3*maxShown)
	require.Contains(t, err.Error(), "…")
}

func TestUsageListsEveryVariable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Usage(&out))
	for _, v := range Variables() {
		require.Contains(t, out.String(), "  "+v.Name+" ")
	}
	require.Contains(t, out.String(), "(default 127.0.0.1:8377)")
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), len(Variables()))
}

func TestMachineZone(t *testing.T) {
	root := func(t *testing.T, link, text string) string {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "etc"), 0o700))
		if link != "" {
			require.NoError(t, os.Symlink(link, filepath.Join(dir, "etc/localtime")))
		}
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "etc/timezone"), []byte(text), 0o600))
		}
		return dir
	}
	const unset = "unset"
	for _, tc := range []struct{ row, tz, link, text, want string }{
		{"TZ", "Asia/Taipei", "/usr/share/zoneinfo/Europe/Berlin", "", "Asia/Taipei"},
		{"TZ with a colon", ":Asia/Taipei", "", "", "Asia/Taipei"},
		{"TZ as a path", "/usr/share/zoneinfo/Asia/Taipei", "", "", "Asia/Taipei"},
		{"TZ empty", "", "/usr/share/zoneinfo/Europe/Berlin", "", "UTC"},
		{"TZ in the manner of POSIX", "CST-8", "/usr/share/zoneinfo/Europe/Berlin", "", "UTC"},
		{"link", unset, "/usr/share/zoneinfo/Europe/Berlin", "Asia/Taipei\n", "Europe/Berlin"},
		{"relative link", unset, "../usr/share/zoneinfo/Europe/Berlin", "", "Europe/Berlin"},
		{"link to a variant", unset, "/usr/share/zoneinfo/posix/Europe/Berlin", "", "Europe/Berlin"},
		{"timezone file", unset, "", "Asia/Taipei\n", "Asia/Taipei"},
		{"link to elsewhere", unset, "/nowhere/zone", "Asia/Taipei\n", "Asia/Taipei"},
		{"nothing", unset, "", "", "UTC"},
		{"nonsense", unset, "", "What?", "UTC"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			t.Setenv("TZ", tc.tz)
			if tc.tz == unset {
				require.NoError(t, os.Unsetenv("TZ"))
			}
			zone := machineZone(root(t, tc.link, tc.text))
			require.Equal(t, tc.want, zone.Name)
			require.Equal(t, tc.want, zone.Location.String())
		})
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range settings {
		f.Add(s.def)
	}
	f.Add(`{"user":{"turns":1e999}}`)
	f.Add("nats://[::1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range settings {
			c := new(Config)
			if err := s.set(c, text); err != nil {
				line := Problem{Variable: s.env(), Value: text, Allowed: err.Error()}.String()
				require.NotContains(t, line, "\n")
				require.Contains(t, line, ": must ")
				continue
			}
			c.LogValue()
		}
	})
}

func TestLogShowsOnlyThePromptsThatAreSet(t *testing.T) {
	c, _, err := load(t, map[string]string{"HINT_COMPLEXITY_PROMPTS": `{"low":"Be brief."}`})
	require.NoError(t, err)
	require.Contains(t, c.LogValue().String(), `{"low":"Be brief."}`)
}
