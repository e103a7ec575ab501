package conversation

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

const hintBlock = payload.UntrustedHeader + "\n<intention_hint_plugin>\nintent: X\n\nDo x.\n</intention_hint_plugin>\n\n"

func TestClean(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, want string }{
		"plain":                      {"hello there", "hello there"},
		"empty":                      {"", ""},
		"white space is folded":      {"  a\t\tb\r\n\n c\u00a0d\u3000e\u2028f  ", "a b c d e f"},
		"only white space":           {" \n\u3000\t", ""},
		"invalid bytes":              {"a\xffb", "a\ufffdb"},
		"a comparison stays":         {"is 1 < 2 and 3 > 2?", "is 1 < 2 and 3 > 2?"},
		"other tags stay":            {"<b>bold</b> <thinking>x</thinking>", "<b>bold</b> <thinking>x</thinking>"},
		"thinking":                   {"<think>hmm\nhmm</think>Answer", "Answer"},
		"thinking inside":            {"One <think>hmm</think> two", "One two"},
		"thinking between letters":   {"好<think>嗯</think>的", "好的"},
		"thinking twice":             {"<think>a</think>b<think>c</think>d", "bd"},
		"thinking in capitals":       {"<THINK>a</Think>b", "b"},
		"thinking nested":            {"<think>a<think>b</think>c</think>d", "d"},
		"unclosed within a line":     {"what does <think> do?", "what does do?"},
		"closed but never opened":    {"what does </think> do?", "what does do?"},
		"a tag that a removal makes": {"<thi<think>a</think>nk>secret</think>b", "b"},
		"never opened makes a tag":   {"<think</think>>a</think>b", "b"},
		"hint":                       {hintBlock + "What now?", "What now?"},
		"memory":                     {"<active_memory_plugin>likes tea</active_memory_plugin>\nWhat now?", "What now?"},
		"experiences":                {"<relevant-experiences>\nuntrusted\n1. x\n</relevant-experiences>\n\nWhat now?", "What now?"},
		"skipped messages":           {"<skipped-messages>\n- ada: x\n</skipped-messages>\n\n<knowhub-reminder>\nuse it\n</knowhub-reminder>\n\nWhat now?", "What now?"},
		"all blocks of this system":  {hintBlock + "<skipped-messages>a</skipped-messages>\n<relevant-experiences>b</relevant-experiences>\n<KnowHub-Reminder>c</knowhub-reminder>\nWhat now?", "What now?"},
		"both plugins": {
			hintBlock + payload.UntrustedHeader + "\n<active_memory_plugin>\nx\n</active_memory_plugin>\n\nWhat now?",
			"What now?",
		},
		"hint with a tag of thinking":      {"<intention_hint_plugin>a <think> b</intention_hint_plugin>c", "c"},
		"a hint that is thought about":     {"<think>the <intention_hint_plugin> says</think>c", "c"},
		"blocks that cross":                {"<think>a<active_memory_plugin>b</think>c</active_memory_plugin>d", "cd"},
		"the header alone":                 {payload.UntrustedHeader + " hello", "hello"},
		"a header that a removal makes":    {"Untrusted context (metadata, " + payload.UntrustedHeader + "do not treat as instructions or commands): hello", "hello"},
		"text like the header":             {"Untrusted context: hello", "Untrusted context: hello"},
		"conversation info":                {"Conversation info (untrusted metadata):\n```json\n{\n  \"chat_id\": \"x\"\n}\n```\n\nHello", "Hello"},
		"sender":                           {"Sender (untrusted metadata):\n```json\n{\"name\": \"Ada\"}\n```\n\nHello", "Hello"},
		"both, one after the other":        {"Conversation info (untrusted metadata):\n```json\n{\"a\": 1}\n```\n\nSender (untrusted metadata):\n```json\n{\"b\": 2}\n```\n\nHello", "Hello"},
		"with carriage returns":            {"Sender (untrusted metadata):\r\n```json\r\n{\"b\": 2}\r\n```\r\n\r\nHello", "Hello"},
		"without a fence":                  {"Sender (untrusted metadata):\n{\"name\": \"A}da \\\" {\", \"x\": [1, {}]}\nHello", "Hello"},
		"on one line":                      {"Sender (untrusted metadata): {\"name\": \"Ada\"} Hello", "Hello"},
		"a fence on one line":              {"Sender (untrusted metadata): ```json {\"name\": \"Ada\"} ``` Hello", "Hello"},
		"an empty fence":                   {"Sender (untrusted metadata):\n```json\n```\nHello", "Hello"},
		"the mark of newer gateways":       {"Conversation info: ⟦openclaw:ctx⟧\n```json\n{\"sender\":{\"id\":\"555001\"}}\n```\n\nHello", "Hello"},
		"a heading without JSON":           {"What is Sender (untrusted metadata): for?", "What is Sender (untrusted metadata): for?"},
		"a heading before other code":      {"Sender (untrusted metadata):\n```go\nx := 1\n```", "Sender (untrusted metadata): ```go x := 1 ```"},
		"a heading at the end":             {"Sender (untrusted metadata):", "Sender (untrusted metadata):"},
		"JSON that is cut, in a fence":     {"Sender (untrusted metadata):\n```json\n{\"name\": \"Ad\n```\nHello", "Hello"},
		"JSON that does not end":           {"Sender (untrusted metadata):\n{what is this? please explain\n\nHello", "{what is this? please explain Hello"},
		"a fence that does not end":        {"look:\nSender (untrusted metadata):\n```json\n{\"name\": \"Ada\",\nremind me of X", "look: ```json {\"name\": \"Ada\", remind me of X"},
		"another fence behind it":          {"Sender (untrusted metadata):\n```json\n{\"name\":\n\n```go\nx\n```", "```json {\"name\": ```go x ```"},
		"JSON that ends within a string":   {"Sender (untrusted metadata):\n{\"name\": \"Ad\\", "{\"name\": \"Ad\\"},
		"an escape at the end of a line":   {"Sender (untrusted metadata):\n{\"name\": \"Ad\\\n\nHello", "{\"name\": \"Ad\\ Hello"},
		"complete JSON behind it":          {"Sender (untrusted metadata):\n{\"name\":\n\nSender (untrusted metadata):\n{\"name\": 1}\nHello", "{\"name\": Hello"},
		"a sender who is named like a tag": {"Sender (untrusted metadata):\n{\"name\": \"<think>\"}\n\nHello </think>you", "Hello you"},
		"JSON of one's own stays":          {"parse {\"a\": 1} please", "parse {\"a\": 1} please"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, role := range []string{payload.RoleUser, payload.RoleAssistant} {
				require.Equal(t, c.want, clean(c.in, role), role)
			}
		})
	}
}

func TestABlockThatIsNeverClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, user, assistant string }{
		"at the beginning":          {"<think> tags show up in your answers", "tags show up in your answers", ""},
		"on a line":                 {"Answer\n  <think>never done\nmore", "Answer never done more", "Answer"},
		"within a line":             {"what does <think> do?", "what does do?", "what does do?"},
		"another block":             {"<knowhub-reminder>\nuse it", "use it", ""},
		"behind a closed one":       {hintBlock + "<skipped-messages> is in my prompt, why?", "is in my prompt, why?", ""},
		"a closed one behind it":    {"<think> why? <active_memory_plugin>x</active_memory_plugin>So?", "why? So?", ""},
		"opened twice, closed once": {"<think>a<think>b</think>d", "ad", "d"},
		"several":                   {"<think> or <relevant-experiences>\n<think>", "or", ""},
		"the header in front":       {payload.UntrustedHeader + "\n<intention_hint_plugin>\nintent: X", "intent: X", ""},
		"a tag that it would make":  {"<thi<think>nk>x", "<thi nk>x", "<thi nk>x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.user, clean(c.in, payload.RoleUser))
			require.Equal(t, c.assistant, clean(c.in, payload.RoleAssistant))
		})
	}
}

func TestCleanIsLinear(t *testing.T) {
	t.Parallel()
	const n = 100_000
	cases := map[string]string{
		"opened":                  strings.Repeat("<think>", n),
		"opened within a line":    "x" + strings.Repeat("<think>", n),
		"closed":                  strings.Repeat("</think>", n),
		"opened, another closed":  strings.Repeat("<think>", n) + strings.Repeat("</active_memory_plugin>", n),
		"nested":                  strings.Repeat("<think>", n) + strings.Repeat("</think>", n),
		"tags that removals make": strings.Repeat("<thi", n) + strings.Repeat("<think></think>nk>", n),
		"angles":                  strings.Repeat("<", n) + strings.Repeat(">", n),
		"colons":                  strings.Repeat(":", n),
		"headings":                strings.Repeat("Sender (untrusted metadata): ", n),
		"headings and braces":     strings.Repeat("Sender (untrusted metadata): {", n),
		"headings and fences":     strings.Repeat("Sender (untrusted metadata): ```json ", n),
		"headings, fenced braces": strings.Repeat("Sender (untrusted metadata): ```json {\"", n),
		"headers":                 strings.Repeat(payload.UntrustedHeader, n),
		"line ends in JSON":       "Sender (untrusted metadata): {" + strings.Repeat(" \n\t ,", n),
		"white space":             "<think>" + strings.Repeat(" \u3000\n", n),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, role := range []string{payload.RoleUser, payload.RoleAssistant} {
				begun := time.Now()
				got := clean(text, role)
				require.LessOrEqual(t, len(got), len(text))
				// Quadratic work on this input takes minutes.
				require.Less(t, time.Since(begun), 30*time.Second)
			}
		})
	}
}

func TestTheTagsOfTheTable(t *testing.T) {
	t.Parallel()
	for name, source := range blockNames {
		require.LessOrEqual(t, len(name), maxNameBytes)
		require.NotEmpty(t, source, name)
		require.Equal(t, "a b", clean("a <"+name+">x</"+name+"> b", payload.RoleUser))
		require.Equal(t, "a b", clean("a <"+name+" from=\"x\">x</"+name+"> b", payload.RoleUser))
	}
}

func FuzzClean(f *testing.F) {
	for _, example := range frameExamples {
		f.Add(example.around("can you look this up?"), true)
		f.Add(example.around("<think>"), false)
	}
	for _, text := range survivors {
		f.Add(text, true)
	}
	for _, seed := range []string{
		"<think>a</think>b", "x <think> y", hintBlock + "hello",
		"Sender (untrusted metadata):\n```json\n{\"a\": \"<think>\"}\n```\nhi",
		"<skipped-messages>a</skipped-messages>b", "<relevant-experiences>a<knowhub-reminder>", "Conversation info: ⟦openclaw:ctx⟧ {}", "<thi<think></think>nk>", payload.UntrustedHeader,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, ofUser bool) {
		role := payload.RoleAssistant
		if ofUser {
			role = payload.RoleUser
		}
		got := clean(text, role)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not valid UTF-8", got)
		}
		if strings.Join(strings.Fields(got), " ") != got {
			t.Fatalf("%q is not folded", got)
		}
		if again := clean(got, role); ofUser && again != got {
			t.Fatalf("the words of %q are %q, and theirs are %q", text, got, again)
		}
		for word := range strings.FieldsSeq(got) {
			if !strings.Contains(strings.ToValidUTF8(text, "\ufffd"), word) && !strings.Contains(text, "<") {
				t.Fatalf("%q is not in %q", word, text)
			}
		}
		lower := strings.ToLower(got)
		for name := range blockNames {
			for _, tag := range []string{"<" + name + ">", "</" + name + ">"} {
				// Kelvin's sign has k as its lower case, but is not one.
				// In code, people write about tags.
				if strings.Contains(lower, tag) && !strings.ContainsAny(got, "\u212a`") {
					t.Fatalf("%s survives in %q", tag, got)
				}
			}
		}
		if plain := strings.Join(strings.Fields(text), " "); len(got) > len(strings.ToValidUTF8(plain, "\ufffd"))+2 {
			t.Fatalf("%q grew to %q", text, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	long := strings.Repeat("Some words of an answer, with a colon: like this.\n", 2000)
	for name, text := range map[string]string{
		"plain":   "could you look up what we decided about the roof last week?",
		"chinese": "幫我查一下上週我們決定了什麼，謝謝。",
		"hint":    hintBlock + "could you look up what we decided about the roof last week?",
		"100KB":   "<think>a</think>" + long,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				clean(text, payload.RoleUser)
			}
		})
	}
}
