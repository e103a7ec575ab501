package cli

import (
	"encoding/json"
	"fmt"
)

// PrintJSON prints v as indented JSON.
func PrintJSON(inv *Invocation, v any) error {
	enc := json.NewEncoder(inv.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// OrEmpty makes an empty list [] in JSON, not null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Count formats a number with its noun: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
