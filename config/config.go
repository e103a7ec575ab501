// Package config reads the settings of contract §9 from the environment and
// from the JSON5 file that HINT_CONFIG names. One list, settings, declares for
// each its name, default, meaning and parser, and whether it needs a restart.
//
// All wrong values are reported together ([Errors]); none gets into a [Config].
package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/internal/netaddr"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
)

// Config is one complete configuration. [Load], [LoadFrom] and [Watch] make it.
// It is immutable, including its slices and maps.
type Config struct {
	File      string // the JSON5 file that was read (HINT_CONFIG), "" for none
	DataDir   string // JetStream store of an embedded server, and other state
	AllowOpen bool   // allow listeners that other machines reach without authentication
	Auth      string // AuthOn or AuthOff
	Contexts  string // directory of the contexts of the nats command line; "" for none

	Bus        Bus
	Store      Store
	HTTP       HTTP
	Log        Log
	Policy     Policy
	Query      Query
	Classifier Classifier

	IntentsDir   string                   // directory of intent files, "" for the built-in ones
	Form         render.Form              // how much a hint says
	Frame        render.Frame             // what of a hint is untrusted context
	Repeat       repetition.Rule          // when a hint is repeated
	Holdout      float64                  // share of sessions that get no hint
	Prices       map[string]payload.Price // prices of the agents' models, by provider/model
	Complexity   render.Prompts           // replaces built-in complexity prompts
	Timezone     Zone                     // the user's time zone
	HookTimeouts map[string]time.Duration // timeout of each handler of a hook, by hook
	Redact       string                   // RedactOff or RedactStrict
	Learn        string                   // LearnOff or LearnAuto

	Parts part.Values // the settings of the parts

	objects []part.Object     // what the parts declare
	env     map[string]string // the variables it was made from
	content [32]byte          // SHA-256 of File as it was read
	shared  bool              // others may write File
}

// Bus is how the program reaches NATS, and the names that it uses there. A file
// name of "" means none.
type Bus struct {
	URLs        []string // servers to connect to; none means an embedded one
	Context     string   // file of a context of the nats command line; URLs and InboxPrefix are its own then, if they are not set
	Creds       string   // credentials file
	NKey        string   // file with the seed of an nkey user
	CA          string   // PEM file of authorities, instead of the machine's
	Cert, Key   string   // PEM files; either both are set or neither
	TLSFirst    bool     // connections begin with TLS
	InboxPrefix string   // prefix of the reply subjects
	Conf        string   // configuration file of the embedded server; only the default one may be missing
	Port        int      // port of the embedded server; -1 picks a free one, 0 keeps that of Conf
	Prefix      string   // prefix of every subject
	QueueGroup  string   // queue group and durable consumer
	Stream      string   // event stream

	// Only for streams and buckets that are created:
	StreamMaxAge   time.Duration // how long a stream keeps events; 0 means forever
	StreamMaxBytes int64         // size limit of a stream; -1 means none
	StreamReplicas int           // servers that hold a stream or bucket
}

// Log is how the program logs.
type Log struct {
	Format string // auto, text or json
	Level  slog.Level
}

// Values of [Classifier.Embedding] other than a provider's model.
const (
	EmbeddingBuiltIn = "builtin"
	EmbeddingOff     = "off"
)

// Values of [Config.Redact]: what is redacted in text that the program writes.
const (
	RedactOff    = "off"
	RedactStrict = "strict" // see package redact
)

// Values of [Config.Auth]: whether processes of this machine must authenticate.
const (
	AuthOn  = "on"
	AuthOff = "off"
)

// Values of [Config.Learn]: whether the local classifier learns from use.
const (
	LearnOff  = "off"
	LearnAuto = "auto" // see package learning
)

// Kinds of [Store].
const (
	StoreFile = "file" // files on this machine
	StoreKV   = "kv"   // JetStream key-value, for several hosts
)

// Store tells where sessions are stored.
type Store struct {
	Kind         string        // StoreFile or StoreKV
	SessionsDir  string        // directory of the session files
	Retention    time.Duration // how long an untouched session is kept; 0 means forever
	HistoryLimit int           // turns that stay in a session file
}

// HTTP tells where /healthz, /readyz, /metrics and the pages are served.
type HTTP struct {
	Addr  string // host:port; "" means nowhere
	Token string // required by the pages; "" for one that is made, or none with AuthOff
	// Public are the URLs of the pages behind a reverse proxy, of the form
	// scheme://host[:port][/base].
	Public []string
	Fixed  bool // the operator chose Addr: no other port is tried when it is in use
}

// Policy determines which turns get a hint (contract §4). Patterns of agents
// and intents are globs and ignore case.
type Policy struct {
	Agents         []string            // patterns of agent ids
	IntentDeny     map[string][]string // patterns of intent ids, by pattern of agent ids
	ChatTypes      []string            // values of the Chat constants of package eligibility
	AllowedChatIDs []string            // in lower case
	DeniedChatIDs  []string            // in lower case
	MainKey        string              // the gateway's session.mainKey, in lower case
}

// Query is how much of a conversation a classifier sees.
type Query struct {
	Mode   conversation.QueryMode
	Window conversation.Window
	Frames string // for [conversation.ParseFrames]
}

// Classifier configures classification and its limits. Models are
// provider/model, "" for none.
type Classifier struct {
	Mode          classify.Mode              // never "auto": that becomes hedged with a model, local without
	LocalAccept   float64                    // confidence from which cascade gives the local answer without asking a model
	MinConfidence float64                    // confidence below which no hint is given
	Model         string                     // asked first
	Fallback      string                     // asked when Model fails
	Embedding     string                     // helps the local classifier: EmbeddingBuiltIn, EmbeddingOff, or a model whose provider has embeddings
	Writer        string                     // rewrites the intent's prompt for the turn
	Decide        string                     // answers typed questions; not part of the classification
	Providers     map[string]provider.Config // added to the built-in ones, or overriding their fields
	MaxInflight   int                        // limit of concurrent classifications
	Timeout       time.Duration              // the longest time that a gateway waits
}

func (c *Classifier) hasModel() bool { return c.Model != "" || c.Fallback != "" }

// PromptModel returns the model for questions in words: Model, or Fallback where that
// answers typed questions only.
func (c *Classifier) PromptModel() string {
	name, _, _ := strings.Cut(c.Model, "/")
	if c.Providers[name].API == provider.APISystemOne {
		return c.Fallback
	}
	return c.Model
}

// AsksModels reports whether hints may be made with a language model.
func (c *Classifier) AsksModels() bool { return c.Mode != classify.ModeLocal || c.Writer != "" }

// Zone is a time zone and its IANA name.
type Zone struct {
	Name     string
	Location *time.Location
}

// Load reads the environment and the file that HINT_CONFIG names, for the program and
// the parts whose objects are given. If values are wrong, the error is an [Errors] with
// all of them. The warnings are valid in either case.
func Load(objects ...part.Object) (*Config, []Warning, error) {
	env, err := readEnvironment(objects)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{variableConfigHome, variableHome} {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
	c, warnings, err := LoadFrom(env, objects...)
	return c, append(unknownVariables(os.Environ(), objects), warnings...), err
}

// The variables that say where the user's configuration is, as the nats command line
// and the plugin read them.
const (
	variableConfigHome = "XDG_CONFIG_HOME"
	variableHome       = "HOME"
)

// contextsDir returns the directory of the contexts of the nats command line, "" without
// a home directory.
func contextsDir(env map[string]string) string {
	dir, home := env[variableConfigHome], env[variableHome]
	switch {
	case dir != "":
	case home != "":
		dir = filepath.Join(home, ".config")
	default:
		return ""
	}
	return filepath.Join(dir, "nats", "context")
}

// LoadFrom is [Load] with the variables in env, by name, instead of the
// environment. Values must have no surrounding white space; an empty one counts
// as not set.
func LoadFrom(env map[string]string, objects ...part.Object) (*Config, []Warning, error) {
	env = maps.Clone(env) // for Watch
	var file snapshot
	if path, err := home(env[variableConfig]); err == nil && path != "" {
		env[variableConfig] = path
		file = readFile(path)
	}
	return build(env, file, objects, nil)
}

// errBlank reports a value of only white space (contract §9).
var errBlank = errors.New("must not be blank; leave it out, or empty, for the default")

// build makes a configuration from the defaults, the file that the environment
// names, and the environment; the later wins. Providers are those of running, unless it
// is nil.
func build(env map[string]string, file snapshot, objects []part.Object, running *Config) (*Config, []Warning, error) {
	var (
		problems Errors
		warnings []Warning
		given    = make(map[string]Problem) // the values set, by field
		c        = &Config{objects: objects}
		all      = withObjects(objects)
	)
	set := func(s setting, p Problem, text string) {
		err := errBlank
		if strings.TrimSpace(text) != "" {
			err = s.set(c, text)
		}
		if err != nil {
			problems = append(problems, p.because(err))
			return
		}
		given[s.field] = p
	}
	for _, s := range all {
		if s.def != "" {
			set(s, Problem{Variable: s.env(), Value: s.def}, s.def)
		}
	}
	clear(given)
	if path := env[variableConfig]; strings.TrimSpace(path) != "" {
		fields, notes, err := file.fields()
		if err != nil {
			problems = append(problems, Problem{Variable: variableConfig, Value: path}.because(err))
		}
		if file.shared {
			notes = append(notes, "others may write this file, and so decide what is sent where; chmod go-w")
		}
		for _, note := range append(notes, unknownFields(fields, all)...) {
			warnings = append(warnings, Warning{Variable: variableConfig, Message: path + ": " + note})
		}
		for _, s := range all {
			value, ok := fields[s.field]
			if !ok || !s.inFile() || env[variableContext] != "" && slices.Contains(ofContext, s.field) {
				continue
			}
			p := Problem{Variable: variableConfig, Path: path, Field: s.field, Value: show(value)}
			if text, err := s.kind.text(value); err != nil {
				problems = append(problems, p.because(err))
			} else if text != "" {
				set(s, p, text)
			}
		}
	}
	for _, s := range all {
		if text := env[s.env()]; text != "" {
			set(s, Problem{Variable: s.env(), Value: text}, text)
		}
	}
	if running != nil {
		if names := c.keepProviders(running); len(names) > 0 {
			warnings = append(warnings, Warning{
				Variable: "HINT_PROVIDERS",
				Message:  quote(strings.Join(names, ", ")) + " stay as they were at the start: addresses and keys of providers need a restart",
			})
		}
	}
	c.Contexts = contextsDir(env)
	problems = append(problems, c.finish(given, problems)...)
	if len(problems) > 0 {
		problems.sort()
		return nil, warnings, problems
	}
	c.env, c.content, c.shared = env, file.sum, file.shared
	return c, append(warnings, c.doubts()...), nil
}

// finish sets what depends on several values. Values already known to be wrong
// are not reported again, nor are settings that an unreadable file may have
// set.
func (c *Config) finish(given map[string]Problem, already Errors) Errors {
	var problems Errors
	wrong := func(field string, err error) { problems = append(problems, given[field].because(err)) }
	_, c.HTTP.Fixed = given["httpAddr"]
	if err := c.useContext(given); err != nil {
		wrong(fieldContext, err)
	}
	if !already.concern("natsCert", "natsKey") {
		if field, err := c.Bus.certificate(); err != nil {
			wrong(field, err)
		}
	}
	if !already.concern("subjectPrefix", "natsInboxPrefix") {
		if err := c.Bus.inboxApart(); err != nil {
			field := "natsInboxPrefix"
			if _, ok := given[field]; !ok {
				field = "subjectPrefix"
			}
			wrong(field, err)
		}
	}
	c.derive(c)
	if c.Classifier.Mode != classify.ModeLocal && !c.Classifier.hasModel() && !already.concern("model", "modelFallback", fieldConfig) {
		wrong("classifier", errors.New("must be local or auto, or HINT_MODEL must be set to provider/model"))
	}
	return problems
}

// DefaultSessionsDir is HINT_SESSIONS_DIR where it is not set.
func DefaultSessionsDir(data string) string { return filepath.Join(data, "sessions") }

// derive sets what is not set and follows from other settings of the
// configuration from.
func (c *Config) derive(from *Config) {
	if c.Store.SessionsDir == "" {
		c.Store.SessionsDir = DefaultSessionsDir(from.DataDir)
	}
	if c.Timezone.Location == nil {
		c.Timezone = machineZone("/")
	}
	if c.Classifier.Mode == modeAuto {
		c.Classifier.Mode = classify.ModeLocal
		if from.Classifier.hasModel() {
			c.Classifier.Mode = classify.ModeHedged
		}
	}
}

// certificate checks that the client certificate and its key belong together,
// and returns the field that is wrong.
func (b *Bus) certificate() (field string, err error) {
	switch {
	case b.Cert == "" && b.Key == "":
		return "", nil
	case b.Key == "":
		return "natsCert", errors.New("must come with HINT_NATS_KEY, the file of its key")
	case b.Cert == "":
		return "natsKey", errors.New("must come with HINT_NATS_CERT, the file of the certificate")
	}
	if _, err := tls.LoadX509KeyPair(b.Cert, b.Key); err != nil {
		return "natsCert", fmt.Errorf("must be a client certificate whose key is in HINT_NATS_KEY (%w)", err)
	}
	return "", nil
}

// inboxApart checks that the inboxes of replies are not subjects of the system, to
// which no reply is sent (contract §2).
func (b *Bus) inboxApart() error {
	prefix, inbox := b.Prefix+".", b.InboxPrefix+"."
	if !strings.HasPrefix(prefix, inbox) && !strings.HasPrefix(inbox, prefix) {
		return nil
	}
	return fmt.Errorf("must not overlap: neither HINT_SUBJECT_PREFIX (%s) nor HINT_NATS_INBOX_PREFIX (%s) may begin with the other, because replies to the system's own subjects are never sent",
		b.Prefix, b.InboxPrefix)
}

// fewBytes is less than a stream needs for a few long turns.
const fewBytes = 64 << 10

// doubts returns warnings about values that are allowed but may be mistakes.
func (c *Config) doubts() []Warning {
	var warnings []Warning
	warn := func(variable, value, message string) {
		warnings = append(warnings, Warning{Variable: variable, Message: quote(value) + message})
	}
	registry, err := provider.New(c.Classifier.Providers, provider.Options{})
	if err != nil {
		warn("HINT_PROVIDERS", "", err.Error()) // the parser refuses these
		return warnings
	}
	for _, name := range unencrypted(c.Classifier.Providers) {
		warn("HINT_PROVIDERS", name, " is asked over http:// on another machine: its key and people's messages can be read on the way")
	}
	first := registry.Check(c.Classifier.Model)
	_, second := registry.Resolve(c.Classifier.Fallback)
	var embedding string
	if c.Classifier.Embedding != EmbeddingBuiltIn && c.Classifier.Embedding != EmbeddingOff {
		embedding = c.Classifier.Embedding
	}
	_, embedder := registry.Embedder(embedding)
	_, writer := registry.Resolve(c.Classifier.Writer)
	decide := registry.Check(c.Classifier.Decide)
	type asked struct {
		variable, ref string
		err           error
	}
	models := []asked{
		{"HINT_MODEL", c.Classifier.Model, first},
		{"HINT_MODEL_FALLBACK", c.Classifier.Fallback, second},
		{"HINT_EMBEDDING_MODEL", embedding, embedder},
		{"HINT_WRITER", c.Classifier.Writer, writer},
		{"HINT_DECIDE_MODEL", c.Classifier.Decide, decide},
	}
	for _, o := range c.objects {
		for _, ref := range part.Models(o, c.Parts[o.Name()]) {
			models = append(models, asked{objectSetting(o).env(), ref, registry.Check(ref)})
		}
	}
	for _, m := range models {
		if m.ref != "" && m.err != nil {
			warn(m.variable, m.ref, " is not asked: "+m.err.Error())
		}
	}
	if most := c.Bus.StreamMaxBytes; most > 0 && most < fewBytes {
		warn("HINT_STREAM_MAX_BYTES", strconv.FormatInt(most, 10), " bytes hold hardly any event, and the stream drops the others; a unit may be missing")
	}
	for _, o := range c.objects {
		if field, doubt := o.Doubt(c.Parts[o.Name()], c.Classifier.PromptModel()); field != "" {
			warn(objectSetting(o).env(), field, doubt)
		}
	}
	if host, _, err := net.SplitHostPort(c.HTTP.Addr); err == nil && !netaddr.IsLoopback(host) && !c.AllowOpen {
		warn("HINT_HTTP_ADDR", c.HTTP.Addr, " is reachable from other machines, and its metrics and health checks require no authentication; HINT_ALLOW_OPEN=1 confirms that this is intended")
	}
	if len(c.HTTP.Public) > 0 && c.HTTP.Token == "" && c.Auth == AuthOff {
		warn("HINT_HTTP_PUBLIC", strings.Join(c.HTTP.Public, ","), " is served without a token; the reverse proxy must ask who comes")
	}
	for _, hook := range slices.Sorted(maps.Keys(c.HookTimeouts)) {
		if subjects.KindOf(hook) != subjects.Decision {
			warn("HINT_HOOK_TIMEOUTS", hook, " is not a hook that a gateway waits for; its timeout has no effect")
		}
	}
	return warnings
}
