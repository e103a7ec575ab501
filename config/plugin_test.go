package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The gateway plugin and the consumer read one object (contract §9): with all
// defaults of the plugin's schema written out nothing changes here, and what is
// the plugin's own options are accepted.
func TestThePluginsDefaultsAreThoseOfTheConsumer(t *testing.T) {
	content, err := os.ReadFile("../openclaw-plugin/openclaw.plugin.json")
	require.NoError(t, err)
	type schema struct {
		Type       any               `json:"type"` // a string or a list of them
		Default    any               `json:"default"`
		Properties map[string]schema `json:"properties"`
	}
	var manifest struct {
		ID           string `json:"id"`
		ConfigSchema schema `json:"configSchema"`
	}
	require.NoError(t, json.Unmarshal(content, &manifest))
	require.Equal(t, PluginID, manifest.ID)

	var defaults func(schema) any
	defaults = func(s schema) any {
		if s.Default != nil || s.Properties == nil {
			return s.Default
		}
		object := make(map[string]any)
		for name, property := range s.Properties {
			if value := defaults(property); value != nil {
				object[name] = value
			}
		}
		return object
	}
	config := defaults(manifest.ConfigSchema).(map[string]any)
	require.Contains(t, config, "timeoutMs", "a default of both")
	require.Contains(t, config, "hooks", "an option of the plugin alone")
	text, err := json.Marshal(map[string]any{"plugins": map[string]any{"entries": map[string]any{PluginID: map[string]any{"config": config}}}})
	require.NoError(t, err)

	t.Chdir(t.TempDir())
	without, _, err := load(t, nil)
	require.NoError(t, err)
	with, warnings, err := load(t, map[string]string{variableConfig: write(t, "openclaw.json", string(text))})
	require.NoError(t, err)
	require.Empty(t, warnings)
	for _, s := range settings {
		if s.inFile() {
			require.Equal(t, effective(s.get(without)), effective(s.get(with)), s.field)
		}
	}

	// No setting is in one place only, or of another kind there.
	types := map[kind]string{kindText: "string", kindNumber: "(integer|number)", kindDuration: "string", kindList: "<nil>", kindObject: "object", kindBool: "boolean"}
	fields := slices.Clone(pluginFields)
	for _, s := range settings {
		if s.inFile() {
			fields = append(fields, s.field)
			require.Regexp(t, `^\[?`+types[s.kind], fmt.Sprint(manifest.ConfigSchema.Properties[s.field].Type), s.field)
		}
	}
	require.ElementsMatch(t, fields, slices.Collect(maps.Keys(manifest.ConfigSchema.Properties)))
}

// What the plugin's schema says of the triage gate is what the consumer takes:
// the same fields, and defaults where it gives any.
func TestThePluginsTriageIsThatOfTheConsumer(t *testing.T) {
	content, err := os.ReadFile("../openclaw-plugin/openclaw.plugin.json")
	require.NoError(t, err)
	type field struct {
		Default    any              `json:"default"`
		Properties map[string]field `json:"properties"`
	}
	var manifest struct {
		ConfigSchema field `json:"configSchema"`
	}
	require.NoError(t, json.Unmarshal(content, &manifest))
	schema := manifest.ConfigSchema.Properties["triage"].Properties
	require.ElementsMatch(t, slices.Collect(maps.Keys(triageFields)), slices.Collect(maps.Keys(schema)))

	var consumer map[string]any
	text, err := json.Marshal(triageDefaults())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &consumer))
	require.ElementsMatch(t, slices.Collect(maps.Keys(triageFields)), slices.Collect(maps.Keys(consumer)))
	for name, f := range schema {
		if f.Default != nil && name != "quiet" {
			require.Equal(t, consumer[name], f.Default, name)
		}
	}
}
