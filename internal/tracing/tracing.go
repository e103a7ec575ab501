// Package tracing sends spans of requests and events to an OpenTelemetry collector.
// The standard variables OTEL_* turn it on and set it up; without an endpoint there
// are no spans, and they cost nothing. Trace contexts travel in the header traceparent
// of NATS messages (W3C Trace Context, contract §3). No attribute holds text of a
// message, a session or a person.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"intenthint/internal/loglimit"
)

// scope is the name of the instrumentation scope.
const scope = "intenthint"

// header is the name of the header that carries a trace context.
const header = "traceparent"

var (
	// tracer makes the spans of this process; nil while tracing is off.
	tracer atomic.Pointer[trace.Tracer]
	none   = trace.SpanFromContext(context.Background())
	w3c    propagation.TraceContext
)

// Start begins to send spans if the environment names an endpoint
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). stop sends what
// waits, and ends it; it is nil if there are no traces. Spans that cannot be delivered
// are dropped, with a warning a minute. Tracing is one for a process.
func Start(ctx context.Context, version string, log *slog.Logger) (stop func(context.Context) error, err error) {
	client, err := clientOf(os.Getenv)
	if client == nil || err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	var lines loglimit.Limit
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { lines.Warn(log, "traces not delivered", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t := provider.Tracer(scope, trace.WithInstrumentationVersion(version))
	tracer.Store(&t)
	return func(ctx context.Context) error {
		tracer.Store(nil)
		if err := provider.Shutdown(ctx); err != nil {
			lines.Warn(log, "traces not delivered", "error", err)
		}
		return nil
	}, nil
}

// Request begins the span of a request that came at received with the given trace
// context, "" for none. Without tracing, the span records nothing.
func Request(ctx context.Context, name, traceparent string, received time.Time, about ...attribute.KeyValue) (context.Context, trace.Span) {
	return begin(ctx, name, traceparent, received, trace.SpanKindServer, about)
}

// Event begins the span of an event, as [Request] does. An event without a trace
// context has no span: there is nothing that it belongs to.
func Event(ctx context.Context, name, traceparent string, received time.Time, about ...attribute.KeyValue) trace.Span {
	if traceparent == "" {
		return none
	}
	_, span := begin(ctx, name, traceparent, received, trace.SpanKindConsumer, about)
	return span
}

func begin(ctx context.Context, name, traceparent string, at time.Time, kind trace.SpanKind, about []attribute.KeyValue) (context.Context, trace.Span) {
	t := tracer.Load()
	if t == nil {
		return ctx, none
	}
	if traceparent != "" {
		ctx = w3c.Extract(ctx, propagation.MapCarrier{header: traceparent})
	}
	return (*t).Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(about...))
}

// Call begins the span of a call to another service within the span of ctx, if there is
// one that is recorded.
func Call(ctx context.Context, name string, about ...attribute.KeyValue) trace.Span {
	t := tracer.Load()
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return none
	}
	_, span := (*t).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
	return span
}

// End ends a span; kind names the failure, "" for none.
func End(span trace.Span, kind string) {
	if kind != "" {
		span.SetStatus(codes.Error, kind)
		span.SetAttributes(attribute.String("error.type", kind))
	}
	span.End()
}

// Parent returns the trace context for messages that follow from the span of ctx: its
// own, or, without tracing, the one that came.
func Parent(ctx context.Context, came string) string {
	if !trace.SpanContextFromContext(ctx).IsValid() || tracer.Load() == nil {
		return came
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier[header]
}

// String is an attribute of a span.
func String(key, value string) attribute.KeyValue { return attribute.String(key, value) }

// off reports whether the environment turns traces off.
func off(getenv func(string) string) bool {
	exporter := strings.TrimSpace(getenv("OTEL_TRACES_EXPORTER"))
	return strings.EqualFold(strings.TrimSpace(getenv("OTEL_SDK_DISABLED")), "true") || exporter != "" && exporter != "otlp"
}
