package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"intenthint/internal/golden"
	"intenthint/part"

	"github.com/stretchr/testify/require"
)

// The gateway plugin and the consumer read one object (contract §9): with all
// defaults of the plugin's schema written out nothing changes here, and what is
// the plugin's own options are accepted.
func TestThePluginsDefaultsAreThoseOfTheConsumer(t *testing.T) {
	content, err := os.ReadFile("../openclaw-plugin/openclaw.plugin.json")
	require.NoError(t, err)
	type schema struct {
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
	all := withObjects(objects)
	for _, s := range all {
		if s.inFile() {
			require.Equal(t, effective(s.get(without)), effective(s.get(with)), s.field)
		}
	}

	// No setting is in one place only.
	fields := slices.Clone(pluginFields)
	for _, s := range all {
		if s.inFile() {
			fields = append(fields, s.field)
		}
	}
	require.ElementsMatch(t, fields, slices.Collect(maps.Keys(manifest.ConfigSchema.Properties)))
}

// The gateway does not start on a configuration that its plugin's schema refuses, and its
// repair deletes the plugin's settings: so the schema refuses nothing.
func TestThePluginsSchemaRefusesNothing(t *testing.T) {
	content, err := os.ReadFile("../openclaw-plugin/openclaw.plugin.json")
	require.NoError(t, err)
	var manifest struct {
		ConfigSchema map[string]any `json:"configSchema"`
	}
	require.NoError(t, json.Unmarshal(content, &manifest))
	require.Equal(t, "object", manifest.ConfigSchema["type"])
	require.Equal(t, true, manifest.ConfigSchema["additionalProperties"])
	delete(manifest.ConfigSchema, "type")
	delete(manifest.ConfigSchema, "additionalProperties")
	checked := 0
	var check func(node map[string]any, path string)
	check = func(node map[string]any, path string) {
		checked++
		for keyword := range node {
			require.Contains(t, []string{"description", "default", "properties"}, keyword, path)
		}
		properties, _ := node["properties"].(map[string]any)
		for name, property := range properties {
			check(property.(map[string]any), path+"."+name)
		}
	}
	check(manifest.ConfigSchema, "config")
	require.Greater(t, checked, 90)
}

// The plugin's schema of each part's fields is made from what the part declares; -update
// writes it.
func TestThePluginsSchemaIsThatOfTheParts(t *testing.T) {
	const path = "../openclaw-plugin/openclaw.plugin.json"
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var manifest struct {
		ConfigSchema struct {
			Properties map[string]struct {
				Properties json.RawMessage `json:"properties"`
			} `json:"properties"`
		} `json:"configSchema"`
	}
	require.NoError(t, json.Unmarshal(content, &manifest))
	made := string(content)
	for _, o := range objects {
		schema, err := part.Schema(o)
		require.NoError(t, err)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, schema, "        ", "  "))
		present := string(manifest.ConfigSchema.Properties[o.Name()].Properties)
		require.Equal(t, 1, strings.Count(made, present), o.Name())
		made = strings.Replace(made, present, indented.String(), 1)
	}
	golden.File(t, path, made)
}
