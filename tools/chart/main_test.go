package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
)

const (
	chartDir = "../../deploy/helm/intenthint"
	plain    = "../../deploy/kubernetes/intenthint.yaml"
)

// documents parses manifests, by kind.
func documents(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for decoder := yaml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		var d map[string]any
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out[d["kind"].(string)] = d
	}
}

// at returns what stands at a path of keys and indexes.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

// The plain manifest is the chart with its own values, so the tests of the one
// (deploy/containers_test.go) are those of the other.
func TestThePlainManifestIsTheChart(t *testing.T) {
	t.Parallel()
	text, err := run(chartDir, "intenthint", "")
	require.NoError(t, err)
	now, err := os.ReadFile(plain)
	require.NoError(t, err)
	comment, _, _ := strings.Cut(string(now), "apiVersion:")
	golden.File(t, plain, comment+text)
}

func TestValuesOfAnOperator(t *testing.T) {
	t.Parallel()
	text, err := render(os.DirFS(chartDir), "hints", []byte(`
image: { repository: registry.example.org/intenthint, digest: "sha256:aa" }
replicas: 5
minAvailable: 3
secrets: { consumer: c }
settings: { HINT_TRIAGE: '{"enabled": true}', HINT_STREAM: HINTS }
resources: { limits: { memory: 1Gi } }
`))
	require.NoError(t, err)
	found := documents(t, text)
	require.Len(t, found, 4)
	consumer, job := found["Deployment"], found["Job"]
	require.Equal(t, "hints", at(t, consumer, "metadata", "name"))
	require.Equal(t, "hints-provision", at(t, job, "metadata", "name"))
	require.Equal(t, at(t, consumer, "spec", "template", "metadata", "labels"), at(t, consumer, "spec", "selector", "matchLabels"))
	require.Equal(t, at(t, consumer, "spec", "template", "metadata", "labels"), at(t, found["Service"], "spec", "selector"))
	require.EqualValues(t, 5, at(t, consumer, "spec", "replicas"))
	require.EqualValues(t, 3, at(t, found["PodDisruptionBudget"], "spec", "minAvailable"))
	require.Equal(t, "pre-install,pre-upgrade", at(t, job, "metadata", "annotations", "helm.sh/hook"))
	for kind, secret := range map[string]string{"Deployment": "c", "Job": "intenthint-operator"} {
		pod := at(t, found[kind], "spec", "template", "spec")
		container := at(t, pod, "containers", 0)
		require.Equal(t, "registry.example.org/intenthint@sha256:aa", at(t, container, "image"), kind)
		env := map[string]any{}
		for _, e := range at(t, container, "env").([]any) {
			env[at(t, e, "name").(string)] = at(t, e, "value")
		}
		require.Equal(t, `{"enabled": true}`, env["HINT_TRIAGE"], kind)
		require.Equal(t, "HINTS", env["HINT_STREAM"], kind)
		require.Equal(t, secret, at(t, container, "env", 0, "valueFrom", "secretKeyRef", "name"))
		require.Equal(t, secret, at(t, pod, "volumes", 0, "secret", "secretName"))
	}
	require.Equal(t, "1Gi", at(t, consumer, "spec", "template", "spec", "containers", 0, "resources", "limits", "memory"))
	require.Equal(t, "384Mi", at(t, consumer, "spec", "template", "spec", "containers", 0, "resources", "requests", "memory"), "what is not given stays")

	text, err = render(os.DirFS(chartDir), "hints", []byte("provision: false"))
	require.NoError(t, err)
	require.NotContains(t, documents(t, text), "Job")
}

func TestChartsThatCannotBeRendered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, template, values, err string }{
		{"no such function", "{{ lookup 1 }}", "", `function "lookup" not defined`},
		{"a value that is required", `{{ required "name it" .Values.image }}`, "", "name it"},
		{"values that are no YAML", "a: 1", "a: [", "values: "},
		{"a template that is not there", `{{ include "x" . }}`, "", `"x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chart := fstest.MapFS{
				"Chart.yaml": {Data: []byte("name: x")}, "values.yaml": {Data: []byte("image: \"\"")}, "templates/a.yaml": {Data: []byte(test.template)},
			}
			_, err := render(chart, "x", []byte(test.values))
			require.ErrorContains(t, err, test.err)
		})
	}
}
