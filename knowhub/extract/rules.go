package extract

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
	"intenthint/payload"
)

// Reasons of [Keep].
const (
	Incomplete = "incomplete" // without task, resource or result
	Unsure     = "unsure"     // below the required confidence
	TooShort   = "too_short"  // has no content
	Greeting   = "greeting"
	Transient  = "transient" // a temporary state
	System     = "system"    // text of a gateway or a prompt
	OwnBlock   = "own_block" // text that this system put into a prompt
	Heartbeat  = "heartbeat"
)

// Least lengths, in letters; a Chinese or Japanese character counts for three.
const (
	minTask   = 4
	minResult = 6
)

// Keep reports whether a candidate is an experience, and if not, why.
func Keep(c Candidate, minConfidence float64) (reason string, ok bool) {
	all := c.Task + "\n" + c.Resource + "\n" + c.Result
	lower := strings.ToLower(html.UnescapeString(all))
	switch {
	case text.Blank(c.Task), text.Blank(c.Resource), text.Blank(c.Result):
		return Incomplete, false
	case slices.ContainsFunc(ownBlocks, func(mark string) bool { return strings.Contains(lower, mark) }):
		return OwnBlock, false
	case strings.Contains(all, "HEARTBEAT_OK"), strings.Contains(lower, "heartbeat poll"), strings.Contains(lower, "heartbeat.md"):
		return Heartbeat, false
	case isSystem(text.Fold(c.Task)), isSystem(text.Fold(c.Result)):
		return System, false
	case isGreeting(c.Task), isGreeting(c.Result):
		return Greeting, false
	case weight(c.Task) < minTask, weight(c.Result) < minResult:
		return TooShort, false
	case isTransient(c.Task, c.Result):
		return Transient, false
	case !(c.Confidence >= minConfidence): // NaN is not
		return Unsure, false
	}
	return "", true
}

// ownBlocks are in lower case: the opening and closing tags of blocks put into
// prompts, and what they say without their tags.
var ownBlocks = func() []string {
	marks := []string{strings.ToLower(payload.UntrustedHeader), "⟦openclaw:ctx⟧", strings.ToLower(payload.ExperiencesNote), strings.ToLower(payload.ReminderNote)}
	for _, name := range []string{payload.ExperiencesTag, payload.SkippedTag, payload.ReminderTag, payload.HintTag, "active_memory_plugin"} {
		marks = append(marks, "<"+name, "</"+name)
	}
	return marks
}()

// weight returns the length of a text in letters and digits.
func weight(s string) (n int) {
	for _, r := range s {
		switch {
		case isWide(r):
			n += 3
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			n++
		}
	}
	return n
}

func isWide(r rune) bool {
	return fold.CJK(r) || unicode.Is(unicode.Hangul, r)
}

// greetings are what people say before and after work.
var greetings = func() map[string]bool {
	m := make(map[string]bool)
	for word := range strings.SplitSeq("hi|hello|hey|hi there|hello there|good morning|good evening|good night|bye|goodbye|thanks|thank you|thank you very much|many thanks|thx|ok|okay|yes|no|sure|great|cool|nice|got it|you're welcome|how are you|how can i help you|how can i help you today|hello how can i help you today|what can i do for you|"+
		"你好|您好|谢谢|謝謝|再见|好的|早上好|嗨|こんにちは|ありがとう|ありがとうございます|おはよう|はい|"+
		"hallo|guten tag|guten morgen|danke|vielen dank|tschüss|ja|nein|bonjour|salut|merci|merci beaucoup|oui|non|hola|buenos días|gracias|muchas gracias|sí|olá|oi|bom dia|obrigado|obrigada|"+
		"привет|здравствуйте|спасибо|да|нет|안녕|안녕하세요|감사합니다|고마워|네|مرحبا|السلام عليكم|شكرا|نعم|لا|ciao|grazie|merhaba|selam|teşekkürler", "|") {
		m[plain(word)] = true
	}
	return m
}()

// isGreeting reports whether a text is nothing but a greeting.
func isGreeting(s string) bool {
	s = plain(text.Cut(s, 200))
	return s == "" || greetings[s]
}

// plain returns the words of a text: in NFKC and lower case, without punctuation,
// one space between them.
func plain(s string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(fold.Lower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// minLasting is how much a result must say besides a temporary state, in
// letters, to still be an experience.
const minLasting = 20

// isTransient reports whether a result says little besides a temporary state:
// that a server is down now helps nobody tomorrow. That it is up again confirms
// what a task says was done, unless the task was to look.
func isTransient(task, result string) bool {
	looked := looks.MatchString(strings.ToLower(strings.TrimSpace(task)))
	passing, lasting := false, 0
	for clause := range strings.FieldsFuncSeq(endOfClause.ReplaceAllString(result, "\n"), func(r rune) bool { return strings.ContainsRune("\n。！？；;", r) }) {
		clause = fold.Lower(clause)
		if passes(clause) && (looked || !regained.MatchString(clause)) {
			passing = true
		} else {
			lasting += weight(clause)
		}
	}
	return passing && lasting < minLasting
}

// endOfClause is the end of a sentence; a dot within a version is not.
var endOfClause = regexp.MustCompile(`[.!?,:](?:\s|$)|\s[–—-]\s`)

// passes reports whether a clause, in lower case, describes the present moment
// or a temporary state.
func passes(clause string) bool {
	return present.MatchString(clause) && !advice.MatchString(clause)
}

//nolint:misspell // the words are of many languages
var (
	present = regexp.MustCompile(`\b(?:currently|right now|at the moment|just now|for now|as of now|momentarily|still running|in progress|under way|ongoing)\b` +
		`|\b(?:is|are|was|were) (?:now |still |temporarily |all )?(?:running|starting|restarting|stopping|down|up|up and running|offline|online|unavailable|unreachable|busy|green|red|pending|queued|loading|passing|failing|idle|waiting)(?: again| now| today)?$` +
		`|\b(?:tests?|builds?|checks?|pipelines?|ci|everything|it|all)(?: \w+)? (?:pass|passes|passed|fail|fails|failed|works?|worked) (?:now|today|again|at last)\b` +
		`|\b(?:now|today) (?:passes|pass|works|fails|running|down|up|green)\b` +
		`|\b(?:tests|checks|pipelines?|builds?) (?:are|is) (?:now )?(?:green|passing|failing|red)\b` +
		`|\b(?:derzeit|momentan|gerade|im moment|zurzeit|aktuell|vorübergehend)\b` +
		`|\b(?:actuellement|en ce moment|pour l'instant|en cours)\b` +
		`|\b(?:actualmente|en este momento|ahora mismo|por ahora|en curso)\b` +
		`|\b(?:atualmente|no momento|neste momento|agora mesmo|por enquanto|em andamento)\b` +
		`|\b(?:attualmente|al momento|in questo momento|in corso)\b|şu anda|şu an ` +
		`|сейчас|в данный момент|в настоящее время|на данный момент|пока что` +
		`|\bo (?:servidor|serviço|site) está (?:fora do ar|no ar)\b|\bit is (?:now )?\d{1,2}[:.]\d\d\b|\bit is (?:raining|snowing|sunny|cloudy|cold|hot|dark)\b|\byou have \d+ (?:unread|new|open)\b|\b(?:price|temperature|weather|exchange rate|balance) (?:today|now) is\b` +
		`|现在(?:宕机|停机|离线|在线|挂了|不可用)|現在(?:停止|稼働|利用不可)|지금 (?:다운|실행|중단)` +
		`|目前|当前|當前|现在正|現在正|正在|此刻|暂时|暫時|现在(?:通过|正常|运行)|現在は|現在、|実行中|動作中|稼働中|停止中|処理中|今のところ|현재|지금은|진행 중|실행 중|حاليا|الآن|في الوقت الحالي`)
	// advice stays useful later.
	advice = regexp.MustCompile(`\b(?:use|set|run|add|remove|because|so that|instead|must|should|needs?|requires?|fixed by|caused by|blocked by|to fix|avoid|only supports?)\b`)
	// regained is a good state that was lost before.
	regained = regexp.MustCompile(`\b(?:running|up|online|available|reachable|green|passing|pass|passes|works?|working) again\b`)
	// looks begins a task that is to find out a state.
	looks = regexp.MustCompile(`^(?:(?:please|kindly|(?:can|could|would|will) you|i(?:'d| would)? (?:want|need|like) you to),? )*` +
		`(?:(?:check|look|see|watch|monitor|verify|ask|tell|find out|status|state|is|are|does|what|why|when|how)\b` +
		`|(?:test|report|show)(?: me)? (?:whether|if|that|the (?:state|status))\b|do (?:i|we|you|they)\b)`)
)
