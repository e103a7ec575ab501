package config

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/titanous/json5"
)

// PluginID is the name of the gateway plugin in an openclaw.json.
const PluginID = "intention-hint"

// maxFileBytes limits a configuration file; an openclaw.json has about ten
// kilobytes. The JSON5 decoder recurses for each bracket, so this also limits
// its stack.
const maxFileBytes = 1 << 20

func readFile(path string) snapshot {
	if err := readable(path); err != nil {
		return newSnapshot(nil, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return newSnapshot(nil, err)
	}
	defer f.Close() //nolint:errcheck // Only read.
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = fmt.Errorf("larger than %d bytes", maxFileBytes)
	}
	out := newSnapshot(content, err)
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" { // where modes say nothing
		out.shared = info.Mode().Perm()&othersWrite != 0
	}
	return out
}

// othersWrite are the bits of a file's mode with which the group or everybody may
// write it.
const othersWrite = 0o022

// snapshot is the state of a file when it was read.
type snapshot struct {
	content []byte
	sum     [32]byte // SHA-256 of content
	failure string   // "" when the file could be read
	shared  bool     // others may write it
}

func newSnapshot(content []byte, err error) snapshot {
	if err != nil {
		return snapshot{failure: plainError(err)}
	}
	return snapshot{content: content, sum: sha256.Sum256(content)}
}

// Equal implements the state of a [watch.Watch].
func (s snapshot) Equal(other snapshot) bool {
	return s.sum == other.sum && s.failure == other.failure && s.shared == other.shared
}

// fields is [parseFile] of the content.
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
	at, node := "", any(document)
	for _, step := range []string{"plugins", "entries", PluginID, "config"} {
		at = strings.TrimPrefix(at+"."+step, ".")
		switch next := node.(map[string]any)[step].(type) {
		case map[string]any:
			node = next
		case nil:
			return fields, []string{"plugins.entries." + PluginID + ".config is missing; only defaults and the environment apply"}, nil
		default:
			return nil, nil, fmt.Errorf("must be an openclaw.json whose %s is an object", at)
		}
	}
	maps.Copy(fields, node.(map[string]any))
	return fields, nil, nil
}

// unknownFields returns warnings about unknown fields.
func unknownFields(fields map[string]any, all []setting) []string {
	var notes []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		isField := func(s setting) bool { return s.inFile() && s.field == field }
		if !slices.Contains(pluginFields, field) && !slices.ContainsFunc(all, isField) {
			notes = append(notes, "no such field "+quote(field))
		}
	}
	return notes
}

// isGatewayConfig reports whether a document is an openclaw.json rather than a
// plugin's config object: it has a section that no plugin's config has.
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
		// The decoder indexes its input by hand; no typo in a file may crash the
		// process.
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

// position returns line and column, from 1, of the byte before offset: where a
// decoder that read offset bytes failed.
func position(content []byte, offset int64) (line, column int) {
	before := string(content[:min(max(offset-1, 0), int64(len(content)))])
	lastLine := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + len([]rune(lastLine))
}

// kind is the kind of value that a setting has in a file, worded for errors.
// Each may also be a string, in the syntax of the environment.
type kind string

const (
	kindText     kind = "a string"
	kindNumber   kind = "a number"
	kindDuration kind = "a string such as 336h, or 0"
	kindList     kind = "an array of strings or a comma-separated string"
	kindObject   kind = "an object"
	kindBool     kind = "true or false"
)

// kindOf returns the kind of value that a file has for a part of a [Config].
func kindOf(v any) kind {
	switch v.(type) {
	case slog.Level, Zone:
		return kindText
	case time.Duration:
		return kindDuration
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.String:
		return kindText
	case reflect.Int, reflect.Int64, reflect.Float64:
		return kindNumber
	case reflect.Bool:
		return kindBool
	case reflect.Slice:
		return kindList
	default:
		return kindObject
	}
}

// text turns a value of a file into the syntax of the environment. null is "",
// which counts as not set.
func (k kind) text(value any) (string, error) {
	ok := false
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		if text := strings.TrimSpace(value); text != "" || value == "" {
			return text, nil
		}
		return "", errBlank
	case float64:
		if k == kindNumber || k == kindDuration && value == 0 {
			return formatNumber(value), nil
		}
	case bool:
		ok = k == kindBool
	case []any:
		ok = k == kindList && !slices.ContainsFunc(value, func(element any) bool {
			_, isString := element.(string)
			return !isString
		})
	case map[string]any:
		ok = k == kindObject
	}
	if !ok {
		return "", fmt.Errorf("must be %s", k)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", errors.New("must be JSON values (neither NaN nor Infinity)")
	}
	return string(text), nil
}

// show formats a value of a file for an error.
func show(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return formatNumber(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func formatNumber(v float64) string {
	if math.Abs(v) < 1e18 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
