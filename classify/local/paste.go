package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"intenthint/conversation"
)

// surePaste is the probability from which an ask that says what it is about only by
// its paste has an intent.
const surePaste = 0.5

// maxShortAsk is how long an ask is at most that may be about a text in prose without
// saying so, in quarters of a word.
const maxShortAsk = 24

// aroundPaste returns the verdict on what is asked beside a pasted text: by the words
// before or behind it alone, or together with what kind of text it is, whatever is
// surest. ok is false if nothing is sure enough. Prose may be the person's own, so
// there the verdict on all of the message must be less sure. In a conversation, bare
// words beside prose ("here it is:") are left to it, and returned. It overwrites sc.
func (m *Model) aroundPaste(sc *scratch, message string, p *conversation.Paste, conversing bool, allowed []bool, by *embedding) (v verdict, bare string, ok bool) {
	called := namesOf(p)
	if called == prose {
		if whole := m.allOf(sc, message, allowed, by); !whole.other() {
			v.pFirst = whole.pFirst
		}
	}
	courtesy, best := m.courtesies(sc, allowed), ""
	for _, ask := range asksBeside(p) {
		content, length := lengthOf(ask)
		if called == prose && conversing && content == 0 {
			bare = ask
			continue
		}
		if called == prose && !addresses(ask) {
			continue
		}
		take := func(as string, least float64) {
			next := m.request(sc, as, allowed, by)
			if !next.other() && !courtesy[next.first] && next.pFirst >= least && next.pFirst > v.pFirst {
				v, best = next, as
			}
		}
		if content > 0 {
			take(ask, sureSentence)
		}
		if called != prose || length <= maxShortAsk {
			take(ask+" "+called.beside(ask), surePaste)
		}
	}
	if best == "" {
		return v, bare, false
	}
	return m.request(sc, best, allowed, by), "", true
}

// asksBeside returns what beside a paste may ask for something: not a mail's greeting
// and its end. Of a line and its paragraph that is the line, if it is addressed to the
// assistant; and where one side is addressed, the other is not an ask.
func asksBeside(p *conversation.Paste) (asks []string) {
	addressed := false
	for _, side := range [...][]string{p.Before, p.Behind} {
		for _, ask := range side {
			c := clauseText(ask)
			if c == "" || letterWords.begins(c) {
				continue
			}
			if addresses(ask) {
				if !addressed {
					asks, addressed = nil, true
				}
				asks = append(asks, ask)
				break
			}
			if !addressed {
				asks = append(asks, ask)
			}
		}
	}
	return asks
}

// lengthOf returns how long an ask is, and its words with a meaning of their own, in
// quarters of a word: "what is this?" has none.
func lengthOf(ask string) (content, length int) {
	var t reading
	t.reset(ask)
	c := cuesOf(&t)
	return c.content, c.length
}

// addresses reports whether words ask or refer to a text, or begin like a request.
func addresses(s string) bool {
	var t reading
	t.reset(s)
	c := cuesOf(&t)
	if c.content == 0 && c.has(roleThanks|roleBye|roleGreet) {
		return false
	}
	return asksIn(s) || opens(s) || c.has(roleRefers)
}

// pasteKind is a kind of text that people paste.
type pasteKind struct {
	lines *regexp.Regexp // what it is recognised by
	share float64        // of its lines that match, at least; one does in any case
	names names
}

// names are what a kind of text is called in words that a catalogue is likely to
// know, by the script of the ask.
type names struct{ latin, cyrillic, arabic, devanagari, han, kana, hangul string }

// pasteKinds, the more specific first.
var pasteKinds = []pasteKind{
	{
		regexp.MustCompile(`^(?:\s+at [\w.$/<>]+\(|\s*File ".*", line \d+|Traceback \(|Caused by: |goroutine \d+|panic: |npm ERR!|error\[E\d+)`), 0.1,
		names{"error stack trace code", "ошибка в коде", "خطأ في الكود", "कोड में एरर", "代码 报错", "コードのエラー", "코드 에러"},
	},
	{
		regexp.MustCompile(`^(?:diff --git |@@ -\d|\+\+\+ |--- a/)`), 0.05,
		names{"code diff pull request", "код пул-реквест", "الكود", "कोड", "代码 diff PR", "コード 差分", "코드 PR"},
	},
	{
		regexp.MustCompile(`^(?:\S{0,40}\s)?(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\w{3} +\d{1,2} \d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|\d{1,3}(?:\.\d{1,3}){3} )`), 0.4,
		names{"log error server", "лог ошибка сервер", "سجل خطأ الخادم", "सर्वर लॉग एरर", "服务器 日志 报错", "サーバーのログ エラー", "서버 로그 에러"},
	},
	{
		regexp.MustCompile(`^\s*(?:[{\[].*[}\]],?$|"[^"]*"\s*:|</?\w+)`), 0.3,
		names{"data json", "данные json", "بيانات json", "डेटा json", "数据 json", "データ json", "데이터 json"},
	},
	{
		regexp.MustCompile(`(?:[{};]\s*$|^\s*(?:import|package|using|from|def|class|func|function|const|let|var|public|private|static|return|export|if|for|while|with|#include|fn|SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|GROUP BY|JOIN)\b.*[({;=:."'>)])`), 0.3,
		names{"code function bug", "код функция ошибка", "الكود خطأ", "कोड फ़ंक्शन बग", "代码 函数 bug", "コード 関数 バグ", "코드 함수 버그"},
	},
	{
		regexp.MustCompile(`^[^,;|\t]{0,40}(?:(?:[,;\t]\S|\|)[^,;|\t]{0,40}){2,}$`), 0.8,
		names{"data csv spreadsheet", "данные таблица csv", "بيانات جدول csv", "डेटा टेबल csv", "数据 表格 csv", "データ csv 表", "데이터 csv 표"},
	},
	{
		regexp.MustCompile(`(?i)^(?:(?:From|To|Subject|Von|An|Betreff|De|Para|Asunto|Objet|Assunto|Oggetto|От|Тема|发件人|主题|件名):|` +
			`dear|hi|hello|sehr geehrte|liebe|hallo|estimad|hola|cher|madame|bonjour|prezad|gentile|уважаем|здравствуйте|sayın|عزيزي|प्रिय|尊敬的|您好|` +
			`(?:kind |best |warm )?regards|(?:mit freundlichen|viele|liebe) gr|saludos|atentamente|cordialement|atenciosamente|cordiali saluti|с уважением|saygılarımla|此致|敬具)`), 0,
		mail,
	},
}

var mail = names{"email", "письмо", "البريد", "ईमेल", "邮件", "メール", "메일"}

// prose is any other text.
var prose = names{"article text", "текст статьи", "النص المقال", "लेख टेक्स्ट", "文章", "文章", "글"}

// namesOf returns what the kind of a paste is called. A letter's greeting and its end
// may stand outside its text.
func namesOf(p *conversation.Paste) names {
	n := 0
	found := make([]int, len(pasteKinds))
	for line := range strings.Lines(p.Text) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) == "" {
			continue
		}
		n++
		for i := range pasteKinds {
			if pasteKinds[i].lines.MatchString(line) {
				found[i]++
			}
		}
	}
	for i := range pasteKinds {
		if found[i] > 0 && float64(found[i]) >= pasteKinds[i].share*float64(n) {
			return pasteKinds[i].names
		}
	}
	for _, part := range slices.Concat(p.Before, p.Behind) {
		if letterWords.begins(clauseText(part)) {
			return mail
		}
	}
	return prose
}

// beside returns the name in the script of an ask.
func (n *names) beside(ask string) string {
	for _, r := range ask {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return n.kana
		case unicode.Is(unicode.Hangul, r):
			return n.hangul
		case unicode.Is(unicode.Cyrillic, r):
			return n.cyrillic
		case unicode.Is(unicode.Arabic, r):
			return n.arabic
		case unicode.Is(unicode.Devanagari, r):
			return n.devanagari
		case unicode.Is(unicode.Han, r) && !strings.ContainsFunc(ask, isKana):
			return n.han
		}
	}
	return n.latin
}

func isKana(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }
