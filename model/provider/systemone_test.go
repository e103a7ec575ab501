package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
	"intenthint/model/provider/providertest"
)

func TestSystemOne(t *testing.T) {
	t.Parallel()
	server := providertest.New(t)
	q := provider.Decisions{State: json.RawMessage(`{"a": 1}`), Questions: json.RawMessage(`{"q":{"type":"noul"}}`)}
	for _, path := range []string{"", "/", "/v1", "/v1/"} {
		registry, err := provider.New(map[string]provider.Config{
			"one": {BaseURL: server.AnthropicURL() + path, API: provider.APISystemOne, APIKeyEnv: "KEY"},
		}, provider.Options{Getenv: func(string) string { return "secret" }})
		require.NoError(t, err)
		model, err := registry.Decider("one/m/1")
		require.NoError(t, err)
		require.Equal(t, "one/m/1", model.Ref)
		server.Script(providertest.Answer{Text: `{"q":{"type":"noul","noul":0.5}}`})
		answers, usage, err := model.Decide(t.Context(), q)
		require.NoError(t, err, path)
		require.JSONEq(t, `{"q":{"type":"noul","noul":0.5}}`, string(answers))
		require.Equal(t, provider.Usage{InputTokens: 10, OutputTokens: 3}, usage)
		sent := server.Requests()[server.Count()-1]
		require.Equal(t, "/v1/systemone", sent.Path)
		require.Equal(t, "Bearer secret", sent.Header.Get("Authorization"))
		require.JSONEq(t, `{"model":"m/1","state":{"a":1},"questions":{"q":{"type":"noul"}}}`, string(sent.Body))

		server.Script(providertest.Answer{Status: 422, Body: `{"detail":"too long"}`})
		_, _, err = model.Decide(t.Context(), q)
		var status *provider.StatusError
		require.ErrorAs(t, err, &status)
		require.True(t, status.Abstains())
		server.Script(providertest.Answer{Body: `{"model":"m"}`})
		_, _, err = model.Decide(t.Context(), q)
		require.ErrorIs(t, err, provider.ErrMalformed)
	}
}

func TestSystemOneAnswersNoPrompts(t *testing.T) {
	t.Parallel()
	registry, err := provider.New(map[string]provider.Config{
		"one":   {BaseURL: "http://127.0.0.1:1", API: provider.APISystemOne},
		"keyed": {BaseURL: "http://127.0.0.1:1", API: provider.APISystemOne, APIKeyEnv: "MISSING"},
	}, provider.Options{Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	_, err = registry.Resolve("one/m")
	require.ErrorContains(t, err, `provider "one" speaks systemone, which answers no prompts`)
	require.NoError(t, registry.Check("one/m"))
	require.NoError(t, registry.Check("ollama/m"))
	require.ErrorIs(t, registry.Check("keyed/m"), provider.ErrUnresolved)
	require.ErrorIs(t, registry.Check("nobody/m"), provider.ErrUnresolved)
	_, err = registry.Decider("keyed/m")
	require.ErrorContains(t, err, "MISSING")
	chat, err := registry.Decider("ollama/m")
	require.NoError(t, err)
	require.Nil(t, chat)
}
