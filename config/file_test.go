package config

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/hint/render"
	"intenthint/model/provider"
)

const pluginJSON5 = `
	// Comments, unquoted names, single quotes and trailing commas are JSON5.
	agents: ['main', "ops-*"],
	intentDeny: { '*': 'CODE_*', main: ['A', 'B',] },
	model: 'mine/small', modelFallback: "openai/gpt",
	providers: { mine: { baseUrl: 'http://127.0.0.1:1/v1', api: 'openai-completions' } },
	classifier: 'cascade', localAccept: .8, minConfidence: +0.25,
	allowedChatTypes: ['direct', 'group'], allowedChatIds: 'telegram:A', deniedChatIds: [],
	queryMode: 'full', contextWindow: { user: { turns: 0x2 } },
	timeoutMs: 1e3, complexityPrompts: { high: 'Think \
it over.' }, userTimezone: 'Asia/Taipei',
	maxInflight: 7, sessionRetention: 0, historyLimit: 9, hookTimeouts: { before_dispatch: 100 },
	triage: { enabled: false }, knowhub: null,
	natsUrl: 'nats://127.0.0.1:4333', natsPort: -1, subjectPrefix: 'acme', queueGroup: 'g', stream: 'S', streamMaxAge: '1h', streamMaxBytes: 1048576, streamReplicas: 3, natsInboxPrefix: '_IN', allowOpen: true,
	store: 'file', sessionsDir: 'there', httpAddr: 'off', logFormat: 'json', logLevel: 'warn', redact: 'strict', learn: 'auto', dataDir: 'state', intentsDir: '.', natsConf: 'nats.conf',
	hooks: { include: ["agent_end"] }, enabled: true, /* the plugin's own */
`

func requirePlugin(t *testing.T, c *Config) {
	t.Helper()
	require.Equal(t, []string{"main", "ops-*"}, c.Policy.Agents)
	require.Equal(t, map[string][]string{"*": {"CODE_*"}, "main": {"A", "B"}}, c.Policy.IntentDeny)
	require.Equal(t, []string{"direct", "group"}, c.Policy.ChatTypes)
	require.Equal(t, []string{"telegram:a"}, c.Policy.AllowedChatIDs)
	require.Empty(t, c.Policy.DeniedChatIDs)
	require.Equal(t, Classifier{
		Mode: classify.ModeCascade, LocalAccept: 0.8, MinConfidence: 0.25, Model: "mine/small", Fallback: "openai/gpt", Embedding: EmbeddingBuiltIn,
		Providers:   map[string]provider.Config{"mine": {BaseURL: "http://127.0.0.1:1/v1", API: provider.APIOpenAI}},
		MaxInflight: 7, Timeout: time.Second,
	}, c.Classifier)
	require.Equal(t, Query{Mode: conversation.ModeFull, Window: conversation.Window{User: conversation.Side{Turns: 2, Chars: 500}, Assistant: conversation.Side{Turns: 3, Chars: 300}}}, c.Query)
	require.Equal(t, render.Prompts{High: "Think it over."}, c.Complexity)
	require.Equal(t, "Asia/Taipei", c.Timezone.Name)
	require.Equal(t, Store{Kind: "file", SessionsDir: "there", HistoryLimit: 9}, c.Store)
	require.Equal(t, map[string]time.Duration{"before_dispatch": 100 * time.Millisecond}, c.HookTimeouts)
	require.Equal(t, HTTP{Fixed: true}, c.HTTP)
	require.Equal(t, "state", c.DataDir)
	require.Equal(t, Bus{
		URLs: []string{"nats://127.0.0.1:4333"}, Conf: "nats.conf", Port: -1, Prefix: "acme", QueueGroup: "g", Stream: "S",
		StreamMaxAge: time.Hour, StreamMaxBytes: 1 << 20, StreamReplicas: 3, InboxPrefix: "_IN",
	}, c.Bus)
	require.True(t, c.AllowOpen)
	require.Equal(t, "strict", c.Redact)
	require.Equal(t, "auto", c.Learn)
}

func TestFileShapes(t *testing.T) {
	for _, tc := range []struct{ row, content, mainKey string }{
		{"the plugin's config", "{" + pluginJSON5 + "}", "main"},
		{"the plugin's config with a main key", "{mainKey: 'Home'," + pluginJSON5 + "}", "home"},
		{"openclaw.json", `{session: {mainKey: "Hub"}, agents: {defaults: {}}, plugins: {entries: {other: {}, "intention-hint": {enabled: true, config: {` + pluginJSON5 + `}}}}}`, "hub"},
		{"openclaw.json without a session", `{plugins: {entries: {"intention-hint": {config: {` + pluginJSON5 + `}}}}}`, "main"},
		{"with a byte order mark", "\ufeff{" + pluginJSON5 + "}", "main"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			path := write(t, "openclaw.json", tc.content)
			t.Chdir(t.TempDir())
			c, warnings, err := load(t, map[string]string{"HINT_CONFIG": path, "OPENAI_API_KEY": "k"})
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, path, c.File)
			require.Equal(t, tc.mainKey, c.Policy.MainKey)
			requirePlugin(t, c)
		})
	}
}

func TestOpenClawFileWithoutThePlugin(t *testing.T) {
	for _, tc := range []struct{ row, content string }{
		{"no plugins", `{gateway: {port: 1}, agents: {list: []}}`},
		{"no entry", `{plugins: {entries: {}}}`},
		{"no config", `{plugins: {entries: {"intention-hint": {enabled: true}}}}`},
	} {
		t.Run(tc.row, func(t *testing.T) {
			c, warnings, err := load(t, map[string]string{"HINT_CONFIG": write(t, "openclaw.json", tc.content)})
			require.NoError(t, err)
			require.Equal(t, []string{"*"}, c.Policy.Agents)
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0].String(), "plugins.entries.intention-hint.config is missing")
		})
	}
}

func TestEnvironmentWinsOverFile(t *testing.T) {
	path := write(t, "hint.json5", `{agents: ['file'], timeoutMs: 1000, contextWindow: {user: {turns: 1}, assistant: {turns: 1}}}`)
	c, _, err := load(t, map[string]string{
		"HINT_CONFIG": path, "HINT_AGENTS": "env", "HINT_TIMEOUT_MS": "", "HINT_CONTEXT_WINDOW": `{"user":{"turns":2}}`,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"env"}, c.Policy.Agents)
	require.Equal(t, time.Second, c.Classifier.Timeout, "an empty variable is not set")
	require.Equal(t, conversation.Window{User: conversation.Side{Turns: 2, Chars: 500}, Assistant: conversation.Side{Turns: 3, Chars: 300}}, c.Query.Window, "a variable is taken as a whole")
}

func TestBadFiles(t *testing.T) {
	for _, tc := range []struct{ row, content, want string }{
		{"empty", "", "the file is empty"},
		{"no object", "[1]", "must be a JSON5 object"},
		{"syntax", "{\n  agents: ['a'],\n  e: ?\n}", "line 3, column 6"},
		{"cut short", "{agents: ['a'", "must be JSON5 ("},
		{"list of numbers", `{agents: [5]}`, "agents=\"[5]\": must be an array of strings"},
		{"list as a number", `{allowedChatIds: -100}`, `allowedChatIds="-100": must be an array of strings or a comma-separated string`},
		{"number as a word", `{timeoutMs: 'soon'}`, `timeoutMs="soon": must be a number of milliseconds`},
		{"number as a list", `{timeoutMs: [1]}`, `timeoutMs="[1]": must be a number`},
		{"NaN", `{localAccept: NaN}`, `localAccept="NaN": must be a number from 0 to 1`},
		{"fraction", `{historyLimit: 1.5}`, `historyLimit="1.5": must be a whole number`},
		{"duration as a number", `{sessionRetention: 5}`, `sessionRetention="5": must be a string such as 336h, or 0`},
		{"text as a number", `{model: 5}`, `model="5": must be a string`},
		{"object as a list", `{intentDeny: ['A']}`, "intentDeny=`[\"A\"]`: must be an object"},
		{"object with NaN", `{hookTimeouts: {before_dispatch: NaN}}`, "neither NaN nor Infinity"},
		{"object with a wrong value", `{contextWindow: {user: {turns: 'x'}}}`, "turns is a string"},
		{"wrong word", `{queryMode: 'all'}`, `queryMode="all": must be one of message, recent, full`},
		{"main key of the wrong type", `{session: {mainKey: 5}}`, `mainKey="5": must be a string`},
		{"classifier without a model", `{classifier: 'llm'}`, `classifier="llm": must be local or auto`},
		{"triage", `{triage: {enable: true}}`, `unknown field "enable"`},
		{"plugins of the wrong type", `{session: {}, plugins: []}`, "whose plugins is an object"},
		{"plugin's config of the wrong type", `{plugins: {entries: {"intention-hint": {config: 5}}}}`, "plugins.entries.intention-hint.config is an object"},
		{"key", `{providers: {p: {baseUrl: 'https://h', apiKey: 'hunter2'}}}`, "***"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			path := write(t, "hint.json5", tc.content)
			_, _, err := load(t, map[string]string{"HINT_CONFIG": path})
			require.Error(t, err)
			line := err.Error()
			require.NotContains(t, line, "\n")
			require.True(t, strings.HasPrefix(line, `HINT_CONFIG="`+path+`": `), line)
			require.Contains(t, line, tc.want)
			require.NotContains(t, line, "hunter2")
		})
	}
}

func TestFileAndEnvironmentAreBothReported(t *testing.T) {
	path := write(t, "hint.json5", `{queryMode: 'all', agents: 5, timeoutMs: 'x'}`)
	_, _, err := load(t, map[string]string{"HINT_CONFIG": path, "HINT_TIMEOUT_MS": "y", "HINT_AGENTS": "main"})
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 4)
	for i, want := range []string{"agents=", "queryMode=", "timeoutMs=", `HINT_TIMEOUT_MS="y"`} {
		require.Contains(t, lines[i], want)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	big := write(t, "big", "{"+strings.Repeat(" ", maxFileBytes)+"}")
	for _, tc := range []struct{ row, path, want string }{
		{"too big", big, "larger than"},
		{"directory", t.TempDir(), "not a regular file"},
		{"device", os.DevNull, "not a regular file"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			_, _, err := load(t, map[string]string{"HINT_CONFIG": tc.path})
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestABadFileDoesNotHideWrongVariables(t *testing.T) {
	for _, tc := range []struct{ row, path string }{
		{"missing", "/nowhere/openclaw.json"},
		{"broken", write(t, "hint.json5", "{")},
	} {
		t.Run(tc.row, func(t *testing.T) {
			// The file may well name the model that llm needs.
			_, _, err := load(t, map[string]string{"HINT_CONFIG": tc.path, "HINT_CLASSIFIER": "llm", "HINT_TIMEOUT_MS": "soon"})
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, 2)
			require.True(t, strings.HasPrefix(lines[0], "HINT_CONFIG="), lines[0])
			require.True(t, strings.HasPrefix(lines[1], "HINT_TIMEOUT_MS="), lines[1])
		})
	}
}

func FuzzFile(f *testing.F) {
	f.Add("{" + pluginJSON5 + "}")
	f.Add(`{plugins: {entries: {"intention-hint": {config: {agents: [,]}}}}}`)
	f.Add("{a: '\\u12")
	f.Add("{a: 1e999, b: 0x, c: -Infinity}")
	f.Add(strings.Repeat("[", 10000))
	f.Fuzz(func(t *testing.T, content string) {
		c, _, err := build(map[string]string{"HINT_CONFIG": "file"}, newSnapshot([]byte(content), nil), objects, nil)
		if err == nil {
			require.NotNil(t, c)
			return
		}
		require.Nil(t, c)
		for line := range strings.SplitSeq(err.Error(), "\n") {
			require.True(t, strings.HasPrefix(line, "HINT_CONFIG="), line)
		}
	})
}

func TestUnknownFieldsAreWarnings(t *testing.T) {
	for _, tc := range []struct{ row, content, want string }{
		{"a letter too few", `{agent: ["main"]}`, `no such field "agent"`},
		{"another case", `{timeoutMS: 900}`, `no such field "timeoutMS"`},
		{"one of the plugin's", `{hook: {}}`, `no such field "hook"`},
		{"the beginning of one", `{nats: 'nats://h'}`, `no such field "nats"`},
		{"nothing near", `{somethingElse: {own: true}}`, `no such field "somethingElse"`},
		{"a variable's name", `{HINT_TIMEOUT_MS: 900}`, `no such field "HINT_TIMEOUT_MS"`},
		{"only for the environment", `{config: 'x'}`, `no such field "config"`},
		{"in an openclaw.json", `{plugins: {entries: {"intention-hint": {config: {clasifier: "local"}}}}}`, `no such field "clasifier"`},
	} {
		t.Run(tc.row, func(t *testing.T) {
			path := write(t, "c.json5", tc.content)
			_, warnings, err := load(t, map[string]string{"HINT_CONFIG": path})
			require.NoError(t, err)
			require.Len(t, warnings, 1)
			require.Equal(t, "HINT_CONFIG: "+path+": "+tc.want, warnings[0].String())
		})
	}
}
