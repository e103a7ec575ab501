package config

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The gateway plugin and the consumer read one object (contract §9): with all
// defaults of the plugin's schema written out nothing changes here, and what is
// the plugin's alone is no fault.
func TestThePluginsDefaultsAreThoseOfTheConsumer(t *testing.T) {
	content, err := os.ReadFile("../../openclaw-plugin/openclaw.plugin.json")
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
	for _, v := range variables {
		if v.name != variableConfig {
			require.Equal(t, effective(v.value(without)), effective(v.value(with)), v.field)
		}
	}
}
