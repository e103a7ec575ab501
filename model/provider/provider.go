package provider

import (
	"cmp"
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
	// APISystemOne answers typed questions (contract §15), and no prompts.
	APISystemOne = "systemone"
)

// Errors of this package, besides [*StatusError]. Their texts never hold a key.
var (
	// ErrUnresolved reports a reference whose provider is not configured or has no
	// key.
	ErrUnresolved = errors.New("model cannot be resolved")
	// ErrMalformed reports a response body that violates the API.
	ErrMalformed = errors.New("malformed response")
	errRefused   = errors.New("refusal by the model")
	errTruncated = errors.New("answer truncated at its length limit")
	errEmpty     = errors.New("empty answer")
	errTooLarge  = errors.New("response too large")
)

// Config is how to reach a provider: an entry of HINT_PROVIDERS.
type Config struct {
	BaseURL   string `json:"baseUrl"`   // http or https, to which the path of the API is appended
	API       string `json:"api"`       // one of the API constants
	APIKeyEnv string `json:"apiKeyEnv"` // the variable that holds the key; "" for a provider that needs none
}

// builtin are the providers that need no configuration but their key.
var builtin = map[string]Config{
	"openai":     {BaseURL: "https://api.openai.com/v1", API: APIOpenAI, APIKeyEnv: "OPENAI_API_KEY"},
	"anthropic":  {BaseURL: "https://api.anthropic.com", API: APIAnthropic, APIKeyEnv: "ANTHROPIC_API_KEY"},
	"google":     {BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", API: APIOpenAI, APIKeyEnv: "GEMINI_API_KEY"},
	"openrouter": {BaseURL: "https://openrouter.ai/api/v1", API: APIOpenAI, APIKeyEnv: "OPENROUTER_API_KEY"},
	"ollama":     {BaseURL: "http://127.0.0.1:11434/v1", API: APIOpenAI},
}

// Validate returns an error if the entry of a provider is invalid. Fields that
// a built-in provider of that name has may be absent.
func Validate(name string, c Config) error {
	_, err := settle(name, c)
	return err
}

// variableName matches names of environment variables, but hardly a key that was
// put there by mistake.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// settle validates an entry and fills in missing fields.
func settle(name string, c Config) (entry, error) {
	if name == "" || strings.ContainsAny(name, "/ \t\r\n") {
		return entry{}, fmt.Errorf("provider %q: the name must not be empty and must not hold a slash or white space", name)
	}
	base, known := builtin[name]
	e := entry{api: cmp.Or(c.API, base.API, APIOpenAI), keyEnv: c.APIKeyEnv, keyRequired: c.APIKeyEnv != ""}
	if !slices.Contains([]string{APIOpenAI, APIAnthropic, APISystemOne}, e.api) {
		return entry{}, fmt.Errorf("provider %q: api is %q, not %s, %s or %s", name, c.API, APIOpenAI, APIAnthropic, APISystemOne)
	}
	if e.keyEnv == "" && known {
		// An entry with an address of its own may stand for a local server, so
		// the key of the built-in one is optional.
		e.keyEnv, e.keyRequired = base.APIKeyEnv, base.APIKeyEnv != "" && c.BaseURL == ""
	}
	if e.keyEnv != "" && !variableName.MatchString(e.keyEnv) {
		return entry{}, fmt.Errorf("provider %q: apiKeyEnv must be the name of an environment variable", name)
	}
	raw := cmp.Or(strings.TrimSpace(c.BaseURL), base.BaseURL)
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
	if e.api != APIOpenAI {
		// The path of a request has its own v1.
		e.baseURL = strings.TrimSuffix(e.baseURL, "/v1")
	}
	return e, nil
}

// entry is a validated provider.
type entry struct {
	baseURL, api, keyEnv string
	keyRequired          bool
}

// Request is one question to a model.
type Request struct {
	// System is the same for many requests; providers that cache prompts are told
	// so.
	System    string
	User      string
	MaxTokens int // bounds the answer
	// Partial reports whether the beginning of an answer is enough. An answer cut
	// at MaxTokens is then not an error, unless it is empty.
	Partial bool
	// Temperature is for models that support it; 0 means a low one: the same
	// question should get the same answer.
	Temperature float64
	// Schema is the JSON schema of the answer, enforced if the provider supports
	// it; nil for free text. SchemaName is its name.
	Schema     json.RawMessage
	SchemaName string
}

// cutShort reports whether an answer that reached its length limit is unusable. A
// complete JSON object is usable if the request has a schema.
func (r *Request) cutShort(said string) bool {
	said = strings.TrimSpace(said)
	whole := r.Schema != nil && strings.HasPrefix(said, "{") && json.Valid([]byte(said))
	return said == "" || !r.Partial && !whole
}

// Completion is an answer.
type Completion struct {
	Text  string
	Usage Usage
}

// Usage counts tokens as the provider reports them.
type Usage struct {
	InputTokens  int // including those from the provider's prompt cache
	OutputTokens int
	CachedTokens int
}

// Completer is one model of one provider.
type Completer interface {
	// Complete asks the model once, without retries. It returns when ctx is done.
	// A usage may come with an error.
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

// connection is a usable provider, or the reason why it is not usable.
type connection struct {
	entry
	name   string
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
	all := maps.Clone(builtin)
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
		header := openAIHeader
		if e.api == APIAnthropic {
			header = anthropicHeader
		}
		c := connection{entry: e, name: name, client: newClient(opts.Transport, header(key), key)}
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

// find returns the provider of a reference, which may have no key, and the name
// of the model there.
func (r *Registry) find(ref string) (c connection, model string, err error) {
	// Only the first slash counts: models may have slashes of their own.
	name, model, _ := strings.Cut(strings.TrimSpace(ref), "/")
	if name == "" || model == "" {
		return connection{}, "", fmt.Errorf("%w: %q is not of the form provider/model", ErrUnresolved, ref)
	}
	c, ok := r.providers[name]
	if !ok {
		err = fmt.Errorf("%w: provider %q is not configured", ErrUnresolved, name)
	}
	return c, model, err
}

// Resolve returns the model of a reference. It opens no connection, so a model
// that does not exist fails when it is asked. Errors are [ErrUnresolved].
func (r *Registry) Resolve(ref string) (Completer, error) {
	c, model, err := r.find(ref)
	if err := cmp.Or(err, c.err); err != nil {
		return nil, err
	}
	if c.api == APISystemOne {
		return nil, fmt.Errorf("%w: provider %q speaks %s, which answers no prompts", ErrUnresolved, c.name, c.api)
	}
	key := c.name + "/" + model
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

// Check returns why the model of a reference cannot be asked, whatever its provider
// speaks; nil if it can. Errors are [ErrUnresolved].
func (r *Registry) Check(ref string) error {
	c, _, err := r.find(ref)
	return cmp.Or(err, c.err)
}
