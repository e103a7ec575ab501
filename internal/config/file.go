package config

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/titanous/json5"
)

// PluginID is the name of the gateway plugin in an openclaw.json.
const PluginID = "intention-hint"

// maxFileBytes bounds a configuration file; an openclaw.json has some ten
// kilobytes. The JSON5 decoder recurses for each bracket, so that this also
// bounds its stack.
const maxFileBytes = 1 << 20

func readFile(path string) ([]byte, error) {
	if err := readable(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Only read.
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = fmt.Errorf("larger than %d bytes", maxFileBytes)
	}
	return content, err
}

// snapshot is what a look at a file found.
type snapshot struct {
	content []byte
	sum     [32]byte // SHA-256 of content
	failure string   // "" when the file could be read
}

func newSnapshot(content []byte, err error) snapshot {
	if err != nil {
		return snapshot{failure: plainError(err)}
	}
	return snapshot{content: content, sum: sha256.Sum256(content)}
}

func (s snapshot) equal(other snapshot) bool {
	return s.sum == other.sum && s.failure == other.failure
}

// fields is [parseFile] of what was found.
func (s snapshot) fields() (map[string]any, []string, error) {
	if s.failure != "" {
		return nil, nil, errors.New("must be a JSON5 file that can be read (" + s.failure + ")")
	}
	return parseFile(s.content)
}

// parseFile returns the plugin's fields in content: an openclaw.json, or just
// the plugin's config object. The notes are warnings.
func parseFile(content []byte) (fields map[string]any, notes []string, err error) {
	root, err := decodeJSON5(content)
	if err != nil {
		return nil, nil, err
	}
	document, ok := root.(map[string]any)
	if !ok {
		return nil, nil, errors.New("must be a JSON5 object, an openclaw.json or the plugin's config")
	}
	if !isGatewayConfig(document) {
		return document, nil, nil
	}
	fields = make(map[string]any)
	if session, ok := document["session"].(map[string]any); ok && session["mainKey"] != nil {
		fields["mainKey"] = session["mainKey"]
	}
	at := "plugins"
	node := document["plugins"]
	for _, step := range []string{"entries", PluginID, "config"} {
		object, ok := node.(map[string]any)
		if !ok && node != nil {
			return nil, nil, fmt.Errorf("must be an openclaw.json whose %s is an object", at)
		}
		at += "." + step
		node = object[step]
	}
	plugin, ok := node.(map[string]any)
	switch {
	case ok:
		maps.Copy(fields, plugin)
	case node == nil:
		notes = append(notes, at+" is not there: defaults and environment alone count")
	default:
		return nil, nil, fmt.Errorf("must be an openclaw.json whose %s is an object", at)
	}
	return fields, notes, nil
}

// misspelt notes the fields that nobody reads and that are nearly those of a
// setting. Others are the plugin's own.
func misspelt(fields map[string]any) []string {
	names := make([]string, 0, len(variables))
	for _, v := range variables {
		if v.field != "" {
			names = append(names, v.field)
		}
	}
	var notes []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(names, field) {
			continue
		}
		i := slices.IndexFunc(names, func(name string) bool {
			return strings.EqualFold(field, name) || editDistance(field, name) <= 2
		})
		if i >= 0 {
			notes = append(notes, "no such field "+quote(field)+"; did you mean "+names[i]+"?")
		}
	}
	return notes
}

// isGatewayConfig tells an openclaw.json from a plugin's config object: it has
// a section that no plugin's config has.
func isGatewayConfig(document map[string]any) bool {
	for _, section := range []string{"plugins", "session", "gateway", "channels", "models", "agents"} {
		if _, ok := document[section].(map[string]any); ok {
			return true
		}
	}
	return false
}

// decodeJSON5 decodes one document; its errors name line and column.
func decodeJSON5(content []byte) (document any, err error) {
	defer func() {
		// The decoder indexes its input by hand; an operator's typing error
		// must not end the process whatever it is.
		if r := recover(); r != nil {
			document, err = nil, errors.New("must be JSON5 (it cannot be decoded)")
		}
	}()
	content = []byte(strings.TrimPrefix(string(content), "\ufeff"))
	if len(strings.TrimSpace(string(content))) == 0 {
		return nil, errors.New("must be a JSON5 object (the file is empty)")
	}
	if err := json5.Unmarshal(content, &document); err != nil {
		if syntax, ok := errors.AsType[*json5.SyntaxError](err); ok {
			line, column := position(content, syntax.Offset)
			return nil, fmt.Errorf("must be JSON5 (line %d, column %d: %s)", line, column, strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil, fmt.Errorf("must be JSON5 (%s)", strings.TrimPrefix(err.Error(), "json: "))
	}
	return document, nil
}

// position returns line and column, from 1, of the byte before offset, which
// is where a decoder that read offset bytes stumbled.
func position(content []byte, offset int64) (line, column int) {
	before := string(content[:min(max(offset-1, 0), int64(len(content)))])
	lastLine := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + len([]rune(lastLine))
}

// kind is the kind of value that a variable has in a file. Each may also be
// written as a string, in the syntax of the environment.
type kind int

const (
	kindText     kind = iota
	kindNumber        // A number.
	kindDuration      // A string; the number 0 is a duration too.
	kindList          // An array of strings.
	kindObject        // An object.
	kindBool          // true or false.
)

// text turns a value of a file into the syntax of the environment. null is "",
// which counts as not set.
func (k kind) text(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(value), nil
	case float64:
		if k == kindNumber || k == kindDuration && value == 0 {
			return formatNumber(value), nil
		}
	case bool:
		if k == kindBool {
			return strconv.FormatBool(value), nil
		}
	case []any:
		if k == kindList {
			for _, element := range value {
				if _, ok := element.(string); !ok {
					return "", errors.New("must be an array of strings")
				}
			}
			return toJSON(value)
		}
	case map[string]any:
		if k == kindObject {
			return toJSON(value)
		}
	}
	switch k {
	case kindNumber:
		return "", errors.New("must be a number")
	case kindDuration:
		return "", errors.New("must be a string such as 336h, or 0")
	case kindList:
		return "", errors.New("must be an array of strings or a comma-separated string")
	case kindObject:
		return "", errors.New("must be an object")
	case kindBool:
		return "", errors.New("must be true or false")
	default:
		return "", errors.New("must be a string")
	}
}

func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", errors.New("must be JSON values (neither NaN nor Infinity)")
	}
	return string(text), nil
}

// show prints a value of a file for an error.
func show(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return formatNumber(value)
	}
	text, err := toJSON(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return text
}

func formatNumber(v float64) string {
	if math.Abs(v) < 1e18 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
