package provider

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = "the-key-0123456789"

func env(vars map[string]string) Options {
	return Options{Getenv: func(name string) string { return vars[name] }}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name, provider string
		config         Config
		want           string // in the error; "" for none
	}{
		{"complete", "mine", Config{BaseURL: "http://127.0.0.1:8080/v1", API: APIOpenAI, APIKeyEnv: "K"}, ""},
		{"api defaults", "mine", Config{BaseURL: "https://models.example.com"}, ""},
		{"plain http off loopback", "mine", Config{BaseURL: "http://models.example.com/v1"}, ""},
		{"built-in, nothing given", "openai", Config{}, ""},
		{"built-in, address only", "anthropic", Config{BaseURL: "http://127.0.0.1:1"}, ""},
		{"no name", "", Config{BaseURL: "http://a"}, "the name"},
		{"name with a slash", "a/b", Config{BaseURL: "http://a"}, "the name"},
		{"unknown api", "mine", Config{BaseURL: "http://a", API: "grpc"}, `api is "grpc", not openai-completions, anthropic-messages or systemone`},
		{"no address", "mine", Config{API: APIOpenAI}, "baseUrl is missing"},
		{"blank address", "mine", Config{BaseURL: "  "}, "baseUrl is missing"},
		{"not a URL", "mine", Config{BaseURL: "http://[::1"}, "baseUrl is not a URL"},
		{"no scheme", "mine", Config{BaseURL: "localhost:8080"}, "http or https URL"},
		{"other scheme", "mine", Config{BaseURL: "ftp://a/b"}, "http or https URL"},
		{"no host", "mine", Config{BaseURL: "http:///v1"}, "http or https URL"},
		{"user in the address", "mine", Config{BaseURL: "http://u:" + secret + "@a/v1"}, "no user, query or fragment"},
		{"query", "mine", Config{BaseURL: "http://a/v1?key=" + secret}, "no user, query or fragment"},
		{"variable name", "mine", Config{BaseURL: "http://a", APIKeyEnv: "A=B"}, "environment variable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Validate(tt.provider, tt.config)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), secret)
			_, err = New(map[string]Config{tt.provider: tt.config}, env(nil))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestBuiltinProvidersAreValid(t *testing.T) {
	for name, c := range builtin {
		require.NoError(t, Validate(name, c), name)
	}
	require.Len(t, builtin, 5)
}

func TestSettle(t *testing.T) {
	tests := []struct {
		name, provider string
		config         Config
		want           entry
	}{
		{"built-in", "google", Config{}, entry{"https://generativelanguage.googleapis.com/v1beta/openai", APIOpenAI, "GEMINI_API_KEY", true}},
		{"address of its own", "openai", Config{BaseURL: "http://127.0.0.1:1/v1/"}, entry{"http://127.0.0.1:1/v1", APIOpenAI, "OPENAI_API_KEY", false}},
		{"key of its own", "openai", Config{APIKeyEnv: "MY_KEY"}, entry{"https://api.openai.com/v1", APIOpenAI, "MY_KEY", true}},
		{"api of its own", "openrouter", Config{BaseURL: "https://openrouter.ai/api", API: APIAnthropic}, entry{"https://openrouter.ai/api", APIAnthropic, "OPENROUTER_API_KEY", false}},
		{"v1 is left to the client", "a", Config{BaseURL: "http://h/x/v1/", API: APIAnthropic}, entry{"http://h/x", APIAnthropic, "", false}},
		{"no key", "ollama", Config{}, entry{"http://127.0.0.1:11434/v1", APIOpenAI, "", false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := settle(tt.provider, tt.config)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestResolve(t *testing.T) {
	r, err := New(map[string]Config{
		"mine":  {BaseURL: "http://127.0.0.1:1/v1", API: APIOpenAI},
		"keyed": {BaseURL: "http://127.0.0.1:1/v1", API: APIOpenAI, APIKeyEnv: "KEYED"},
	}, env(map[string]string{"OPENAI_API_KEY": secret, "GEMINI_API_KEY": " \n"}))
	require.NoError(t, err)
	tests := []struct {
		name, ref string
		want      string // in the error; "" for none
	}{
		{"with its key", "openai/gpt-4o-mini", ""},
		{"slashes in the model", "mine/meta/llama-3/8b", ""},
		{"no key needed", "ollama/qwen3", ""},
		{"white space around", " mine/m ", ""},
		{"key missing", "anthropic/claude", "ANTHROPIC_API_KEY"},
		{"key blank", "google/gemini", "GEMINI_API_KEY"},
		{"own key missing", "keyed/m", "KEYED"},
		{"unknown provider", "nobody/m", `"nobody" is not configured`},
		{"no slash", "gpt-4o", "not of the form provider/model"},
		{"no model", "openai/", "not of the form"},
		{"no provider", "/gpt", "not of the form"},
		{"empty", "", "not of the form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := r.Resolve(tt.ref)
			if tt.want == "" {
				require.NoError(t, err)
				again, err := r.Resolve(tt.ref)
				require.NoError(t, err)
				require.Same(t, m, again, "what is learned of a model stays")
				return
			}
			require.ErrorIs(t, err, ErrUnresolved)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func TestResolveRemembersABoundedNumberOfModels(t *testing.T) {
	r, err := New(nil, env(nil))
	require.NoError(t, err)
	for i := range maxModels + 10 {
		_, err := r.Resolve("ollama/m" + string(rune('a'+i%26)) + string(rune('0'+i)))
		require.NoError(t, err)
	}
	require.Len(t, r.models, maxModels)
}
