// Package config reads the settings of contract §9: the environment, and the
// JSON5 file that HINT_CONFIG names, under one table of variables that says
// for each how it is read, what is allowed, and what it is without being set.
//
// Every wrong value is reported at once ([Errors]); a value that is not known
// to be right never gets into a [Config].
package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/render"
	"intenthint/model/provider"
)

// Config is one complete configuration. It is made by [Load] and [Watch] and
// is not changed afterwards: its slices and maps are to be read only.
type Config struct {
	// File is the JSON5 file that was read (HINT_CONFIG), "" for none.
	File string
	// DataDir holds the JetStream store of an embedded server and other state.
	DataDir string
	// AllowOpen lets listeners beyond this machine ask nobody who they are.
	AllowOpen bool

	Bus        Bus
	Store      Store
	HTTP       HTTP
	Log        Log
	Policy     Policy
	Query      Query
	Classifier Classifier

	// IntentsDir holds intent files; "" means those built into the binary.
	IntentsDir string
	// Complexity replaces built-in complexity prompts.
	Complexity render.Prompts
	// Timezone is the user's zone.
	Timezone Zone
	// HookTimeouts is the time that one handler of a hook has, by hook.
	HookTimeouts map[string]time.Duration

	Triage  Triage
	KnowHub KnowHub

	content [32]byte // SHA-256 of File as it was read
}

// Bus is how the program reaches NATS and what it calls its own there.
type Bus struct {
	// URLs are the servers to connect to; none means an embedded one.
	URLs []string
	// Creds is a credentials file, "" for none.
	Creds string
	// NKey is a file with a user's seed, "" for none.
	NKey string
	// CA is a PEM file of authorities, "" for the machine's.
	CA string
	// Cert and Key are PEM files, "" for none; there are both or neither.
	Cert, Key string
	// InboxPrefix begins the subjects on which replies come.
	InboxPrefix string
	// Conf is the configuration file of the embedded server. It may be
	// missing only when it is the default one.
	Conf string
	// Port overrides the embedded server's port; -1 picks a free one, 0
	// leaves the choice to Conf.
	Port int
	// Prefix begins every subject.
	Prefix string
	// QueueGroup names the queue group and the durable consumer.
	QueueGroup string
	// Stream names the event stream.
	Stream string
	// StreamMaxAge is how long a stream that is created keeps events; 0 means
	// for ever.
	StreamMaxAge time.Duration
	// StreamMaxBytes limits a stream that is created; -1 means no limit.
	StreamMaxBytes int64
	// StreamReplicas is how many servers of a cluster hold what is created.
	StreamReplicas int
}

// Kinds of [Store].
const (
	StoreFile = "file" // files on this machine
	StoreKV   = "kv"   // JetStream key-value, for several hosts
)

// Store is where sessions are kept.
type Store struct {
	// Kind is [StoreFile] or [StoreKV].
	Kind string
	// SessionsDir holds the session files.
	SessionsDir string
	// Retention is how long an untouched session is kept; 0 means for ever.
	Retention time.Duration
	// HistoryLimit is how many turns stay in a session file.
	HistoryLimit int
}

// HTTP is where /healthz, /readyz and /metrics are served.
type HTTP struct {
	// Addr is host:port; "" means nowhere.
	Addr string
	// Fixed says that the operator chose Addr: when it is taken that is an
	// error, and no other port is tried.
	Fixed bool
}

// Policy says which turns get a hint (contract §4). Matching of agents and
// intents is by glob in any case of letters.
type Policy struct {
	// Agents are patterns of agent ids.
	Agents []string
	// IntentDeny maps patterns of agent ids to patterns of intent ids.
	IntentDeny map[string][]string
	// ChatTypes are of the Chat constants of package eligibility.
	ChatTypes []string
	// AllowedChatIDs and DeniedChatIDs are in lower case.
	AllowedChatIDs []string
	DeniedChatIDs  []string
	// MainKey is the gateway's session.mainKey, in lower case.
	MainKey string
}

// Query says how much of a conversation a classifier sees.
type Query struct {
	Mode   conversation.QueryMode
	Window conversation.Window
}

// Classifier says who classifies, and within what limits.
type Classifier struct {
	// Mode is never "auto": that is resolved by whether there is a model.
	Mode classify.Mode
	// LocalAccept is the probability from which a local answer is given
	// without asking a model, under mode cascade.
	LocalAccept float64
	// MinConfidence is the confidence below which no hint is given.
	MinConfidence float64
	// Model and Fallback are provider/model, "" for none.
	Model    string
	Fallback string
	// Embedding is the embedding model that helps the local classifier,
	// provider/model, "" for none. Its provider is one that has such models.
	Embedding string
	// Providers adds to the built-in providers or overrides fields of them.
	Providers map[string]provider.Config
	// MaxInflight is how many classifications may run at once.
	MaxInflight int
	// Timeout is the longest a gateway is kept waiting.
	Timeout time.Duration
}

// Zone is a time zone and its IANA name.
type Zone struct {
	Name     string
	Location *time.Location
}

// Load reads the environment and the file that HINT_CONFIG names. When any
// value is wrong the error is an [Errors] with all of them; the warnings are
// good in either case.
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

// build makes a configuration of the defaults, the file that the environment
// names and the environment, each winning over what stands before it.
func build(env map[string]string, file snapshot) (*Config, []Warning, error) {
	var (
		problems Errors
		warnings []Warning
		given    = make(map[string]Problem) // where the value of a variable stands that is not its default
		c        = new(Config)
	)
	for _, v := range variables {
		if v.def != "" {
			if err := v.set(c, v.def); err != nil {
				problems = append(problems, Problem{Variable: v.name, Value: v.def}.because(err))
			}
		}
	}
	if path := env[variableConfig]; path != "" {
		fields, notes, err := file.fields()
		if err != nil {
			problems = append(problems, Problem{Variable: variableConfig, Value: path}.because(err))
		}
		for _, note := range append(notes, misspelt(fields)...) {
			warnings = append(warnings, Warning{Variable: variableConfig, Message: path + ": " + note})
		}
		for _, v := range variables {
			value, ok := fields[v.field]
			if !ok || v.field == "" {
				continue
			}
			text, err := v.kind.text(value)
			if err == nil && text == "" {
				continue
			}
			if err == nil {
				err = v.set(c, text)
			}
			place := Problem{Variable: variableConfig, Path: path, Field: v.field, Value: show(value)}
			if err != nil {
				problems = append(problems, place.because(err))
				continue
			}
			given[v.name] = place
		}
	}
	for _, v := range variables {
		text := env[v.name]
		if v.name == "" || text == "" {
			continue
		}
		place := Problem{Variable: v.name, Value: text}
		if err := v.set(c, text); err != nil {
			problems = append(problems, place.because(err))
			continue
		}
		given[v.name] = place
	}
	problems = append(problems, c.finish(given, problems)...)
	if len(problems) > 0 {
		problems.sort()
		return nil, warnings, problems
	}
	c.content = file.sum
	return c, append(warnings, c.doubts()...), nil
}

// finish fills what depends on several values. Values that were found wrong
// already are not reported a second time.
func (c *Config) finish(given map[string]Problem, already Errors) Errors {
	var problems Errors
	if c.Store.SessionsDir == "" {
		c.Store.SessionsDir = filepath.Join(c.DataDir, "sessions")
	}
	_, c.HTTP.Fixed = given["HINT_HTTP_ADDR"]
	if c.Timezone.Location == nil {
		c.Timezone = machineZone("/")
	}
	problems = append(problems, c.Bus.certificate(given, already)...)
	hasModel := c.Classifier.Model != "" || c.Classifier.Fallback != ""
	switch {
	case c.Classifier.Mode == modeAuto && hasModel:
		c.Classifier.Mode = classify.ModeHedged
	case c.Classifier.Mode == modeAuto:
		c.Classifier.Mode = classify.ModeLocal
	case c.Classifier.Mode != classify.ModeLocal && !hasModel && !already.maybeModel():
		problems = append(problems, given["HINT_CLASSIFIER"].because(
			errors.New("must be local or auto, or HINT_MODEL must be set to provider/model")))
	}
	if c.Classifier.Embedding != "" && !already.maybeProvider() {
		if err := provider.CheckEmbedder(c.Classifier.Embedding, c.Classifier.Providers); err != nil {
			problems = append(problems, given["HINT_EMBEDDING_MODEL"].because(
				fmt.Errorf("must be provider/model of a provider with embeddings, built in or in HINT_PROVIDERS (%w)", err)))
		}
	}
	return problems
}

// certificate checks that the client certificate and its key belong together.
func (b *Bus) certificate(given map[string]Problem, already Errors) Errors {
	const cert, key = "HINT_NATS_CERT", "HINT_NATS_KEY"
	if slices.ContainsFunc(already, func(p Problem) bool {
		return p.Variable == cert || p.Variable == key || p.Field == "natsCert" || p.Field == "natsKey"
	}) {
		return nil
	}
	switch {
	case b.Cert == "" && b.Key == "":
		return nil
	case b.Key == "":
		return Errors{given[cert].because(errors.New("must come with HINT_NATS_KEY, the file of its key"))}
	case b.Cert == "":
		return Errors{given[key].because(errors.New("must come with HINT_NATS_CERT, the file of the certificate"))}
	}
	if _, err := tls.LoadX509KeyPair(b.Cert, b.Key); err != nil {
		return Errors{given[cert].because(errors.New("must be a client certificate whose key is in HINT_NATS_KEY (" + err.Error() + ")"))}
	}
	return nil
}

// doubts are warnings about values that are allowed and may be mistakes.
func (c *Config) doubts() []Warning {
	var warnings []Warning
	for _, m := range []struct{ variable, ref string }{
		{"HINT_MODEL", c.Classifier.Model}, {"HINT_MODEL_FALLBACK", c.Classifier.Fallback},
	} {
		name := providerOf(m.ref)
		_, configured := c.Classifier.Providers[name]
		_, builtin := provider.Builtin()[name]
		if m.ref != "" && !configured && !builtin {
			warnings = append(warnings, Warning{
				Variable: m.variable,
				Message:  quote(m.ref) + ": provider " + name + " is neither built in nor in HINT_PROVIDERS; the model cannot be asked",
			})
		}
	}
	if host, _, err := net.SplitHostPort(c.HTTP.Addr); err == nil && !onThisMachine(host) && !c.AllowOpen {
		warnings = append(warnings, Warning{Variable: "HINT_HTTP_ADDR", Message: quote(c.HTTP.Addr) + " is open to everybody who reaches this machine, as the figures and the state of the program are; HINT_ALLOW_OPEN=1 says that this is meant"})
	}
	for _, hook := range slices.Sorted(maps.Keys(c.HookTimeouts)) {
		if !isDecisionHook(hook) {
			warnings = append(warnings, Warning{Variable: "HINT_HOOK_TIMEOUTS", Message: quote(hook) + " is no hook that a gateway waits for; its time-out has no effect"})
		}
	}
	return warnings
}
