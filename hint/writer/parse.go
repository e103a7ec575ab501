package writer

import (
	"encoding/json"
	"fmt"
	"strings"

	"intenthint/model"
)

// Bounds of an answer.
const (
	maxAnswer = 64 << 10 // bytes that are parsed
	maxBraces = 64       // that open no object; each costs an attempt to decode
	maxLines  = 8
	maxLine   = 300 // characters
)

// parse reads the answer of a model: the first JSON object with an instruction, bare,
// in a code fence, after thoughts, or with prose around it. The instruction is a list
// of strings, or one string. Its lines are bounded, escaped, one line each and not
// blank. Errors are [model.ErrUnparsable].
func parse(answer string) ([]string, error) {
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes of text", model.ErrUnparsable, len(answer))
	}
	for _, tag := range []string{"</think>", "</thinking>"} {
		if i := strings.LastIndex(answer, tag); i >= 0 {
			answer = answer[i+len(tag):]
		}
	}
	for at, broken := 0, 0; broken <= maxBraces; {
		brace := strings.IndexByte(answer[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		dec := json.NewDecoder(strings.NewReader(answer[at:]))
		var object map[string]json.RawMessage
		if dec.Decode(&object) != nil {
			broken++
			at++
			continue
		}
		if lines := linesOf(object["instruction"]); len(lines) > 0 {
			return lines, nil
		}
		at += int(dec.InputOffset())
	}
	return nil, fmt.Errorf("%w: no JSON object with an instruction", model.ErrUnparsable)
}

// linesOf reads a string or a list of strings; other values in the list are left
// out.
func linesOf(raw json.RawMessage) (out []string) {
	var one string
	var list []any
	switch {
	case json.Unmarshal(raw, &one) == nil:
		for line := range strings.Lines(one) {
			list = append(list, line)
		}
	case json.Unmarshal(raw, &list) != nil:
		return nil
	}
	for _, value := range list {
		said, _ := value.(string)
		said = line(strings.TrimLeft(strings.TrimSpace(said), "-*• "), maxLine)
		if said != "" && len(out) < maxLines {
			out = append(out, said)
		}
	}
	return out
}
