package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

func TestSetting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, in, want string }{
		{"nothing", "info", "info"},
		{"a user of a URL", "https://u:p@w@h/x", "https://***@h/x"},
		{"a field of JSON", `{"apiKey": "x", "api": "y"}`, `{"apiKey": "***", "api": "y"}`},
		{"escaped JSON, and what follows", `"{\"token\":\"x\"}"`, `"{\"token\":"***"`},
		{"a header", "Authorization: secret", `Authorization: "***"`},
		{"a switch", `{"token": true}`, `{"token": true}`},
		{"a key by its shape", "model sk-abcdefgh1", "model ***"},
		{"a NATS seed", "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4", "***"},
		{"a person", "to a@example.com", "to a@example.com"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, redact.Setting(row.in))
		})
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, in, want, urls string }{
		{"no user", "nats://h:1, h2", "nats://h:1, h2", "nats://h:1,h2"},
		{"a user", "nats://u:p@h:1", "nats://***@h:1", "nats://xxxxx@h:1"},
		{"the second has none", "nats://u:p@h:1, nats://h2:2", "nats://***@h:1, nats://h2:2", "nats://xxxxx@h:1,nats://h2:2"},
		{"two users", "nats://u:p@h:1,nats://u:p@h2", "nats://***@h2", "nats://xxxxx@h:1,nats://xxxxx@h2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, redact.Servers(row.in))
			require.Equal(t, row.urls, redact.URLs(row.in))
		})
	}
	require.Equal(t, "***@h", redact.Servers("u:p,w@x@h"), "without a scheme, with a comma in the password")
}

func TestStrings(t *testing.T) {
	t.Parallel()
	require.Equal(t,
		`{"a": {"baseUrl": "http://h", "apiKeyEnv": "***", "n": 1, "x":"***"`,
		redact.Strings(`{"a": {"baseUrl": "http://h", "apiKeyEnv": "k\"ey", "n": 1, "x":"cut`, "baseUrl"))
}

func TestSecret(t *testing.T) {
	t.Parallel()
	require.Equal(t, "bad key ***", redact.Secret("bad key k1", "k1"))
	require.Equal(t, "bad key", redact.Secret("bad key", ""))
	require.Equal(t, "no route to https://h/v1?alt=sse&key=***#x", redact.Secret("no route to https://h/v1?alt=sse&key=AIza123#x", "k1"))
	require.Equal(t, `Get "https://h/?api_key=***": refused`, redact.Secret(`Get "https://h/?api_key=abc": refused`, ""))
	require.Equal(t, "which monkey=banana?", redact.Secret("which monkey=banana?", ""))
}
