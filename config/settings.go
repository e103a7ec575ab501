package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/subjects"
)

// setting is one entry of the list. The name of its variable follows from the
// name of its field, and the kind of value in a file from the type in a Config.
type setting struct {
	field string // its name in a file: camelCase
	only  string // fileOnly or envOnly, if it can be set in one place only
	def   string // its value if it is not set, as text
	shown string // the default as printed by --help, if def is not informative
	doc   string
	// restart means that a running program keeps the value it started with.
	restart bool
	// hide removes secrets from a value to be printed, beyond what redact.Setting does.
	hide func(string) string
	// secret means that the value is never printed.
	secret bool
	kind   kind // of the value in a file
	// object is that of a part, nil for a setting of the program.
	object part.Object

	// Where the setting stands in a Config, set by in.
	set  func(c *Config, text string) error
	get  func(c *Config) any
	copy func(to, from *Config)
}

// Settings that can be set in one place only.
const (
	fileOnly = "file"
	envOnly  = "environment"
)

// in adds to a setting its place in a Config and the parser of its value.
func in[T any](at func(*Config) *T, parse func(string) (T, error), s setting) setting {
	s.set = func(c *Config, text string) error {
		v, err := parse(text)
		if err == nil {
			*at(c) = v
		}
		return err
	}
	s.get = func(c *Config) any { return *at(c) }
	s.copy = func(to, from *Config) { *at(to) = *at(from) }
	if s.kind == "" {
		s.kind = kindOf(*new(T))
	}
	return s
}

// env returns the name of the setting's variable, "" for none: HINT_NATS_URL
// for natsUrl.
func (s setting) env() string {
	if s.only == fileOnly {
		return ""
	}
	return envPrefix + "_" + upper(s.field)
}

// inFile reports whether a file can contain the setting.
func (s setting) inFile() bool { return s.only != envOnly }

func (s setting) equal(a, b *Config) bool { return reflect.DeepEqual(s.get(a), s.get(b)) }

// The setting that names the file.
const (
	fieldConfig    = "config"
	variableConfig = envPrefix + "_CONFIG"
)

// modeAuto is the value of HINT_CLASSIFIER that [Config.finish] resolves.
const modeAuto classify.Mode = "auto"

// beforeParts is the setting after which those of the parts stand in contract §9.
const beforeParts = "agents"

// withObjects returns the list of all settings, in the order of contract §9.
func withObjects(objects []part.Object) []setting {
	own := make([]setting, len(objects))
	for i, o := range objects {
		own[i] = objectSetting(o)
	}
	at := 1 + slices.IndexFunc(settings, func(s setting) bool { return s.field == beforeParts })
	return slices.Insert(slices.Clone(settings), at, own...)
}

// settings is the one list of the program's own settings. Each part declares its own,
// see [part.Declare].
var settings = []setting{
	in(func(c *Config) *[]string { return &c.Bus.URLs }, natsURLs,
		setting{field: "natsUrl", restart: true, hide: redact.Servers, doc: "NATS servers to connect to, comma-separated; empty starts or joins an embedded server"}),
	in(func(c *Config) *string { return &c.Bus.Context }, anyText,
		setting{field: fieldContext, only: envOnly, restart: true, doc: "context of the nats command line, by name or as a file: server, credentials, TLS; the other variables win over it"}),
	in(func(c *Config) *string { return &c.Bus.Creds }, file("a credentials file with a token and a seed", hasCredentials),
		setting{field: "natsCreds", restart: true, doc: "NATS credentials file"}),
	in(func(c *Config) *string { return &c.Bus.NKey }, file("a file with the seed of an nkey user", hasSeed),
		setting{field: "natsNkey", restart: true, doc: "file with the seed of an nkey user"}),
	in(func(c *Config) *string { return &c.Bus.CA }, file("a PEM file with at least one certificate", hasCertificate),
		setting{field: "natsCa", restart: true, shown: "the machine's", doc: "PEM file of the authorities that may sign a server's certificate; requires TLS"}),
	in(func(c *Config) *string { return &c.Bus.Cert }, file("a PEM file that can be read", nil),
		setting{field: "natsCert", restart: true, doc: "PEM file of the client certificate; requires TLS and HINT_NATS_KEY"}),
	in(func(c *Config) *string { return &c.Bus.Key }, file("a PEM file that can be read", nil),
		setting{field: "natsKey", restart: true, doc: "PEM file of the client certificate's key"}),
	in(func(c *Config) *bool { return &c.Bus.TLSFirst }, trueOrFalse,
		setting{field: "natsTlsFirst", def: "false", restart: true, doc: "true or false; begin connections with TLS, before the server says anything (its handshake_first)"}),
	in(func(c *Config) *string { return &c.Bus.InboxPrefix }, subjectPrefix,
		setting{field: "natsInboxPrefix", def: "_INBOX", restart: true, doc: "prefix of the reply subjects, for a user with its own inbox"}),
	in(func(c *Config) *string { return &c.Bus.Conf }, natsConf,
		setting{field: "natsConf", def: defaultNATSConf, restart: true, doc: "configuration of the embedded server; if the default file is missing, the built-in copy is used"}),
	in(func(c *Config) *int { return &c.Bus.Port }, natsPort,
		setting{field: "natsPort", restart: true, shown: "from the file", doc: "port of the embedded server; -1 picks a free one"}),
	in(func(c *Config) *string { return &c.Auth }, oneOf[string](AuthOn, AuthOff),
		setting{field: "auth", def: AuthOn, restart: true, doc: "on or off; with on, pages and the API of experiences want a token, and the embedded server a user, which the first start makes in the data directory"}),
	in(func(c *Config) *bool { return &c.AllowOpen }, trueOrFalse,
		setting{field: "allowOpen", def: "false", restart: true, doc: "true or false; allow listeners that other machines reach without authentication"}),
	in(func(c *Config) *string { return &c.DataDir }, directoryName,
		setting{field: "dataDir", def: "data", restart: true, doc: "directory of the embedded server's JetStream store and other state"}),
	in(func(c *Config) *string { return &c.Bus.Prefix }, subjectPrefix,
		setting{field: "subjectPrefix", def: subjects.DefaultPrefix, restart: true, doc: "prefix of every subject"}),
	in(func(c *Config) *string { return &c.Bus.QueueGroup }, groupName,
		setting{field: "queueGroup", def: subjects.DefaultQueueGroup, restart: true, doc: "queue group and durable consumer shared by all consumer processes"}),
	in(func(c *Config) *string { return &c.Bus.Stream }, streamName,
		setting{field: "stream", def: subjects.DefaultStream, restart: true, doc: "JetStream stream of events"}),
	in(func(c *Config) *time.Duration { return &c.Bus.StreamMaxAge }, duration(100*time.Millisecond),
		setting{field: "streamMaxAge", def: "336h", restart: true, doc: "how long a new stream keeps events; 0 keeps them forever"}),
	in(func(c *Config) *int64 { return &c.Bus.StreamMaxBytes }, byteSize,
		setting{field: "streamMaxBytes", def: "1GiB", restart: true, doc: "size limit of a new stream; -1 for none"}),
	in(func(c *Config) *int { return &c.Bus.StreamReplicas }, wholeNumber(1, 5),
		setting{field: "streamReplicas", def: "1", restart: true, doc: "1–5; how many servers of a cluster hold each new stream and bucket"}),
	in(func(c *Config) *string { return &c.Store.Kind }, oneOf[string](StoreFile, StoreKV),
		setting{field: "store", def: StoreFile, restart: true, doc: "where sessions are kept: file, or kv (JetStream key-value, for several hosts)"}),
	in(func(c *Config) *string { return &c.Store.SessionsDir }, directoryName,
		setting{field: "sessionsDir", restart: true, shown: "<data>/sessions", doc: "directory of the session files"}),
	in(func(c *Config) *string { return &c.HTTP.Addr }, httpAddr,
		setting{field: "httpAddr", def: "127.0.0.1:8377", restart: true, doc: "address of /healthz, /readyz and /metrics, or off; if the default is in use, a free port is used"}),
	in(func(c *Config) *string { return &c.HTTP.Token }, tokenText,
		setting{field: "httpToken", restart: true, secret: true, shown: "<data>/token", doc: "token required by the pages and by requests that change something there"}),
	in(func(c *Config) *[]string { return &c.HTTP.Public }, publicURLs,
		setting{field: "httpPublic", restart: true, doc: "public URLs of the pages behind a reverse proxy, comma-separated (https://hints.example.org/intent); their names are answered"}),
	in(func(c *Config) *string { return &c.Log.Format }, oneOf[string]("auto", "text", "json"),
		setting{field: "logFormat", def: "auto", restart: true, doc: "auto, text or json; auto is text on a terminal and JSON elsewhere"}),
	in(func(c *Config) *slog.Level { return &c.Log.Level }, logLevel,
		setting{field: "logLevel", def: "info", doc: "debug, info, warn or error"}),
	in(func(c *Config) *string { return &c.File }, anyText,
		setting{field: fieldConfig, only: envOnly, doc: "JSON5 file: an openclaw.json, or just the plugin's config object; variables override it"}),
	in(func(c *Config) *classify.Mode { return &c.Classifier.Mode },
		oneOf(classify.ModeLocal, classify.ModeLLM, classify.ModeHedged, classify.ModeCascade, modeAuto),
		setting{field: "classifier", def: string(modeAuto), doc: "local, llm, hedged, cascade or auto; auto is hedged with a model, else local"}),
	in(func(c *Config) *float64 { return &c.Classifier.LocalAccept }, probability,
		setting{field: "localAccept", def: "0.9", doc: "0–1; with cascade, the confidence from which a local answer is given without asking a model"}),
	in(func(c *Config) *float64 { return &c.Classifier.MinConfidence }, probability,
		setting{field: "minConfidence", def: "0.6", doc: "0–1; below this confidence no hint is given"}),
	in(func(c *Config) *repetition.Repeat { return &c.Repeat.Repeat }, oneOf(repetition.Changed, repetition.Always),
		setting{field: "repeat", def: string(repetition.Changed), doc: "changed or always; when a session gets a hint again that it already got"}),
	in(func(c *Config) *int { return &c.Repeat.After }, wholeNumber(0, math.MaxInt32),
		setting{field: "repeatAfter", def: "8", doc: "with changed, after how many turns the same hint is repeated; 0 for never"}),
	in(func(c *Config) *int { return &c.Repeat.Budget }, wholeNumber(0, math.MaxInt32),
		setting{field: "budget", def: "16384", doc: "bytes of hints in a session after which hints are brief, where the gateway keeps hints in the history; 0 for no limit"}),
	in(func(c *Config) *render.Form { return &c.Form }, oneOf(render.Full, render.Original, render.Brief),
		setting{field: "form", def: string(render.Full), doc: "full, original or brief; original has all lines of the original plugin's hints, brief leaves out the intent's prompt and the complexity prompt"}),
	in(func(c *Config) *render.Frame { return &c.Frame }, oneOf(render.FrameOperator, render.FrameUntrusted),
		setting{field: "frame", def: string(render.FrameOperator), doc: "operator or untrusted; with operator, only what people and models wrote stands in a hint as untrusted context, with untrusted all of it"}),
	in(func(c *Config) *float64 { return &c.Holdout }, probability,
		setting{field: "holdout", def: "0", doc: "0–1; share of sessions that get no hint, to measure the effect of hints (consumer stats --effect)"}),
	in(func(c *Config) *map[string]payload.Price { return &c.Prices }, prices,
		setting{field: "prices", def: "{}", doc: `JSON {"provider/model": {"input", "output", "cacheRead", "cacheWrite"}}; prices of the agents' models per million tokens, for consumer stats`}),
	in(func(c *Config) *[]string { return &c.Policy.Agents }, list,
		setting{field: "agents", def: "*", doc: "agents that get hints, comma-separated, globs allowed"}),
	in(func(c *Config) *map[string]time.Duration { return &c.HookTimeouts }, hookTimeouts,
		setting{field: "hookTimeouts", def: "{}", doc: `JSON {"<hook>": ms}; timeout of each handler of a hook`}),
	in(func(c *Config) *map[string][]string { return &c.Policy.IntentDeny }, intentDeny,
		setting{field: "intentDeny", def: "{}", doc: `JSON {"<agent glob>": "<intent glob>" or […]}; intents that are not used for an agent`}),
	in(func(c *Config) *string { return &c.Classifier.Model }, modelRef,
		setting{field: "model", doc: "provider/model that classifies"}),
	in(func(c *Config) *string { return &c.Classifier.Fallback }, modelRef,
		setting{field: "modelFallback", doc: "provider/model that is asked when the first one fails"}),
	in(func(c *Config) *string { return &c.Classifier.Embedding }, embeddingModel,
		setting{field: "embeddingModel", def: EmbeddingBuiltIn, doc: "builtin (English), off, or provider/model; the embedding model that helps the local classifier"}),
	in(func(c *Config) *string { return &c.Classifier.Writer }, modelRef,
		setting{field: "writer", shown: "off", doc: "provider/model that rewrites the intent's prompt for the turn"}),
	in(func(c *Config) *string { return &c.Classifier.Decide }, modelRef,
		setting{field: "decideModel", shown: "off", doc: "provider/model that answers the questions of HINT_DECIDE"}),
	in(func(c *Config) *map[string]provider.Config { return &c.Classifier.Providers }, providers,
		setting{field: "providers", def: "{}", restart: true, hide: hideProviders, doc: `JSON {"name": {"baseUrl", "api", "apiKeyEnv"}}; openai, anthropic, google, openrouter and ollama are built in`}),
	in(func(c *Config) *[]string { return &c.Policy.ChatTypes }, chatTypes,
		setting{field: "allowedChatTypes", def: eligibility.ChatDirect, doc: "chat types that get hints, of direct, group, channel, explicit, unknown"}),
	in(func(c *Config) *[]string { return &c.Policy.AllowedChatIDs }, lowerList,
		setting{field: "allowedChatIds", doc: "chat ids that get hints; empty allows all"}),
	in(func(c *Config) *[]string { return &c.Policy.DeniedChatIDs }, lowerList,
		setting{field: "deniedChatIds", doc: "chat ids that get no hints; overrides the allowed ones"}),
	in(func(c *Config) *string { return &c.Policy.MainKey }, mainKey,
		setting{field: "mainKey", only: fileOnly, def: eligibility.DefaultMainKey, doc: "session.mainKey of an openclaw.json"}),
	in(func(c *Config) *conversation.QueryMode { return &c.Query.Mode }, oneOf(conversation.ModeMessage, conversation.ModeRecent, conversation.ModeFull),
		setting{field: "queryMode", def: string(conversation.ModeRecent), doc: "message, recent or full; how much of the conversation is classified"}),
	in(func(c *Config) *conversation.Window { return &c.Query.Window }, contextWindow,
		setting{field: "contextWindow", def: `{"user":{"turns":5,"chars":500},"assistant":{"turns":3,"chars":300}}`, doc: "JSON; limits of query mode recent: turns 0–20 and 0–10, chars 40–1000"}),
	in(func(c *Config) *string { return &c.Query.Frames }, messageFrames,
		setting{field: "frames", doc: "what gateways put around messages besides what is known: tag names, and RE2 patterns between slashes, comma-separated"}),
	in(func(c *Config) *time.Duration { return &c.Classifier.Timeout }, timeoutMs,
		setting{field: "timeoutMs", def: "3000", kind: kindNumber, doc: "time limit of a reply in ms, 500–60000"}),
	in(func(c *Config) *string { return &c.IntentsDir }, existingDirectory,
		setting{field: "intentsDir", shown: "built in", doc: "directory of intent files"}),
	in(func(c *Config) *render.Prompts { return &c.Complexity }, complexityPrompts,
		setting{field: "complexityPrompts", shown: "built in", doc: `JSON {"low", "medium", "high"}`}),
	in(func(c *Config) *Zone { return &c.Timezone }, ianaZone,
		setting{field: "userTimezone", shown: "the machine's", doc: "IANA name of the user's time zone"}),
	in(func(c *Config) *int { return &c.Classifier.MaxInflight }, wholeNumber(1, math.MaxInt32),
		setting{field: "maxInflight", def: strconv.Itoa(classify.DefaultMaxInflight), doc: "concurrent classifications; above it the local answer is given"}),
	in(func(c *Config) *string { return &c.Redact }, oneOf[string](RedactOff, RedactStrict),
		setting{field: "redact", def: RedactOff, doc: "off or strict; strict removes personal data and secrets from turns, session files and debug logs"}),
	in(func(c *Config) *string { return &c.Learn }, oneOf[string](LearnOff, LearnAuto),
		setting{field: "learn", def: LearnOff, restart: true, doc: "off or auto; auto lets the local classifier learn from feedback and confident models"}),
	in(func(c *Config) *time.Duration { return &c.Store.Retention }, duration(100*time.Millisecond),
		setting{field: "sessionRetention", def: "336h", restart: true, doc: "how long an untouched session is kept; 0 keeps all"}),
	in(func(c *Config) *int { return &c.Store.HistoryLimit }, wholeNumber(0, math.MaxInt32),
		setting{field: "historyLimit", def: "200", restart: true, doc: "turns kept in a session file"}),
}

// pluginFields are the fields of the config object that only the gateway plugin
// reads.
var pluginFields = []string{"breaker", "buffer", "enabled", "history", "hooks", "natsContext", "usage"}

// Variable describes one environment variable; Default is "" for none.
type Variable struct{ Name, Default, Meaning string }

// Variables returns all environment variables in the order of contract §9, with those
// of the objects of parts.
func Variables(objects ...part.Object) []Variable {
	var out []Variable
	for _, s := range withObjects(objects) {
		if s.only != fileOnly {
			out = append(out, Variable{Name: s.env(), Default: cmp.Or(s.shown, s.def), Meaning: s.doc})
		}
	}
	return out
}

// Usage writes a table of all variables, for --help.
func Usage(w io.Writer, objects ...part.Object) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range Variables(objects...) {
		if v.Default != "" {
			v.Meaning += " (default " + v.Default + ")"
		}
		if _, err := fmt.Fprintf(table, "  %s\t%s\n", v.Name, v.Meaning); err != nil {
			return err
		}
	}
	return table.Flush()
}

// LogValue returns the settings that differ from the defaults, without secrets
// and under the names used in a file. It implements [slog.LogValuer].
func (c *Config) LogValue() slog.Value {
	plain := new(Config)
	all := withObjects(c.objects)
	for _, s := range all {
		if s.def != "" {
			_ = s.set(plain, s.def) // Load would have failed
		}
	}
	plain.derive(c)
	var attrs []slog.Attr
	for _, s := range all {
		if !s.equal(c, plain) {
			// Of values that differ from defaults, only an HTTP address can be empty.
			value := redact.Setting(cmp.Or(effective(s.get(c)), "off"))
			if s.secret {
				value = redact.Masked
			}
			attrs = append(attrs, slog.String(s.field, value))
		}
	}
	return slog.GroupValue(attrs...)
}

// effective formats the value of a setting.
func effective(v any) string {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, ",")
	case Zone:
		return v.Name
	case map[string]time.Duration:
		texts := make(map[string]string, len(v))
		for name, d := range v {
			texts[name] = d.String()
		}
		return effective(texts)
	}
	if kindOf(v) != kindObject {
		return fmt.Sprint(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// find returns the setting with a name, either of the field or of the variable.
func find(name string) (setting, bool) {
	i := slices.IndexFunc(settings, func(s setting) bool { return name != "" && (s.field == name || s.env() == name) })
	if i < 0 {
		return setting{}, false
	}
	return settings[i], true
}
