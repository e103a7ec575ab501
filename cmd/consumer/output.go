package main

import (
	"encoding/json"
	"fmt"
)

// printJSON prints v as indented JSON.
func printJSON(inv *invocation, v any) error {
	enc := json.NewEncoder(inv.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// orEmpty makes an empty list [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// count formats a number with its noun: 1 file, 2 files.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
