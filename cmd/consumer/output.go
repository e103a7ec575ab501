package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// printJSON prints v as people and programs read it.
func printJSON(inv *invocation, v any) error {
	enc := json.NewEncoder(inv.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// orEmpty makes JSON say [] for an empty list, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// shorten makes one line of text of at most n characters.
func shorten(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// count writes 1 file, 2 files.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
