package conversation

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/internal/text"
)

func TestPasted(t *testing.T) {
	t.Parallel()
	code := strings.TrimSpace(strings.Repeat("func add(a, b int) int {\n\treturn a + b\n}\n\n", 8))
	log := strings.TrimSpace(strings.Repeat("2026-11-20 22:57:01 ERROR worker 7 failed\n", 8))
	story := strings.TrimSpace(strings.Repeat("The old house stood at the end of the lane. Nobody had lived in it for years. ", 6))
	for name, c := range map[string]struct {
		in             string
		before, behind []string
		text           string
	}{
		"before":                    {"fix this\n\n" + code, []string{"fix this"}, nil, code},
		"behind":                    {code + "\n\nfix this", nil, []string{"fix this"}, code},
		"on the line before":        {"fix this\n" + code, []string{"fix this"}, nil, code},
		"on the line behind":        {log + "\nwhat is wrong?", nil, []string{"what is wrong?"}, log},
		"on both sides":             {"my log:\n\n" + log + "\n\nwhat is wrong?", []string{"my log:"}, []string{"what is wrong?"}, log},
		"a greeting before the ask": {"hi\n\nwhat is wrong?\n\n" + log, []string{"hi", "hi what is wrong?"}, nil, log},
		"thanks behind the ask":     {log + "\n\nwhat is wrong?\n\nthanks!", nil, []string{"thanks!", "what is wrong? thanks!"}, log},
		"an ask of two lines":       {"hi Bob,\ncan you fix this?\n\n" + code, []string{"hi Bob,", "hi Bob, can you fix this?"}, nil, code},
		"in a fence":                {"fix this:\n```go\nx := 1\ny := 2\nfmt.Println(x, y, \"and more\")\n```", []string{"fix this:"}, nil, "x := 1\ny := 2\nfmt.Println(x, y, \"and more\")"},
		"prose":                     {"shorter please\n\n" + story, []string{"shorter please"}, nil, story},
		"prose and a line":          {story + "\nshorter please", nil, []string{"shorter please"}, story},
		"an envelope around it":     {"[Telegram Ada id:1 +2m Fri 2026-11-20 22:57 UTC] fix this\n\n" + code + "\n[message_id: 42]", []string{"fix this"}, nil, code},
		"the last queued message":   {"[Queued messages while agent was busy]\n\n---\nQueued #1\nfind a hotel\n\n---\nQueued #2\nfix this\n\n" + code, []string{"fix this"}, nil, code},
		"CRLF":                      {"fix this\r\n\r\n" + log, []string{"fix this"}, nil, log},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Pasted(c.in)
			require.NotNil(t, p)
			require.Equal(t, c.before, p.Before)
			require.Equal(t, c.behind, p.Behind)
			require.Equal(t, c.text[:min(len(c.text), maxPasteText)], p.Text)
		})
	}
	for name, in := range map[string]string{
		"nothing":        "",
		"a request":      "find me a hotel in Rome",
		"only a paste":   code,
		"only a log":     log,
		"one line":       strings.Repeat("Nobody had lived in the house for years. ", 20),
		"a short fence":  "what does `x := 1` mean, and ```y := 2```?",
		"a short letter": "shorter please\n\nThe old house stood at the end of the lane.",
	} {
		require.Nil(t, Pasted(in), name)
	}
}

func TestPastedIsLinear(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"hi\n\n", "a\n", "```\n", "thanks\n", "> x\n", "\n", "x;\n\n"} {
		begun := time.Now()
		Pasted(strings.Repeat(line, 40_000))
		// Quadratic work on this input takes minutes.
		require.Less(t, time.Since(begun), 30*time.Second)
	}
}

func FuzzPasted(f *testing.F) {
	for _, seed := range []string{"fix this\n\nx := 1;\n", "```\nx\n```\nwhy?", "hi\n\nwhy?\n", "a, b, c, d\n", "Dear Ada,\n\nx\n\nRegards"} {
		f.Add(seed, 40)
	}
	f.Fuzz(func(t *testing.T, part string, times int) {
		in := strings.Repeat(part, max(0, times%60)) + "\nwhy?"
		p := Pasted(in)
		if p == nil {
			return
		}
		if len(p.Before)+len(p.Behind) == 0 || len(p.Text) > maxPasteText || !utf8.ValidString(p.Text) {
			t.Fatalf("%+v", p)
		}
		for _, ask := range slices.Concat(p.Before, p.Behind) {
			if ask == "" || ask != text.Fold(ask) {
				t.Fatalf("%q is not a text on one line", ask)
			}
		}
	})
}
