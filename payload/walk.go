package payload

import (
	"strings"

	"github.com/tidwall/gjson"
)

// A history of megabytes is walked without looking at its texts: these
// functions tell the values of valid JSON apart and decode none. What is not
// valid they walk in some way.

// eachElement calls do with every element of an array, until it returns false.
func eachElement(array string, do func(value string) bool) {
	for i := blank(array, 1); i < len(array) && array[i] != ']'; {
		end := skip(array, i)
		if end == i || !do(array[i:end]) {
			return
		}
		i = next(array, end)
	}
}

// eachField calls do with every field of an object, until it returns false.
func eachField(object string, do func(name, value string) bool) {
	for i := blank(object, 1); i < len(object) && object[i] == '"'; {
		end := skipString(object, i)
		name := object[i+1 : max(end-1, i+1)]
		if strings.IndexByte(name, '\\') >= 0 {
			name = gjson.Parse(object[i:end]).Str
		}
		i = blank(object, blank(object, end)+1) // behind the colon
		end = skip(object, i)
		if end == i || !do(name, object[i:end]) {
			return
		}
		i = next(object, end)
	}
}

// next returns the place of the value after the one that ends at i.
func next(s string, i int) int {
	if i = blank(s, i); i < len(s) && s[i] == ',' {
		i = blank(s, i+1)
	}
	return i
}

// blank returns the place of the first character from i on that is no white
// space.
func blank(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return min(i, len(s))
}

// skip returns the place after the value that begins at i.
func skip(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		for level := 0; i < len(s); i++ {
			switch s[i] {
			case '"':
				i = skipString(s, i) - 1
			case '{', '[':
				level++
			case '}', ']':
				if level--; level == 0 {
					return i + 1
				}
			}
		}
		return len(s)
	}
	for i < len(s) && strings.IndexByte(",]} \n\r\t", s[i]) < 0 {
		i++
	}
	return i
}

// skipString returns the place after the string that begins at i.
func skipString(s string, i int) int {
	for {
		n := strings.IndexByte(s[i+1:], '"')
		if n < 0 {
			return len(s)
		}
		i += 1 + n
		escapes := 0
		for s[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}
