// Command chart renders a Helm chart as `helm template` does, for what the charts of this
// repository use: Sprig's functions, include, toYaml, required, and the objects Values,
// Chart and Release. Helm itself would bring the clients of Kubernetes into this module.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/goccy/go-yaml"
)

func main() {
	release := flag.String("release", "intenthint", "`name` of the release")
	values := flag.String("values", "", "YAML `file` of values that replace the chart's")
	flag.Parse()
	if flag.NArg() != 1 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./chart [-release NAME] [-values FILE] CHART_DIR")
		os.Exit(2)
	}
	text, err := run(flag.Arg(0), *release, *values)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func run(dir, release, file string) (string, error) {
	var more []byte
	if file != "" {
		var err error
		if more, err = os.ReadFile(file); err != nil { //nolint:gosec // named on the command line
			return "", err
		}
	}
	return render(os.DirFS(dir), release, more)
}

// render returns the manifests of a chart, separated by "---", in the order of the files'
// names. values are YAML.
func render(chart fs.FS, release string, values []byte) (string, error) {
	about, all := map[string]any{}, map[string]any{}
	for name, into := range map[string]*map[string]any{"Chart.yaml": &about, "values.yaml": &all} {
		text, err := fs.ReadFile(chart, name)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	given := map[string]any{}
	if err := yaml.Unmarshal(values, &given); err != nil {
		return "", fmt.Errorf("values: %w", err)
	}
	merge(all, given)

	root := template.New("").Option("missingkey=zero")
	root.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := root.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"required": func(why string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(why)
			}
			return v, nil
		},
	})
	names, err := fs.Glob(chart, "templates/*")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(chart, name)
		if err != nil {
			return "", err
		}
		if _, err := root.New(name).Parse(string(text)); err != nil {
			return "", err
		}
	}
	data := map[string]any{
		"Values":  all,
		"Chart":   map[string]any{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": release, "Namespace": "default"},
	}
	var out bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.HasPrefix(filepath.Base(name), "_") {
			continue
		}
		var b strings.Builder
		if err := root.ExecuteTemplate(&b, name, data); err != nil {
			return "", err
		}
		text := strings.TrimSpace(strings.ReplaceAll(b.String(), "<no value>", ""))
		if text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.WriteString(text + "\n")
	}
	return out.String(), nil
}

// merge puts values over others; objects are merged, all else is replaced.
func merge(into, over map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(over)) {
		inner, ok := into[key].(map[string]any)
		more, both := over[key].(map[string]any)
		if ok && both {
			merge(inner, more)
		} else {
			into[key] = over[key]
		}
	}
}
