package tracing

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClientOf(t *testing.T) {
	t.Parallel()
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(noPEM, []byte("x"), 0o600))
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, test := range []struct {
		name      string
		env       map[string]string
		url       string // "" for no traces
		err       string
		timeout   time.Duration
		authority string // the header Authorization
	}{
		{name: "nothing"},
		{name: "an endpoint", env: map[string]string{endpoint: "http://127.0.0.1:4318"}, url: "http://127.0.0.1:4318/v1/traces", timeout: 10 * time.Second},
		{name: "with a path", env: map[string]string{endpoint: "https://h/otlp/"}, url: "https://h/otlp/v1/traces", timeout: 10 * time.Second},
		{name: "for traces", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/x"}, url: "http://b/x", timeout: 10 * time.Second},
		{name: "headers and a time", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20k", "OTEL_EXPORTER_OTLP_TIMEOUT": "250"}, url: "http://a/v1/traces", timeout: 250 * time.Millisecond, authority: "Bearer k"},
		{name: "headers for traces", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=x", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=y"}, url: "http://a/v1/traces", timeout: 10 * time.Second, authority: "y"},
		{name: "no exporter", env: map[string]string{endpoint: "http://a", "OTEL_TRACES_EXPORTER": "none"}},
		{name: "off", env: map[string]string{endpoint: "http://a", "OTEL_SDK_DISABLED": "True"}},
		{name: "no URL", env: map[string]string{endpoint: "localhost:4318"}, err: "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// URL"},
		{name: "gRPC", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, err: `OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf is supported (mostly port 4318), not "grpc"`},
		{name: "no time", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, err: "OTEL_EXPORTER_OTLP_TIMEOUT: must be a number of milliseconds"},
		{name: "no pairs", env: map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_HEADERS": "secret"}, err: "OTEL_EXPORTER_OTLP_HEADERS: must be key=value pairs, separated by commas, with percent-encoded values"},
		{name: "no certificate", env: map[string]string{endpoint: "https://a", "OTEL_EXPORTER_OTLP_CERTIFICATE": noPEM}, err: "OTEL_EXPORTER_OTLP_CERTIFICATE: " + noPEM + ": no certificate in it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := clientOf(func(name string) string { return test.env[name] })
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			if test.url == "" {
				require.Nil(t, c)
				return
			}
			require.Equal(t, test.url, c.url)
			require.Equal(t, test.timeout, c.http.Timeout)
			require.Equal(t, test.authority, c.header.Get("Authorization"))
		})
	}
}

// Without tracing a request costs no memory.
func TestOffCostsNothing(t *testing.T) {
	ctx, at := t.Context(), time.Now()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ctx, span := Request(ctx, "hook", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", at)
		if Parent(ctx, "came") != "came" || span.IsRecording() {
			panic("tracing is on")
		}
		End(span, "")
		End(Event(ctx, "event", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", at), "")
	}))
}
