package tracing

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client delivers spans by OTLP over HTTP, in binary protobuf. The exporter of the
// OpenTelemetry project for this brings gRPC with it, four times the size of all else
// that traces need.
type client struct {
	http   *http.Client
	url    string
	header http.Header
}

// defaultTimeout is the standard default of OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultTimeout = 10 * time.Second

// clientOf returns the client that the environment describes, nil if traces are off.
// The variables are those of the specification (OpenTelemetry Protocol Exporter).
func clientOf(getenv func(string) string) (*client, error) {
	// A variable for traces wins over the one for all signals.
	get := func(name string) (value, from string) {
		own, all := "OTEL_EXPORTER_OTLP_TRACES_"+name, "OTEL_EXPORTER_OTLP_"+name
		if value = strings.TrimSpace(getenv(own)); value != "" {
			return value, own
		}
		return strings.TrimSpace(getenv(all)), all
	}
	endpoint, from := get("ENDPOINT")
	if endpoint == "" || off(getenv) {
		return nil, nil
	}
	to, err := url.Parse(endpoint)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, fmt.Errorf("%s: must be an http:// or https:// URL", from)
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		to = to.JoinPath("v1", "traces")
	}
	if protocol, from := get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s: only http/protobuf is supported (mostly port 4318), not %q", from, protocol)
	}
	timeout := defaultTimeout
	if ms, from := get("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%s: must be a number of milliseconds", from)
		}
		timeout = time.Duration(n) * time.Millisecond
	}
	list, from := get("HEADERS")
	header, err := headersOf(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if file, from := get("CERTIFICATE"); file != "" {
		if transport.TLSClientConfig, err = trusting(file); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return &client{http: &http.Client{Timeout: timeout, Transport: transport}, url: to.String(), header: header}, nil
}

// headersOf reads "key=value" pairs, separated by commas; values are percent-encoded.
func headersOf(list string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			return nil, errors.New("must be key=value pairs, separated by commas, with percent-encoded values") // which may be secret
		}
		header.Set(key, value)
	}
	return header, nil
}

// trusting returns the configuration of a client that trusts the authorities in a file.
func trusting(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the operator's
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", file)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// Start and Stop are for [otlptrace.Client]; there is nothing to open.
func (c *client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// maxReply bounds what is read of a collector's answer, in bytes, for the connection to be
// used again.
const maxReply = 64 << 10

// UploadTraces sends a batch of spans. TracesData has the same form on the wire as the
// request of the protocol.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	reply, err := c.http.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer reply.Body.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply)); err != nil {
		return err
	}
	if reply.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", reply.Status)
	}
	return nil
}

// withoutURL leaves out the URL of a failed request, which may hold a key.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return cmp.Or(e.Err, err)
	}
	return err
}
