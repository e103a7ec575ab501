package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
)

const settingsHead = `# Settings

For operators: every setting, its default and its meaning. This file is made from the declarations in the code: ` + "`go test ./config -run TestSettingsAreDocumented -update`" + `.

A setting is an environment variable, or a field of the JSON5 file that ` + "`HINT_CONFIG`" + ` names: an ` + "`openclaw.json`" + `, or just the plugin's config object. The environment takes precedence. Lists are separated by commas. A wrong value stops the start with exit code 2 and a line that says what is allowed. The file is read again when it changes; settings marked *start* keep the value that the process started with.
`

// TestSettingsAreDocumented makes docs/settings.md.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(settingsHead)
	b.WriteString("\n## All\n\n| variable | field | default | meaning |\n|---|---|---|---|\n")
	for _, s := range withObjects(objects) {
		field, variable := "`"+s.field+"`", "`"+s.env()+"`"
		if !s.inFile() {
			field = ""
		}
		if s.only == fileOnly {
			variable = ""
		}
		row(&b, variable, field, cmp.Or(s.shown, s.def), meaning(s.doc, s.restart))
	}
	for _, o := range objects {
		fmt.Fprintf(&b, "\n## `HINT_%s`\n\nA JSON object; in a file the field `%s`. %s.\n\n| field | allowed | default | meaning |\n|---|---|---|---|\n",
			strings.ToUpper(o.Name()), o.Name(), sentence(o.Help()))
		defaults := o.New()
		for _, f := range o.Fields() {
			def, err := json.Marshal(f.Get(defaults))
			require.NoError(t, err)
			shown := string(def)
			if shown == "null" || shown == `""` {
				shown = ""
			}
			row(&b, "`"+f.Name+"`", f.Allowed, shown, meaning(f.Help, f.Restart))
		}
	}
	golden.File(t, "../docs/settings.md", b.String())
}

func row(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		c = strings.ReplaceAll(c, "|", `\|`)
		if i == 2 && c != "" { // the default
			c = "`" + c + "`"
		}
		b.WriteString("| " + c + " ")
	}
	b.WriteString("|\n")
}

func meaning(doc string, restart bool) string {
	if restart {
		return doc + " (*start*)"
	}
	return doc
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
