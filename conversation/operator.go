package conversation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// Frames are the frames that an operator's gateways put around messages, beyond
// those of the table (HINT_FRAMES, contract §5). Nil has none.
type Frames struct {
	tags     []string // in lower case
	patterns []*regexp.Regexp
}

// operator holds the frames that [Use] set.
var operator atomic.Pointer[Frames]

// Use makes a process take the operator's frames from messages as well. What
// stands around a message is the same for everybody who reads it, so it is set
// once for the process rather than handed to each reader.
func Use(f *Frames) { operator.Store(f) }

var tagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9:._-]*$`)

// ParseFrames reads a comma-separated list of tag names and of RE2 patterns
// between slashes. Tags of HTML, which people write themselves, are refused. A pattern ends at a slash before a comma or at the end of the
// list, so it may hold commas and slashes; `/,` within it is written `[/],`. It
// must not match an empty text.
func ParseFrames(list string) (*Frames, error) {
	f := &Frames{}
	for rest := strings.TrimSpace(list); rest != ""; {
		var item string
		if strings.HasPrefix(rest, "/") {
			end := patternEnd(rest)
			if end < 0 {
				return nil, fmt.Errorf("pattern %s does not end in a slash", rest)
			}
			item, rest = rest[1:end], rest[end+1:]
			pattern, err := regexp.Compile(item)
			if err != nil {
				return nil, fmt.Errorf("pattern /%s/: %w", item, err)
			}
			if pattern.MatchString("") {
				return nil, fmt.Errorf("pattern /%s/ matches an empty text", item)
			}
			f.patterns = append(f.patterns, pattern)
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			item, rest = strings.TrimSpace(rest[:end]), rest[end:]
			if item == "" {
				return nil, errors.New("empty entry")
			}
			if htmlTags[strings.ToLower(item)] {
				return nil, fmt.Errorf("%q is a tag of HTML or XML that people write themselves", item)
			}
			if len(item) > maxNameBytes || len(item) < 2 || !tagName.MatchString(item) {
				return nil, fmt.Errorf("%q is neither the name of a tag nor a pattern between slashes", item)
			}
			f.tags = append(f.tags, strings.ToLower(item))
		}
		rest = strings.TrimSpace(rest)
		if rest == "" {
			break
		}
		if rest = strings.TrimSpace(strings.TrimPrefix(rest, ",")); rest == "" {
			return nil, errors.New("empty entry")
		}
	}
	return f, nil
}

// patternEnd returns the index of the slash that ends the pattern at the
// beginning of a list, or -1.
func patternEnd(list string) int {
	for i := 1; i < len(list); i++ {
		if list[i] != '/' {
			continue
		}
		if rest := strings.TrimLeft(list[i+1:], space); rest == "" || rest[0] == ',' {
			return i
		}
	}
	return -1
}

// holdsTag reports whether the operator names a tag, given in lower case.
func (f *Frames) holdsTag(name string) bool { return f != nil && slices.Contains(f.tags, name) }

// cut removes what the operator's patterns match.
func (f *Frames) cut(s string, r *reading) string {
	if f == nil {
		return s
	}
	for _, pattern := range f.patterns {
		spans := pattern.FindAllStringIndex(s, -1)
		if len(spans) == 0 {
			continue
		}
		var kept strings.Builder
		from := 0
		for _, span := range spans {
			r.note("HINT_FRAMES /"+pattern.String()+"/", s[span[0]:span[1]])
			kept.WriteString(s[from:span[0]])
			kept.WriteByte('\n')
			from = span[1]
		}
		kept.WriteString(s[from:])
		s = kept.String()
	}
	return s
}
