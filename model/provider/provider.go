package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Wire formats: the api of a provider.
const (
	APIOpenAI    = "openai-completions"
	APIAnthropic = "anthropic-messages"
)

// Errors of this package, besides [*StatusError]. Their texts never hold a key.
var (
	// ErrUnresolved: a reference names no provider that is configured, or one
	// whose key is not set.
	ErrUnresolved = errors.New("model cannot be resolved")
	// errRefused: the model or its provider declined to answer.
	errRefused = errors.New("refusal by the model")
	// errTruncated: the answer reached its length limit.
	errTruncated = errors.New("answer truncated at its length limit")
	// errEmpty: the answer holds no text.
	errEmpty = errors.New("empty answer")
	// ErrMalformed: the body is not what the API promises.
	ErrMalformed = errors.New("malformed response")
	// errTooLarge: the body is longer than [maxBody], or its like for vectors.
	errTooLarge = errors.New("response too large")
)

// Config is how to reach a provider: an entry of HINT_PROVIDERS.
type Config struct {
	// BaseURL is http or https, to which the path of the API is appended.
	BaseURL string `json:"baseUrl"`
	// API is one of the API constants.
	API string `json:"api"`
	// APIKeyEnv names the environment variable that holds the key; "" for a
	// provider that needs none.
	APIKeyEnv string `json:"apiKeyEnv"`
}

// builtin are the providers that need no configuration but their key.
var builtin = map[string]Config{
	"openai":     {BaseURL: "https://api.openai.com/v1", API: APIOpenAI, APIKeyEnv: "OPENAI_API_KEY"},
	"anthropic":  {BaseURL: "https://api.anthropic.com", API: APIAnthropic, APIKeyEnv: "ANTHROPIC_API_KEY"},
	"google":     {BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", API: APIOpenAI, APIKeyEnv: "GEMINI_API_KEY"},
	"openrouter": {BaseURL: "https://openrouter.ai/api/v1", API: APIOpenAI, APIKeyEnv: "OPENROUTER_API_KEY"},
	"ollama":     {BaseURL: "http://127.0.0.1:11434/v1", API: APIOpenAI},
}

// Builtin returns the providers that are there without configuration.
func Builtin() map[string]Config { return maps.Clone(builtin) }

// Validate returns what is wrong with the entry of a provider. Fields that a
// built-in provider of that name has may be absent.
func Validate(name string, c Config) error {
	_, err := settle(name, c)
	return err
}

// variableName matches names of environment variables, but hardly a key that was
// put there by mistake.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// settle validates an entry and fills in what it leaves out.
func settle(name string, c Config) (entry, error) {
	if name == "" || strings.ContainsAny(name, "/ \t\r\n") {
		return entry{}, fmt.Errorf("provider %q: the name must not be empty and must not hold a slash or white space", name)
	}
	base, known := builtin[name]
	e := entry{api: c.API, keyEnv: c.APIKeyEnv, keyRequired: c.APIKeyEnv != ""}
	if e.api == "" {
		e.api = APIOpenAI
		if known {
			e.api = base.API
		}
	}
	if e.api != APIOpenAI && e.api != APIAnthropic {
		return entry{}, fmt.Errorf("provider %q: api is %q, not %s or %s", name, c.API, APIOpenAI, APIAnthropic)
	}
	if e.keyEnv == "" && known {
		// An entry with an address of its own may stand for a local server, so
		// the key of the built-in one is optional.
		e.keyEnv, e.keyRequired = base.APIKeyEnv, base.APIKeyEnv != "" && c.BaseURL == ""
	}
	if e.keyEnv != "" && !variableName.MatchString(e.keyEnv) {
		return entry{}, fmt.Errorf("provider %q: apiKeyEnv must be the name of an environment variable", name)
	}
	raw := strings.TrimSpace(c.BaseURL)
	if raw == "" {
		raw = base.BaseURL
	}
	if raw == "" {
		return entry{}, fmt.Errorf("provider %q: baseUrl is missing", name)
	}
	u, err := url.Parse(raw)
	// The address itself is not quoted: it may hold a misplaced secret.
	switch {
	case err != nil:
		return entry{}, fmt.Errorf("provider %q: baseUrl is not a URL", name)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return entry{}, fmt.Errorf("provider %q: baseUrl must be an http or https URL with a host", name)
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return entry{}, fmt.Errorf("provider %q: baseUrl must have no user, query or fragment; keys belong in the variable that apiKeyEnv names", name)
	}
	e.baseURL = strings.TrimRight(u.String(), "/")
	if e.api == APIAnthropic {
		// The client appends v1/messages itself.
		e.baseURL = strings.TrimSuffix(e.baseURL, "/v1")
	}
	return e, nil
}

// entry is a provider, settled.
type entry struct {
	baseURL, api, keyEnv string
	keyRequired          bool
}

// Request is one question to a model.
type Request struct {
	// System is the part that does not change from request to request;
	// providers that cache prompts are told so.
	System string
	User   string
	// MaxTokens bounds the answer.
	MaxTokens int
	// Temperature is the sampling temperature, for models that take one; 0 for
	// a low one: the same question should get the same answer.
	Temperature float64
	// Schema is the JSON schema of the answer, enforced where the provider can
	// do that; nil for free text. SchemaName is its name.
	Schema     json.RawMessage
	SchemaName string
}

// Completion is an answer.
type Completion struct {
	Text  string
	Usage Usage
}

// Usage counts tokens as the provider reports them.
type Usage struct {
	// InputTokens includes those that came from the provider's prompt cache.
	InputTokens  int
	OutputTokens int
	CachedTokens int
}

// Completer is one model of one provider.
type Completer interface {
	// Complete asks the model once; it never waits and tries again. It
	// returns when ctx is done. A usage may come with an error.
	Complete(ctx context.Context, req Request) (Completion, error)
}

// Options of a [Registry].
type Options struct {
	// Transport carries the requests; nil for one shared by the whole process,
	// whose connections stay warm when registries are replaced.
	Transport http.RoundTripper
	// Getenv reads keys; nil for [os.Getenv].
	Getenv func(string) string
}

// Registry resolves references to models. It is immutable: a new configuration
// is a new registry.
type Registry struct {
	providers map[string]connection

	mu     sync.Mutex
	models map[string]Completer // by reference
}

// connection is a provider that can be asked, or the reason why it cannot.
type connection struct {
	entry
	client *client
	err    error
}

// maxModels bounds the models whose quirks are remembered: references come from
// gateways too.
const maxModels = 256

// New returns the registry of the built-in providers and those configured. An
// entry with the name of a built-in provider overrides it; fields it leaves out
// keep the built-in value.
func New(configured map[string]Config, opts Options) (*Registry, error) {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Transport == nil {
		opts.Transport = sharedTransport()
	}
	all := Builtin()
	maps.Copy(all, configured)

	r := &Registry{providers: make(map[string]connection, len(all)), models: make(map[string]Completer)}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, err := settle(name, all[name])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var key string
		if e.keyEnv != "" {
			key = strings.TrimSpace(opts.Getenv(e.keyEnv))
		}
		c := connection{entry: e, client: newClient(opts.Transport, key)}
		if key == "" && e.keyRequired {
			c.err = fmt.Errorf("%w: provider %q needs a key in the environment variable %s", ErrUnresolved, name, e.keyEnv)
		}
		r.providers[name] = c
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// splitRef splits provider/model at the first slash: models may have slashes
// of their own.
func splitRef(ref string) (name, model string, err error) {
	name, model, _ = strings.Cut(strings.TrimSpace(ref), "/")
	if name == "" || model == "" {
		return "", "", fmt.Errorf("%w: %q is not of the form provider/model", ErrUnresolved, ref)
	}
	return name, model, nil
}

// Resolve returns the model of a reference. It opens no connection, so a model
// that does not exist fails when it is asked. Errors are [ErrUnresolved].
func (r *Registry) Resolve(ref string) (Completer, error) {
	name, model, err := splitRef(ref)
	if err != nil {
		return nil, err
	}
	c, ok := r.providers[name]
	if !ok {
		return nil, notConfigured(name)
	}
	if c.err != nil {
		return nil, c.err
	}
	key := name + "/" + model
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, ok := r.models[key]; ok {
		return m, nil
	}
	var m Completer
	if c.api == APIAnthropic {
		m = newAnthropicModel(c, model)
	} else {
		m = newOpenAIModel(c, model)
	}
	if len(r.models) < maxModels {
		r.models[key] = m
	}
	return m, nil
}
