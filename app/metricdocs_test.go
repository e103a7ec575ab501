package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/golden"
	"intenthint/knowhub"
	"intenthint/payload"
	"intenthint/subjects"
)

// metricDoc is a metric as docs/metrics.md has it.
type metricDoc struct {
	name, kind, help string
	labels           map[string][]string
}

// Values in the documentation that stand for an unlimited number of others.
const (
	anyModel  = "PROVIDER/MODEL"
	anyIntent = "INTENT"
	anyHook   = "HOOK"
)

// allOn returns a configuration with all parts.
func allOn(t *testing.T) *config.Config {
	t.Helper()
	cfg, _, err := config.LoadFrom(map[string]string{
		"HINT_DATA_DIR": t.TempDir(), "HINT_LEARN": "auto", "HINT_TRIAGE": `{"enabled": true}`, "HINT_DECIDE": `{"enabled": true}`,
		"HINT_KNOWHUB": `{"enabled": true, "enableServerExtraction": true}`,
	}, Objects()...)
	require.NoError(t, err)
	return cfg
}

// documented returns the program's own metrics, by name, with every series that
// it can have.
func documented(t *testing.T) map[string]metricDoc {
	t.Helper()
	m := NewMetrics("VERSION", "COMMIT")
	m.register(Parts())
	m.models.Expect(anyModel)
	m.events.Expect("sessions", nil)
	durables := Layout(allOn(t)).Durables()
	for _, sink := range []string{"triage", "learn", "knowhub", "decide"} {
		i := slices.IndexFunc(durables, func(d bus.Durable) bool { return strings.HasSuffix(d.Name, "-"+sink) })
		m.events.Expect(sink, durables[i].Hooks)
	}
	for _, hook := range []string{subjects.HookBeforePromptBuild, subjects.HookBeforeDispatch, subjects.HookDecide, (&knowhub.Recall{}).Hook().Name} {
		m.service.Expect(hook)
	}
	for _, e := range knowhub.New(knowhub.Options{}).Endpoints("") {
		m.service.Expect(e.Name)
	}
	for _, source := range []string{payload.SourceLocal, payload.SourceEmbedding, payload.SourceLLM, payload.SourceSystemOne, payload.SourceCache, payload.SourceFastpath} {
		m.hints.Hinted(source, anyIntent, 0)
	}
	families, err := m.Gather()
	require.NoError(t, err)
	out := map[string]metricDoc{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "intenthint_") {
			continue // of the Go runtime and the process
		}
		doc := metricDoc{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp(), labels: map[string][]string{}}
		for _, series := range f.GetMetric() {
			for _, l := range series.GetLabel() {
				if !slices.Contains(doc.labels[l.GetName()], l.GetValue()) {
					doc.labels[l.GetName()] = append(doc.labels[l.GetName()], l.GetValue())
				}
			}
		}
		out[doc.name] = doc
	}
	// A vector without a series is not gathered.
	described := make(chan *prometheus.Desc, 1000)
	m.Describe(described)
	close(described)
	for d := range described {
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]
		if strings.HasPrefix(name, "intenthint_") {
			require.Contains(t, out, name, "no series to document")
		}
	}
	return out
}

// unit returns the unit that the name of a metric ends in, as Prometheus names it.
func (d metricDoc) unit() string {
	name := strings.TrimSuffix(d.name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "Unix seconds"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	}
	return ""
}

// docs/metrics.md is made by go test ./app -run TestMetricsAreDocumented -update.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	metrics := documented(t)
	var (
		b     strings.Builder
		hooks []string
	)
	b.WriteString(`# Metrics

What a consumer serves at ` + "`/metrics`" + ` (` + "`HINT_HTTP_ADDR`" + `), in the format of Prometheus. This page is made from the code:

    go test ./app -run TestMetricsAreDocumented -update

Values in capitals (` + "`" + anyModel + "`, `" + anyIntent + "`" + `, ` + "`VERSION`" + `) stand for what is configured; their number is bounded, what goes beyond is ` + "`other`" + `. The series of an intent, and of a model that is not configured, appears with its first count; all others begin with 0. A gauge whose source cannot be read now, as the size of a stream while the server is away, has no series meanwhile. Metrics whose names begin with ` + "`go_` and `process_`" + ` come from the Prometheus client. Alert rules and a dashboard are in [deploy](../deploy/README.md#monitoring).

| metric | type | unit | labels | meaning |
|---|---|---|---|---|
`)
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		d := metrics[name]
		var labels []string
		for _, label := range slices.Sorted(maps.Keys(d.labels)) {
			values := slices.Sorted(slices.Values(d.labels[label]))
			if label == "hook" {
				hooks, values = values, []string{anyHook}
			}
			labels = append(labels, fmt.Sprintf("`%s`: %s", label, strings.Join(values, ", ")))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.name, d.kind, d.unit(), strings.Join(labels, "; "), d.help)
	}
	fmt.Fprintf(&b, "\n`%s` is one of: %s. `other` is a hook that is not known.\n", anyHook, strings.Join(hooks, ", "))
	golden.File(t, "../docs/metrics.md", b.String())
}

// alertRules is a file of Prometheus alert rules.
type alertRules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

func TestAlertsUseTheMetricsThatExist(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.FromSlash("../deploy/prometheus/alerts.yml"))
	require.NoError(t, err)
	var rules alertRules
	require.NoError(t, yaml.UnmarshalWithOptions(data, &rules, yaml.Strict()))
	metrics, alerts := documented(t), map[string]bool{}
	for _, g := range rules.Groups {
		require.NotEmpty(t, g.Name)
		for _, r := range g.Rules {
			require.Regexp(t, `^IntentHint[A-Za-z]+$`, r.Alert)
			require.False(t, alerts[r.Alert], "%s twice", r.Alert)
			alerts[r.Alert] = true
			require.Regexp(t, `^\d+[smh]$`, r.For, r.Alert)
			require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
			require.NoError(t, checkExpression(metrics, r.Expr), r.Alert)
		}
	}
	require.NotEmpty(t, alerts)
}

func TestDashboardUsesTheMetricsThatExist(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.FromSlash("../deploy/grafana/dashboard.json"))
	require.NoError(t, err)
	var dashboard struct {
		Title  string `json:"title"`
		UID    string `json:"uid"`
		Panels []struct {
			ID          int                      `json:"id"`
			Title       string                   `json:"title"`
			Description string                   `json:"description"`
			Type        string                   `json:"type"`
			GridPos     struct{ H, W, X, Y int } `json:"gridPos"`
			Targets     []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(data, &dashboard))
	require.NotEmpty(t, dashboard.Title)
	require.NotEmpty(t, dashboard.UID)
	metrics, used, ids := documented(t), map[string]bool{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.False(t, ids[p.ID], "id %d twice", p.ID)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			require.NoError(t, checkExpression(metrics, target.Expr), p.Title)
			for name := range metrics {
				if regexp.MustCompile(name + `\b|` + name + `_(bucket|count|sum)\b`).MatchString(target.Expr) {
					used[name] = true
				}
			}
		}
	}
	for name := range metrics {
		if name != "intenthint_build_info" {
			require.True(t, used[name], "no panel shows %s", name)
		}
	}
}

var (
	// selector is a metric of this program and its matchers.
	selector = regexp.MustCompile(`(intenthint_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`^\s*(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*$`)
	// grouping is a list of labels in an aggregation or a match of vectors.
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
)

// ofScrape are labels that Prometheus adds.
var ofScrape = []string{"job", "instance", "le"}

// checkExpression returns an error for a PromQL expression with a metric, a label
// or a label value that this program does not have, or with unbalanced brackets.
func checkExpression(metrics map[string]metricDoc, expr string) error {
	selectors := selector.FindAllStringSubmatch(expr, -1)
	if len(selectors) == 0 {
		return fmt.Errorf("no metric in %q", expr)
	}
	known := slices.Clone(ofScrape)
	for _, s := range selectors {
		name := s[1]
		d, ok := metrics[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, is := strings.CutSuffix(name, suffix); is && metrics[base].kind == "histogram" {
				d, ok = metrics[base], true
			}
		}
		switch {
		case !ok:
			return fmt.Errorf("no metric %s in %q", name, expr)
		case d.kind == "histogram" && d.name == name:
			return fmt.Errorf("histogram %s without _bucket, _sum or _count in %q", name, expr)
		}
		known = slices.AppendSeq(known, maps.Keys(d.labels))
		if err := checkMatchers(d, s[2]); err != nil {
			return fmt.Errorf("%s in %q: %w", name, expr, err)
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(known, label) {
				return fmt.Errorf("no label %s in %q", label, expr)
			}
		}
	}
	return balanced(expr)
}

func checkMatchers(d metricDoc, matchers string) error {
	if matchers == "" {
		return nil
	}
	for text := range strings.SplitSeq(matchers, ",") {
		m := matcher.FindStringSubmatch(text)
		switch {
		case m == nil:
			return fmt.Errorf("malformed matcher %q", text)
		case slices.Contains(ofScrape, m[1]):
			continue
		case d.labels[m[1]] == nil:
			return fmt.Errorf("no label %s", m[1])
		}
		for value := range strings.SplitSeq(m[3], "|") {
			if !slices.Contains(d.labels[m[1]], value) {
				return fmt.Errorf("label %s never is %q", m[1], value)
			}
		}
	}
	return nil
}

// balanced reports brackets that are not closed in the order in which they were
// opened; those in strings do not count.
func balanced(expr string) error {
	var open []rune
	quoted := false
	for _, r := range expr {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case strings.ContainsRune(")]}", r):
			if len(open) == 0 || strings.IndexRune("([{", open[len(open)-1]) != strings.IndexRune(")]}", r) {
				return fmt.Errorf("brackets in %q", expr)
			}
			open = open[:len(open)-1]
		}
	}
	if quoted || len(open) > 0 {
		return fmt.Errorf("quotes or brackets in %q", expr)
	}
	return nil
}

func TestCheckExpression(t *testing.T) {
	t.Parallel()
	metrics := documented(t)
	for _, tt := range []struct{ name, expr, err string }{
		{"gauge", `intenthint_ready == 0`, ""},
		{"matcher and grouping", `sum by (instance, sink) (rate(intenthint_events_applied_total{hook="agent_end", job="x"}[5m]))`, ""},
		{"alternatives", `sum(rate(intenthint_request_duration_seconds_count{outcome=~"hint|failure"}[5m]))`, ""},
		{"unknown metric", `intenthint_reddy == 0`, "no metric"},
		{"none", `up == 0`, "no metric"},
		{"bare histogram", `rate(intenthint_request_duration_seconds[5m])`, "without _bucket"},
		{"_count of a counter", `intenthint_hints_total_count`, "no metric"},
		{"unknown label", `intenthint_skips_total{cause="deadline"}`, "no label"},
		{"unknown value", `intenthint_skips_total{kind="polite"}`, "never is"},
		{"unknown label of a grouping", `sum by (hook) (intenthint_ready)`, "no label"},
		{"open bracket", `sum(intenthint_ready`, "brackets"},
		{"crossed brackets", `sum(rate(intenthint_hints_total[5m)])`, "brackets"},
		{"open string", `label_replace(intenthint_ready, "a)`, "quotes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkExpression(metrics, tt.expr)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
		})
	}
}
