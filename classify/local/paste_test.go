//nolint:misspell // the asks are of many languages
package local

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
)

var pasteTable = flag.Bool("pastes", false, "print how many asks around pastes have a right answer, by kind and size")

// pastes are texts that people put beside an ask, cut to about a size by how many
// lines are taken. i makes each round of lines another one.
var pastes = map[string]func(i int) string{
	"python trace": func(i int) string {
		return fmt.Sprintf("Traceback (most recent call last):\n  File \"/srv/app/worker.py\", line %d, in run\n    self.handle(job)\n  File \"/srv/app/jobs.py\", line %d, in handle\n    total = sum(r[\"amount\"] for r in rows)\nKeyError: 'amount'\n", 10+i, 80+i)
	},
	"java trace": func(i int) string {
		return fmt.Sprintf("java.lang.NullPointerException: Cannot invoke \"Order.getId()\" because \"order\" is null\n\tat com.acme.shop.OrderService.load(OrderService.java:%d)\n\tat com.acme.shop.Cart.checkout(Cart.java:%d)\n\tat java.base/java.lang.Thread.run(Thread.java:833)\nCaused by: java.sql.SQLException: connection closed\n\t... 12 more\n", 40+i, 90+i)
	},
	"go code": func(i int) string {
		return fmt.Sprintf("func sum%d(list []int) int {\n\ttotal := 0\n\tfor i := 0; i <= len(list); i++ {\n\t\ttotal += list[i]\n\t}\n\treturn total\n}\n\n", i)
	},
	"python code": func(i int) string {
		return fmt.Sprintf("def load_%d(path):\n    with open(path) as f:\n        rows = [line.split(',') for line in f]\n    # skip the header\n    return {r[0]: float(r[1]) for r in rows[1:]}\n\n", i)
	},
	"javascript": func(i int) string {
		return fmt.Sprintf("export async function fetchUser%d(id) {\n  const res = await fetch(`/api/users/${id}`);\n  if (!res.ok) throw new Error('failed');\n  return res.json;\n}\n\n", i)
	},
	"sql": func(i int) string {
		return fmt.Sprintf("SELECT c.name, COUNT(o.id) AS n\nFROM customers c LEFT JOIN orders o ON o.customer_id = c.id\nWHERE o.created_at > '2026-%02d-01'\nGROUP BY c.name ORDER BY n DESC;\n\n", 1+i%12)
	},
	"json": func(i int) string {
		return fmt.Sprintf("{\"id\": %d, \"customer\": \"Ada\", \"items\": [{\"sku\": \"x-%d\", \"qty\": 2, \"price\": 9.5}], \"paid\": true},\n", 100+i, i)
	},
	"csv": func(i int) string { return fmt.Sprintf("2026-%02d-14,north,%d,%d.50,EUR\n", 1+i%12, 100+7*i%90, 20+i) },
	"log": func(i int) string {
		return fmt.Sprintf("2026-11-20 22:57:%02d ERROR worker %d failed: dial tcp 10.0.0.7:5432: connect: connection refused\n2026-11-20 22:57:%02d INFO retrying in 5s\n", i%60, i, (i+1)%60)
	},
	"diff": func(i int) string {
		return fmt.Sprintf("diff --git a/cart%d.go b/cart%d.go\n@@ -%d,3 +%d,4 @@\n func (c *Cart) Add(i Item) {\n-\tc.items = append(c.items, i)\n+\tif i.Qty > 0 {\n+\t\tc.items = append(c.items, i)\n+\t}\n", i, i, 10+i, 10+i)
	},
	"mail": mailOf("From: Bob Miller <bob@example.com>\nTo: me\nSubject: Offer for the kitchen\n\nDear Ms Lovelace,\n\n", []string{
		"thank you for your visit last week. Please find our offer for the kitchen attached.", "The delivery takes six weeks from the day of your order.", "We need your answer by the end of the month, as prices will rise then.", "The oak front that you liked is not available any more.",
	}, "\n\nKind regards,\nBob Miller\n"),
	"german mail": mailOf("Sehr geehrte Frau Lovelace,\n\n", []string{
		"vielen Dank für Ihre Anfrage vom 3. November.", "Leider können wir den Termin am Freitag nicht halten, da ein Mitarbeiter erkrankt ist.", "Als Ersatz schlagen wir Ihnen den folgenden Dienstag vor.", "Bitte bestätigen Sie uns den neuen Termin kurz.",
	}, "\n\nMit freundlichen Grüßen\nHausverwaltung Meyer\n"),
	"letter": mailOf("", []string{
		"The old house stood at the end of the lane, and nobody had lived in it for years.", "The garden was wild, and the windows were dark.", "In spring the children of the village came to pick the apples.", "An old man told them stories about the people who had built it.",
	}, "\n"),
	"minutes": mailOf("Minutes of the meeting on 12 November\n\n", []string{
		"Ada reported that the new pump works.", "Bob will order the spare parts by Friday.", "The board agreed to raise the fee by two per cent.", "Eve asks for a second quote for the roof.",
	}, "\n"),
}

func mailOf(head string, sentences []string, tail string) func(int) string {
	return func(i int) string {
		switch {
		case i < 0:
			return tail
		case i == 0:
			return head + sentences[0] + " "
		case i%5 == 4:
			return sentences[i%len(sentences)] + "\n\n"
		}
		return sentences[i%len(sentences)] + " "
	}
}

// pasteOf returns a paste of about a size in bytes.
func pasteOf(kind string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(pastes[kind](i))
	}
	switch kind {
	case "mail", "german mail", "letter", "minutes":
		b.WriteString(pastes[kind](-1))
	}
	return strings.TrimSpace(b.String())
}

// vagueAsks say what they are about by their paste alone, in the languages of the
// catalogue; of each kind of paste, the intents that a sensible person accepts.
var vagueAsks = []struct {
	kinds, accepted []string
	asks            []string
}{
	{
		[]string{"go code", "python code", "javascript", "sql"},
		[]string{"CODE_DEBUGGING", "CODE_REVIEW", "CODE_WRITING"},
		[]string{
			"fix this", "what's wrong here?", "this doesn't work", "is this ok?", "can you make this better?", "improve this", "bring das in Ordnung", "was ist hier falsch?", "das geht nicht", "arregla esto",
			"¿qué está mal aquí?", "corrige ça", "qu'est-ce qui ne va pas ici ?", "conserta isto", "sistema questo", "исправь это", "bunu düzelt", "أصلح هذا", "इसे ठीक करो", "이거 고쳐줘", "帮我改一下", "这里哪里不对？", "これを直して", "どこが間違ってる？",
		},
	},
	{
		[]string{"python trace", "java trace"},
		[]string{"CODE_DEBUGGING", "SYSTEM_DIAGNOSTICS", "RESEARCH_DEVDOCS"},
		[]string{
			"what does this mean?", "why?", "any idea?", "help", "what now?", "fix this", "was bedeutet das?", "woran liegt das?", "¿qué significa esto?", "¿por qué pasa esto?", "que faire ?", "ça veut dire quoi ?",
			"o que é isto?", "che significa?", "что это значит?", "bu ne demek?", "ماذا يعني هذا؟", "इसका क्या मतलब है?", "이게 무슨 뜻이야?", "这是什么意思？", "怎么办？", "これはどういう意味？", "どうすればいい？",
		},
	},
	{
		[]string{"log"},
		[]string{"SYSTEM_DIAGNOSTICS", "CODE_DEBUGGING", "SYSTEM_INFRASTRUCTURE"},
		[]string{
			"what's going on here?", "why does this happen?", "any idea what is wrong?", "can you have a look?", "was ist hier los?", "warum passiert das?", "¿qué pasa aquí?", "qu'est-ce qui se passe ?", "o que se passa aqui?",
			"che succede qui?", "что здесь происходит?", "burada ne oluyor?", "ماذا يحدث هنا؟", "यहाँ क्या हो रहा है?", "무슨 일이야?", "这是怎么回事？", "何が起きてる？",
		},
	},
	{
		[]string{"diff"},
		[]string{"CODE_REVIEW", "CODE_GIT", "CODE_DEBUGGING", "CODE_WRITING"},
		[]string{"is this ok?", "what do you think?", "can I merge this?", "looks good?", "passt das so?", "¿está bien así?", "c'est bon comme ça ?", "va bene così?", "так нормально?", "böyle olur mu?", "这样可以吗？", "これでいい？"},
	},
	{
		[]string{"json", "csv"},
		[]string{"DATA_ANALYSIS", "CODE_WRITING", "CODE_DEBUGGING", "DOCUMENT_WORK"},
		[]string{"what does this tell us?", "what is the total?", "put this into a table", "which one is the highest?", "was sagt uns das?", "mach daraus eine Tabelle", "¿cuál es el total?", "fais-en un tableau", "qual é o total?", "fanne una tabella", "сделай из этого таблицу", "总数是多少？", "做成表格", "表にして"},
	},
	{
		[]string{"mail", "german mail"},
		[]string{"PRODUCTIVITY_EMAIL", "SUMMARIZATION", "TRANSLATION", "DOCUMENT_WORK"},
		[]string{
			"what does this say?", "what do they want?", "answer this", "write back that I agree", "was steht da?", "was wollen die von mir?", "antworte darauf", "¿qué dice?", "responde a esto", "qu'est-ce qu'ils veulent ?", "réponds à ça", "responde a isto",
			"rispondi a questo", "ответь на это", "что они хотят?", "buna cevap yaz", "رد على هذا", "इसका जवाब दो", "이거 답장 써줘", "这封信说什么？", "帮我回复", "これに返事して", "何て書いてある？",
		},
	},
	{
		[]string{"letter", "minutes"},
		[]string{"SUMMARIZATION", "DOCUMENT_WORK", "TRANSLATION", "CREATIVE_WRITING", "TYPO"},
		[]string{
			"tl;dr", "make it shorter", "in German please", "what is it about?", "any mistakes?", "kürzer bitte", "worum geht es?", "auf Englisch bitte", "¿de qué trata?", "más corto", "de quoi ça parle ?", "plus court",
			"mais curto", "più corto", "покороче", "kısalt", "اختصر", "छोटा करो", "짧게 줄여줘", "短一点", "讲的是什么？", "翻成中文", "短くして", "何の話？",
		},
	},
}

var pasteSizes = []int{300, 2_000, 20_000}

// beside are the ways in which people put an ask beside a paste.
var beside = []struct{ name, form string }{
	{"before", "%a\n\n%p"}, {"behind", "%p\n\n%a"}, {"line before", "%a\n%p"}, {"line behind", "%p\n%a"}, {"fenced behind", "%a\n```\n%p\n```"}, {"fenced before", "```\n%p\n```\n%a"},
}

func asked(m *Model, prompt string) string {
	return m.Classify(classify.Input{Catalog: m.catalog, Latest: conversation.Latest(prompt), Paste: conversation.Pasted(prompt)}).Intent
}

// pasteScore counts asks around pastes and those that have a right answer.
type pasteScore struct {
	clear, nClear, vague, nVague int
	missed                       []string
}

// score asks each of the tasks, and each vague ask, around pastes of a size. Of the
// asks it takes every step-th.
func (s *pasteScore) score(m *Model, form string, size, step int) {
	message := func(ask, paste string) string { return strings.NewReplacer("%a", ask, "%p", paste).Replace(form) }
	for i, kind := range slices.Sorted(maps.Keys(pastes)) {
		paste := pasteOf(kind, size)
		for j := i % step; j < len(tasks); j += step {
			s.nClear++
			if want, got := asked(m, tasks[j]), asked(m, message(tasks[j], paste)); got == want {
				s.clear++
			} else {
				s.missed = append(s.missed, fmt.Sprintf("%s | %s: %s, not %s", kind, tasks[j], got, want))
			}
		}
	}
	for i, row := range vagueAsks {
		for _, kind := range row.kinds {
			paste := pasteOf(kind, size)
			for j := i % step; j < len(row.asks); j += step {
				s.nVague++
				if got := asked(m, message(row.asks[j], paste)); slices.Contains(row.accepted, got) {
					s.vague++
				} else {
					s.missed = append(s.missed, fmt.Sprintf("%s | %s: %s", kind, row.asks[j], got))
				}
			}
		}
	}
}

func TestAsksAroundPastes(t *testing.T) {
	t.Parallel()
	m := Trained(intents.Bundled())
	step := 5 // all of them, in the table, take seconds
	if *pasteTable {
		step = 1
	}
	for _, size := range pasteSizes {
		for _, way := range beside {
			var s pasteScore
			s.score(m, way.form, size, step)
			if *pasteTable {
				fmt.Printf("%6d %-14s clear %d/%d vague %d/%d\n", size, way.name, s.clear, s.nClear, s.vague, s.nVague)
			}
			require.GreaterOrEqual(t, s.clear, s.nClear-1, "%d %s: %s", size, way.name, s.missed)
			require.GreaterOrEqual(t, s.vague, s.nVague*3/4, "%d %s: %s", size, way.name, s.missed)
		}
	}
}

func TestNamesOf(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"python trace": "error stack trace code", "java trace": "error stack trace code", "go code": "code function bug", "python code": "code function bug", "javascript": "code function bug",
		"sql": "code function bug", "json": "data json", "csv": "data csv spreadsheet", "log": "log error server", "diff": "code diff pull request", "mail": "email", "german mail": "email",
		"letter": prose.latin, "minutes": prose.latin,
	} {
		for _, size := range pasteSizes {
			named := namesOf(&conversation.Paste{Text: text.CutBytes(pasteOf(kind, size), 1024)})
			require.Equal(t, want, named.latin, "%s of %d", kind, size)
		}
	}
	for text, want := range map[string]names{
		"func a() {\n\tfor {\n\t}\n}\n":             pasteKinds[4].names,
		"{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}": pasteKinds[3].names,
	} {
		require.Equal(t, want, namesOf(&conversation.Paste{Text: text}))
	}
	require.Equal(t, mail, namesOf(conversation.Pasted("Estimada señora:\n\n"+pasteOf("letter", 300)+"\n\nwhat is this?")))
	for ask, want := range map[string]string{"what?": "email", "что?": "письмо", "ماذا؟": "البريد", "क्या?": "ईमेल", "什么": "邮件", "何これ": "メール", "뭐야": "메일"} {
		require.Equal(t, want, mail.beside(ask))
	}
}

// A text that was asked for is what the conversation is about; a courtesy beside a
// text asks for nothing.
func TestPastesWithoutAnAsk(t *testing.T) {
	t.Parallel()
	m := Trained(intents.Bundled())
	before := []payload.Turn{{Role: payload.RoleUser, Text: "can you translate a letter into German for me?"}, {Role: payload.RoleAssistant, Text: "Sure, please send it."}}
	prompt := "here:\n\n" + pasteOf("letter", 2_000)
	got := m.Classify(classify.Input{Catalog: m.catalog, Conversation: before, Latest: conversation.Latest(prompt), Paste: conversation.Pasted(prompt)})
	require.Equal(t, "TRANSLATION", got.Intent)
	require.Equal(t, "TRANSLATION", asked(m, "Hi there\n\n"+pasteOf("letter", 2_000)+"\n\ntranslate this into Spanish please\n\nthanks!"))
	for _, kind := range []string{"python trace", "go code"} {
		require.Contains(t, asked(m, "thanks!\n\n"+pasteOf(kind, 2_000)), "CODE_", kind)
	}
}
