package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/model/provider"
	"intenthint/subjects"
)

// modeAuto is the value of HINT_CLASSIFIER that [Config.finish] resolves.
const modeAuto classify.Mode = "auto"

// Log is how the program logs.
type Log struct {
	// Format is auto, text or json.
	Format string
	Level  slog.Level
}

// variable is one setting: its names, its default and how its text becomes a
// part of a [Config].
type variable struct {
	name  string // in the environment; "" for what only a file can say
	field string // in a file; "" for what only the environment can say
	def   string // its value when it is not set, as text
	shown string // the default as --help prints it, when def does not tell
	doc   string
	kind  kind // of the value in a file
	// restart says that a running program keeps the value it started with.
	restart bool

	set   func(*Config, string) error
	equal func(a, b *Config) bool
	keep  func(next, running *Config)
	value func(*Config) any
}

// bind ties a variable to the part of a Config that at points to.
func bind[T any](v variable, at func(*Config) *T, parse func(string) (T, error)) variable {
	v.set = func(c *Config, text string) error {
		value, err := parse(text)
		if err != nil {
			return err
		}
		*at(c) = value
		return nil
	}
	v.equal = func(a, b *Config) bool { return reflect.DeepEqual(*at(a), *at(b)) }
	v.keep = func(next, running *Config) { *at(next) = *at(running) }
	v.value = func(c *Config) any { return *at(c) }
	return v
}

// variables is the table of contract §9, in its order.
var variables = []variable{
	bind(variable{name: "HINT_NATS_URL", field: "natsUrl", kind: kindList, restart: true, doc: "NATS server(s) to connect to, comma-separated; empty starts or joins an embedded server"},
		func(c *Config) *[]string { return &c.Bus.URLs }, natsURLs),
	bind(variable{name: "HINT_NATS_CREDS", field: "natsCreds", restart: true, doc: "NATS credentials file"},
		func(c *Config) *string { return &c.Bus.Creds }, credentialsFile),
	bind(variable{name: "HINT_NATS_NKEY", field: "natsNkey", restart: true, doc: "file with the seed of an nkey user"},
		func(c *Config) *string { return &c.Bus.NKey }, seedFile),
	bind(variable{name: "HINT_NATS_CA", field: "natsCa", restart: true, doc: "PEM file of the authorities a server's certificate may come from; asks for TLS (default the machine's authorities)"},
		func(c *Config) *string { return &c.Bus.CA }, authoritiesFile),
	bind(variable{name: "HINT_NATS_CERT", field: "natsCert", restart: true, doc: "PEM file of the client certificate; asks for TLS, and goes with HINT_NATS_KEY"},
		func(c *Config) *string { return &c.Bus.Cert }, pemFile),
	bind(variable{name: "HINT_NATS_KEY", field: "natsKey", restart: true, doc: "PEM file of the client certificate's key"},
		func(c *Config) *string { return &c.Bus.Key }, pemFile),
	bind(variable{name: "HINT_NATS_INBOX_PREFIX", field: "natsInboxPrefix", def: "_INBOX", restart: true, doc: "first part of the subjects on which replies come; a user's rights may ask for one of its own"},
		func(c *Config) *string { return &c.Bus.InboxPrefix }, subjectPrefix),
	bind(variable{name: "HINT_NATS_CONF", field: "natsConf", def: defaultNATSConf, restart: true, doc: "configuration of the embedded server; without the default file the built-in copy serves"},
		func(c *Config) *string { return &c.Bus.Conf }, natsConf),
	bind(variable{name: "HINT_NATS_PORT", field: "natsPort", shown: "from the file", kind: kindNumber, restart: true, doc: "port of the embedded server; -1 picks a free one"},
		func(c *Config) *int { return &c.Bus.Port }, natsPort),
	bind(variable{name: "HINT_ALLOW_OPEN", field: "allowOpen", def: "false", kind: kindBool, restart: true, doc: "true or false (1 or 0); the embedded server may listen beyond this machine and ask nobody who they are"},
		func(c *Config) *bool { return &c.AllowOpen }, trueOrFalse),
	bind(variable{name: "HINT_DATA_DIR", field: "dataDir", def: "data", restart: true, doc: "JetStream store of the embedded server, other state"},
		func(c *Config) *string { return &c.DataDir }, directoryName),
	bind(variable{name: "HINT_SUBJECT_PREFIX", field: "subjectPrefix", def: subjects.DefaultPrefix, restart: true, doc: "first part of every subject"},
		func(c *Config) *string { return &c.Bus.Prefix }, subjectPrefix),
	bind(variable{name: "HINT_QUEUE_GROUP", field: "queueGroup", def: subjects.DefaultQueueGroup, restart: true, doc: "queue group and durable consumer shared by all consumer processes"},
		func(c *Config) *string { return &c.Bus.QueueGroup }, jetStreamName(maxNameBytes)),
	bind(variable{name: "HINT_STREAM", field: "stream", def: subjects.DefaultStream, restart: true, doc: "JetStream stream of events"},
		func(c *Config) *string { return &c.Bus.Stream }, jetStreamName(maxNameBytes-len(subjects.DeadLetterSuffix))),
	bind(variable{name: "HINT_STREAM_MAX_AGE", field: "streamMaxAge", def: "336h", kind: kindDuration, restart: true, doc: "how long a stream that is created keeps events; 0 for ever"},
		func(c *Config) *time.Duration { return &c.Bus.StreamMaxAge }, duration(100*time.Millisecond)),
	bind(variable{name: "HINT_STREAM_MAX_BYTES", field: "streamMaxBytes", def: "1GiB", kind: kindNumber, restart: true, doc: "size limit of a stream that is created; -1 for none"},
		func(c *Config) *int64 { return &c.Bus.StreamMaxBytes }, byteSize),
	bind(variable{name: "HINT_STREAM_REPLICAS", field: "streamReplicas", def: "1", kind: kindNumber, restart: true, doc: "1–5; servers of a cluster that hold each stream and bucket that is created"},
		func(c *Config) *int { return &c.Bus.StreamReplicas }, wholeNumber(1, 5)),
	bind(variable{name: "HINT_STORE", field: "store", def: "file", restart: true, doc: "where sessions are kept: file, or kv (JetStream key-value, for several hosts)"},
		func(c *Config) *string { return &c.Store.Kind }, oneOf[string](StoreFile, StoreKV)),
	bind(variable{name: "HINT_SESSIONS_DIR", field: "sessionsDir", shown: "<data>/sessions", restart: true, doc: "session files"},
		func(c *Config) *string { return &c.Store.SessionsDir }, directoryName),
	bind(variable{name: "HINT_HTTP_ADDR", field: "httpAddr", def: "127.0.0.1:8377", restart: true, doc: "/healthz, /readyz, /metrics; off for none; the default moves to a free port when it is taken"},
		func(c *Config) *string { return &c.HTTP.Addr }, httpAddr),
	bind(variable{name: "HINT_LOG_FORMAT", field: "logFormat", def: "auto", restart: true, doc: "auto, text or json; auto is text on a terminal and JSON elsewhere"},
		func(c *Config) *string { return &c.Log.Format }, oneOf[string]("auto", "text", "json")),
	bind(variable{name: "HINT_LOG_LEVEL", field: "logLevel", def: "info", doc: "debug, info, warn or error"},
		func(c *Config) *slog.Level { return &c.Log.Level }, logLevel),
	bind(variable{name: variableConfig, doc: "JSON5 file: an openclaw.json, or just the plugin's config object; the environment wins over it"},
		func(c *Config) *string { return &c.File }, anyText),
	bind(variable{name: "HINT_CLASSIFIER", field: "classifier", def: "auto", doc: "local, llm, hedged, cascade or auto; auto is hedged when a model is set, else local"},
		func(c *Config) *classify.Mode { return &c.Classifier.Mode },
		oneOf(classify.ModeLocal, classify.ModeLLM, classify.ModeHedged, classify.ModeCascade, modeAuto)),
	bind(variable{name: "HINT_LOCAL_ACCEPT", field: "localAccept", def: "0.9", kind: kindNumber, doc: "0–1; under cascade a local answer of at least this probability is given without a model"},
		func(c *Config) *float64 { return &c.Classifier.LocalAccept }, probability),
	bind(variable{name: "HINT_MIN_CONFIDENCE", field: "minConfidence", def: "0", kind: kindNumber, doc: "0–1; below it no hint is given"},
		func(c *Config) *float64 { return &c.Classifier.MinConfidence }, probability),
	bind(variable{name: "HINT_AGENTS", field: "agents", def: "*", kind: kindList, doc: "agents that get hints, comma-separated, globs allowed"},
		func(c *Config) *[]string { return &c.Policy.Agents }, list),
	bind(variable{name: "HINT_TRIAGE", field: "triage", shown: "off", kind: kindObject, doc: "JSON; not part of this version"},
		func(c *Config) *Triage { return &c.Triage }, triage),
	bind(variable{name: "HINT_KNOWHUB", field: "knowhub", shown: "off", kind: kindObject, doc: "JSON; not part of this version"},
		func(c *Config) *KnowHub { return &c.KnowHub }, knowHub),
	bind(variable{name: "HINT_HOOK_TIMEOUTS", field: "hookTimeouts", def: "{}", kind: kindObject, doc: `JSON {"<hook>": ms}; time that one handler of a hook has`},
		func(c *Config) *map[string]time.Duration { return &c.HookTimeouts }, hookTimeouts),
	bind(variable{name: "HINT_INTENT_DENY", field: "intentDeny", def: "{}", kind: kindObject, doc: `JSON {"<agent glob>": "<intent glob>" or […]}; intents not used for an agent`},
		func(c *Config) *map[string][]string { return &c.Policy.IntentDeny }, intentDeny),
	bind(variable{name: "HINT_MODEL", field: "model", doc: "provider/model that classifies"},
		func(c *Config) *string { return &c.Classifier.Model }, modelRef),
	bind(variable{name: "HINT_MODEL_FALLBACK", field: "modelFallback", doc: "provider/model that is asked next"},
		func(c *Config) *string { return &c.Classifier.Fallback }, modelRef),
	bind(variable{name: "HINT_EMBEDDING_MODEL", field: "embeddingModel", doc: "provider/model of an embedding model that helps the local classifier; empty for none"},
		func(c *Config) *string { return &c.Classifier.Embedding }, modelRef),
	bind(variable{name: "HINT_PROVIDERS", field: "providers", def: "{}", kind: kindObject, doc: `JSON {"name": {"baseUrl", "api", "apiKeyEnv"}}; openai, anthropic, google, openrouter and ollama are built in`},
		func(c *Config) *map[string]provider.Config { return &c.Classifier.Providers }, providers),
	bind(variable{name: "HINT_ALLOWED_CHAT_TYPES", field: "allowedChatTypes", def: eligibility.ChatDirect, kind: kindList, doc: "of direct, group, channel, explicit, unknown"},
		func(c *Config) *[]string { return &c.Policy.ChatTypes }, chatTypes),
	bind(variable{name: "HINT_ALLOWED_CHAT_IDS", field: "allowedChatIds", kind: kindList, doc: "chat ids that get hints; empty allows all"},
		func(c *Config) *[]string { return &c.Policy.AllowedChatIDs }, lowerList),
	bind(variable{name: "HINT_DENIED_CHAT_IDS", field: "deniedChatIds", kind: kindList, doc: "chat ids that get none; wins over the allowed ones"},
		func(c *Config) *[]string { return &c.Policy.DeniedChatIDs }, lowerList),
	bind(variable{field: "mainKey", def: eligibility.DefaultMainKey, doc: "session.mainKey of an openclaw.json"},
		func(c *Config) *string { return &c.Policy.MainKey }, mainKey),
	bind(variable{name: "HINT_QUERY_MODE", field: "queryMode", def: string(conversation.ModeRecent), doc: "message, recent or full; how much of the conversation is classified"},
		func(c *Config) *conversation.QueryMode { return &c.Query.Mode }, oneOf(conversation.ModeMessage, conversation.ModeRecent, conversation.ModeFull)),
	bind(variable{name: "HINT_CONTEXT_WINDOW", field: "contextWindow", def: `{"user":{"turns":5,"chars":500},"assistant":{"turns":3,"chars":300}}`, kind: kindObject, doc: "JSON; limits of query mode recent: turns 0–20 and 0–10, chars 40–1000"},
		func(c *Config) *conversation.Window { return &c.Query.Window }, contextWindow),
	bind(variable{name: "HINT_TIMEOUT_MS", field: "timeoutMs", def: "3000", kind: kindNumber, doc: "longest time for a reply in ms, 500–60000"},
		func(c *Config) *time.Duration { return &c.Classifier.Timeout }, timeoutMs),
	bind(variable{name: "HINT_INTENTS_DIR", field: "intentsDir", shown: "built in", doc: "directory of intent files"},
		func(c *Config) *string { return &c.IntentsDir }, existingDirectory),
	bind(variable{name: "HINT_COMPLEXITY_PROMPTS", field: "complexityPrompts", shown: "built in", kind: kindObject, doc: `JSON {"low", "medium", "high"}`},
		func(c *Config) *render.Prompts { return &c.Complexity }, complexityPrompts),
	bind(variable{name: "HINT_USER_TIMEZONE", field: "userTimezone", shown: "the machine's", doc: "IANA name of the user's time zone"},
		func(c *Config) *Zone { return &c.Timezone }, ianaZone),
	bind(variable{name: "HINT_MAX_INFLIGHT", field: "maxInflight", def: strconv.Itoa(classify.DefaultMaxInflight), kind: kindNumber, doc: "classifications at once; beyond it the local answer is given"},
		func(c *Config) *int { return &c.Classifier.MaxInflight }, wholeNumber(1, math.MaxInt32)),
	bind(variable{name: "HINT_SESSION_RETENTION", field: "sessionRetention", def: "336h", kind: kindDuration, restart: true, doc: "sessions untouched for longer are removed; 0 keeps all"},
		func(c *Config) *time.Duration { return &c.Store.Retention }, duration(0)),
	bind(variable{name: "HINT_HISTORY_LIMIT", field: "historyLimit", def: "200", kind: kindNumber, restart: true, doc: "turns kept in a session file"},
		func(c *Config) *int { return &c.Store.HistoryLimit }, wholeNumber(0, math.MaxInt32)),
}

// Variable describes one environment variable.
type Variable struct {
	// Name is that of the environment, Field that of a file ("" for none).
	Name, Field string
	// Default is what it is without being set, "" for nothing.
	Default string
	Meaning string
}

// Variables returns all environment variables in the order of contract §9.
func Variables() []Variable {
	out := make([]Variable, 0, len(variables))
	for _, v := range variables {
		if v.name == "" {
			continue
		}
		def := v.def
		if v.shown != "" {
			def = v.shown
		}
		out = append(out, Variable{Name: v.name, Field: v.field, Default: def, Meaning: v.doc})
	}
	return out
}

// Usage writes a table of all variables, for --help.
func Usage(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range Variables() {
		meaning := v.Meaning
		if v.Default != "" {
			meaning += " (default " + v.Default + ")"
		}
		if _, err := fmt.Fprintf(table, "  %s\t%s\n", v.Name, meaning); err != nil {
			return err
		}
	}
	return table.Flush()
}

// LogValue is the effective configuration without secrets, under the names
// that a file uses. It implements [slog.LogValuer].
func (c *Config) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, len(variables))
	for _, v := range variables {
		field := v.field
		if v.name == variableConfig {
			field = "config"
		}
		value := v.value(c)
		if v.def == "" && reflect.ValueOf(value).IsZero() {
			continue
		}
		text := effective(value)
		if text == "" || text == "{}" {
			continue
		}
		attrs = append(attrs, slog.String(field, redact(text)))
	}
	return slog.GroupValue(attrs...)
}

func effective(value any) string {
	switch value := value.(type) {
	case []string:
		return strings.Join(value, ",")
	case Zone:
		return value.Name
	case time.Duration, slog.Level, bool, int, int64, float64, string, classify.Mode, conversation.QueryMode:
		return fmt.Sprint(value)
	case Triage, KnowHub:
		return "" // Off; what is refused when it is on has no effect.
	case map[string]time.Duration:
		texts := make(map[string]string, len(value))
		for k, d := range value {
			texts[k] = d.String()
		}
		return marshal(texts)
	default:
		return marshal(value)
	}
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
