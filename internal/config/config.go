// Package config reads the settings of contract §9 from the environment and
// from the JSON5 file that HINT_CONFIG names. One list, settings, declares for
// each its name, default, meaning and parser, and whether it needs a restart.
//
// Every wrong value is reported at once ([Errors]); none gets into a [Config].
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
	"strings"
	"time"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/render"
	"intenthint/internal/netaddr"
	"intenthint/model/provider"
	"intenthint/subjects"
)

// Config is one complete configuration. [Load] and [Watch] make it; it does not
// change afterwards, and neither may its slices and maps.
type Config struct {
	File      string // the JSON5 file that was read (HINT_CONFIG), "" for none
	DataDir   string // JetStream store of an embedded server, and other state
	AllowOpen bool   // allow listeners that other machines reach without authentication

	Bus        Bus
	Store      Store
	HTTP       HTTP
	Log        Log
	Policy     Policy
	Query      Query
	Classifier Classifier

	IntentsDir   string                   // directory of intent files, "" for the built-in ones
	Complexity   render.Prompts           // replaces built-in complexity prompts
	Timezone     Zone                     // that of the user
	HookTimeouts map[string]time.Duration // timeout of each handler of a hook, by hook

	Triage  Triage
	KnowHub KnowHub

	content [32]byte // SHA-256 of File as it was read
}

// Bus is how the program reaches NATS, and the names that it uses there. Every
// file is "" for none.
type Bus struct {
	URLs        []string // servers to connect to; none means an embedded one
	Creds       string   // credentials file
	NKey        string   // file with the seed of an nkey user
	CA          string   // PEM file of authorities, in place of the machine's
	Cert, Key   string   // PEM files; there are both or neither
	InboxPrefix string   // prefix of the reply subjects
	Conf        string   // configuration file of the embedded server; only the default one may be missing
	Port        int      // port of the embedded server; -1 picks a free one, 0 keeps that of Conf
	Prefix      string   // prefix of every subject
	QueueGroup  string   // queue group and durable consumer
	Stream      string   // event stream

	// For what is created, and not for what exists:
	StreamMaxAge   time.Duration // how long a stream keeps events; 0 means forever
	StreamMaxBytes int64         // size limit of a stream; -1 means none
	StreamReplicas int           // servers that hold a stream or bucket
}

// Log is how the program logs.
type Log struct {
	Format string // auto, text or json
	Level  slog.Level
}

// Kinds of [Store].
const (
	StoreFile = "file" // files on this machine
	StoreKV   = "kv"   // JetStream key-value, for several hosts
)

// Store is where sessions are kept.
type Store struct {
	Kind         string        // StoreFile or StoreKV
	SessionsDir  string        // directory of the session files
	Retention    time.Duration // how long an untouched session is kept; 0 means forever
	HistoryLimit int           // turns that stay in a session file
}

// HTTP is where /healthz, /readyz and /metrics are served.
type HTTP struct {
	Addr  string // host:port; "" means nowhere
	Fixed bool   // the operator chose Addr: no other port is tried when it is in use
}

// Policy is which turns get a hint (contract §4). Patterns of agents and
// intents are globs and ignore case.
type Policy struct {
	Agents         []string            // patterns of agent ids
	IntentDeny     map[string][]string // patterns of intent ids, by pattern of agent ids
	ChatTypes      []string            // of the Chat constants of package eligibility
	AllowedChatIDs []string            // in lower case
	DeniedChatIDs  []string            // in lower case
	MainKey        string              // the gateway's session.mainKey, in lower case
}

// Query is how much of a conversation a classifier sees.
type Query struct {
	Mode   conversation.QueryMode
	Window conversation.Window
}

// Classifier is what classifies, and its limits. Every model is provider/model,
// "" for none.
type Classifier struct {
	Mode          classify.Mode              // never "auto": that becomes hedged with a model, local without
	LocalAccept   float64                    // confidence from which cascade gives the local answer without asking a model
	MinConfidence float64                    // confidence below which no hint is given
	Model         string                     // asked first
	Fallback      string                     // asked when Model fails
	Embedding     string                     // helps the local classifier; its provider has embeddings
	Providers     map[string]provider.Config // added to the built-in ones, or override fields of them
	MaxInflight   int                        // limit of concurrent classifications
	Timeout       time.Duration              // longest time that a gateway waits
}

// Zone is a time zone and its IANA name.
type Zone struct {
	Name     string
	Location *time.Location
}

// Load reads the environment and the file that HINT_CONFIG names. When values
// are wrong the error is an [Errors] with all of them. The warnings are valid
// in either case.
func Load() (*Config, []Warning, error) {
	env, err := readEnvironment()
	if err != nil {
		return nil, nil, err
	}
	warnings := unknownVariables(os.Environ())
	var file snapshot
	if path := env[variableConfig]; path != "" {
		file = newSnapshot(readFile(path))
	}
	c, more, err := build(env, file)
	return c, append(warnings, more...), err
}

// build makes a configuration from the defaults, the file that the environment
// names, and the environment; the later wins.
func build(env map[string]string, file snapshot) (*Config, []Warning, error) {
	var (
		problems Errors
		warnings []Warning
		given    = make(map[string]Problem) // the values that are no defaults, by field
		c        = new(Config)
	)
	set := func(s setting, p Problem, text string) {
		if err := s.set(c, text); err != nil {
			problems = append(problems, p.because(err))
			return
		}
		given[s.field] = p
	}
	for _, s := range settings {
		if s.def != "" {
			set(s, Problem{Variable: s.env(), Value: s.def}, s.def)
		}
	}
	clear(given)
	if path := env[variableConfig]; path != "" {
		fields, notes, err := file.fields()
		if err != nil {
			problems = append(problems, Problem{Variable: variableConfig, Value: path}.because(err))
		}
		for _, note := range append(notes, unknownFields(fields)...) {
			warnings = append(warnings, Warning{Variable: variableConfig, Message: path + ": " + note})
		}
		for _, s := range settings {
			value, ok := fields[s.field]
			if !ok || !s.inFile() {
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
	for _, s := range settings {
		if text := env[s.env()]; text != "" {
			set(s, Problem{Variable: s.env(), Value: text}, text)
		}
	}
	problems = append(problems, c.finish(given, problems)...)
	if len(problems) > 0 {
		problems.sort()
		return nil, warnings, problems
	}
	c.content = file.sum
	return c, append(warnings, c.doubts()...), nil
}

// finish sets what depends on several values. Values that are already known to
// be wrong are not reported again, and neither is what a file that cannot be
// read may have set.
func (c *Config) finish(given map[string]Problem, already Errors) Errors {
	var problems Errors
	wrong := func(field string, err error) { problems = append(problems, given[field].because(err)) }
	if c.Store.SessionsDir == "" {
		c.Store.SessionsDir = filepath.Join(c.DataDir, "sessions")
	}
	_, c.HTTP.Fixed = given["httpAddr"]
	if c.Timezone.Location == nil {
		c.Timezone = machineZone("/")
	}
	if !already.concern("natsCert", "natsKey") {
		if field, err := c.Bus.certificate(); err != nil {
			wrong(field, err)
		}
	}
	hasModel := c.Classifier.Model != "" || c.Classifier.Fallback != ""
	switch {
	case c.Classifier.Mode == modeAuto && hasModel:
		c.Classifier.Mode = classify.ModeHedged
	case c.Classifier.Mode == modeAuto:
		c.Classifier.Mode = classify.ModeLocal
	case c.Classifier.Mode != classify.ModeLocal && !hasModel && !already.concern("model", "modelFallback", fieldConfig):
		wrong("classifier", errors.New("must be local or auto, or HINT_MODEL must be set to provider/model"))
	}
	if c.Classifier.Embedding != "" && !already.concern("providers", fieldConfig) {
		if err := provider.CheckEmbedder(c.Classifier.Embedding, c.Classifier.Providers); err != nil {
			wrong("embeddingModel", fmt.Errorf("must be provider/model of a provider with embeddings, built in or in HINT_PROVIDERS (%w)", err))
		}
	}
	return problems
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

// doubts are warnings about values that are allowed and may be mistakes.
func (c *Config) doubts() []Warning {
	var warnings []Warning
	warn := func(variable, value, message string) {
		warnings = append(warnings, Warning{Variable: variable, Message: quote(value) + message})
	}
	for _, m := range []struct{ variable, ref string }{
		{"HINT_MODEL", c.Classifier.Model}, {"HINT_MODEL_FALLBACK", c.Classifier.Fallback},
	} {
		name, _, _ := strings.Cut(m.ref, "/")
		_, configured := c.Classifier.Providers[name]
		_, builtin := provider.Builtin()[name]
		if m.ref != "" && !configured && !builtin {
			warn(m.variable, m.ref, ": provider "+name+" is neither built in nor in HINT_PROVIDERS; the model cannot be asked")
		}
	}
	if host, _, err := net.SplitHostPort(c.HTTP.Addr); err == nil && !netaddr.IsLoopback(host) && !c.AllowOpen {
		warn("HINT_HTTP_ADDR", c.HTTP.Addr, " is reachable from other machines, and its metrics and health checks require no authentication; HINT_ALLOW_OPEN=1 confirms that this is intended")
	}
	for _, hook := range slices.Sorted(maps.Keys(c.HookTimeouts)) {
		if subjects.KindOf(hook) != subjects.Decision {
			warn("HINT_HOOK_TIMEOUTS", hook, " is not a hook that a gateway waits for; its timeout has no effect")
		}
	}
	return warnings
}
