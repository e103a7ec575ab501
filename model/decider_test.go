package model_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/model/provider/providertest"
)

// One question is asked in the form of the wire, and its answer is a probability.
func TestDeciderAsks(t *testing.T) {
	t.Parallel()
	server := providertest.New(t)
	registry, err := provider.New(map[string]provider.Config{"one": {BaseURL: server.AnthropicURL(), API: provider.APISystemOne}}, provider.Options{})
	require.NoError(t, err)
	client, err := registry.Decider("one/m")
	require.NoError(t, err)
	decider := model.NewDecider(client.Ref, client, model.Options{})
	ask := func() (model.Answer[float64], error) {
		return decider.Ask(context.Background(), map[string]string{"text": "a < b"}, model.Boolean{Instructions: "Is it?", Yes: "it is", No: map[string][]string{"examples": {"x"}}})
	}

	server.Script(providertest.Answer{Text: `{"answer":{"type":"noul","noul":0.25}}`})
	answer, err := ask()
	require.NoError(t, err)
	require.Equal(t, model.Answer[float64]{Value: 0.25, Ref: "one/m", Usage: provider.Usage{InputTokens: 10, OutputTokens: 3}}, answer)
	require.JSONEq(t, `{"model":"m","state":{"text":"a < b"},"questions":{"answer":
		{"type":"noul","instructions":"Is it?","criteria":{"true":"it is","false":{"examples":["x"]}}}}}`, string(server.Requests()[0].Body))

	for name, said := range map[string]providertest.Answer{
		"another type":      {Text: `{"answer":{"type":"choice","noul":0.5}}`},
		"another question":  {Text: `{"q":{"type":"noul","noul":0.5}}`},
		"no number":         {Text: `{"answer":{"type":"noul","noul":"0.5"}}`},
		"more than certain": {Text: `{"answer":{"type":"noul","noul":1.01}}`},
		"less than none":    {Text: `{"answer":{"type":"noul","noul":-0.01}}`},
		"I do not know":     {Status: 422, Body: `{"detail":"unsure"}`},
	} {
		server.Script(said)
		answer, err = ask()
		require.ErrorIs(t, err, model.ErrFailed, name)
		require.ErrorIs(t, err, model.ErrUnparsable, name)
		require.Zero(t, answer.Value, name)
	}
	server.Script(providertest.Answer{Status: 500})
	_, err = ask()
	require.ErrorIs(t, err, model.ErrFailed)
	require.NotErrorIs(t, err, model.ErrUnparsable)
}
