package conversation

import (
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/payload"
)

// frame is something that a gateway or a plugin puts around a person's words.
type frame struct {
	name   string
	source string // who writes it, and where
	begin  string // with what it begins; "" for any text
	// match returns how much of the beginning of s the frame takes, 0 for nothing,
	// and what of that is the person's own. For a trailing frame it is the end of s.
	match func(r *reading, s string) (n int, keep string)
}

// maxNameBytes bounds the name of a tag.
const maxNameBytes = 64

// blockNames are the tags whose content is removed wherever they stand.
var blockNames = map[string]string{
	"think":                "models that think aloud",
	payload.HintTag:        "this system, and the intention-hint plugin",
	payload.ExperiencesTag: "this system",
	payload.SkippedTag:     "this system",
	payload.ReminderTag:    "this system",
	"active_memory_plugin": "openclaw 2026.9.6, extensions/active-memory",
	"standing_intents":     "openclaw 2026.9.6, extensions/memory-core, renderStandingIntentContext",
	"relevant-memories":    "openclaw 2026.9.6, extensions/memory-lancedb; memory-lancedb-pro, memory-memu, jasper-recall, openclaw-mem0",
	"relevant_memories":    "openclaw 2026.9.6, the other spelling that sessions_history strips",
	"mem0-context":         "openclaw-mem0 cloud plugin",
	"hindsight_memories":   "hindsight-openclaw",
	"hindsight_context":    "hindsight-openclaw",
	"openviking-context":   "openviking plugin",
	"claude-mem-context":   "claude-mem, OpenClaw hook",
	"cognee_memories":      "cognee-openclaw, src/plugin.ts",
	"graphiti-context":     "graphiti plugins",
	"memos_context":        "memos-local-plugin, <memos_context> in front of the prompt",
	"memos-memories":       "memos-openclaw",
	"recalled-memories":    "openclaw-mem0 of several authors, readback",
	"derived-focus":        "memory-lancedb-pro",
	"error-detected":       "memory-lancedb-pro",
	"membase-context":      "openclaw-membase",
	"ama-memories":         "ama memory plugin",
	"gralkor-memory":       "gralkor plugin",
	"inherited-rules":      "memory-lancedb-pro",
	"system-reminder":      "coding agents whose prompts are passed on",
	"media:image":          "openclaw 2026.9.6, placeholder of a message that is only media",
	"media:audio":          "openclaw 2026.9.6, as above",
	"media:video":          "openclaw 2026.9.6, as above",
	"media:document":       "openclaw 2026.9.6, as above",
	"media:sticker":        "openclaw 2026.9.6, as above",
	"media:unknown":        "openclaw 2026.9.6, as above",
}

func isBlock(name string) bool {
	return blockNames[name] != "" || strings.HasPrefix(name, "supermemory") // openclaw-supermemory: -context, -containers, …
}

const contextBegin = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"

// lineFrames begin a line, wherever it stands.
var lineFrames = slices.Concat(pluginLineFrames, []frame{
	{"runtime context", "openclaw 2026.9.6, src/agents/internal-runtime-context.ts", contextBegin, between(contextBegin, "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>")},
	{"external content", "openclaw 2026.9.6, wrapExternalContent in src/security", "<<<EXTERNAL_UNTRUSTED_CONTENT", externalContent},
	{"file", "openclaw 2026.9.6, src/media-understanding/apply.ts", "<file name=", file},
	{"reply", "openclaw 2026.9.6, src/auto-reply/reply/inbound-meta.ts (Telegram); WhatsApp and Mattermost channels", "[Repl", reply},
	{"reply", "openclaw up to 2026.3, Telegram: [Quoting X]…[/Quoting]", "[Quot", reply},
	{"forward", "openclaw 2026.9.6, [Forwarded from X at …] of the Telegram channel", "[Forwarded", forwarded},
	{"media note", "openclaw 2026.9.6, src/auto-reply/media-note.ts", "[media attached", mediaNote},
	{"media note", "openclaw 2026.9.6, in place of a caption", "[User sent media without caption]", mediaNote},
	{"media note", "openclaw up to 2026.3, src/auto-reply/reply/get-reply-run.ts", "To send an image back, prefer the message tool", wholeLine},
	{"transcript", "openclaw 2026.9.6, src/media-understanding/audio-transcript", "[Audio transcript (machine-generated, untrusted)]: ", spokenText},
	{"transcript", "openclaw 2026.9.6, src/media-understanding/format.ts", "[Audio", understood},
	{"description", "openclaw 2026.9.6, src/media-understanding/format.ts", "[Image", understood},
	{"description", "openclaw 2026.9.6, src/media-understanding/format.ts", "[Video", understood},
	{"goal", "openclaw 2026.9.6, src/auto-reply/reply/inbound-meta.ts", "Active goal: ", activeGoal},
	{"delivery hint", "openclaw 2026.9.6, src/plugin-sdk/message-tool-delivery-hints.ts", "Delivery: ", deliveryHint},
})

// leadingFrames stand at the beginning of what is left.
var leadingFrames = slices.Concat(pluginLeadingFrames, []frame{
	{"system event", "openclaw 2026.9.6, drainFormattedSystemEvents in src/auto-reply/reply", "System", systemEvents},
	{"group history", "openclaw 2026.9.6, src/auto-reply/reply/history.ts", "[Chat messages since your last reply - for context]", groupHistory},
	{"group history", "openclaw 2026.9.6, src/auto-reply/reply/history.ts", "[Recent chat messages - for context]", groupHistory},
	{"current message", "openclaw 2026.9.6, src/auto-reply/reply/history.ts", "[Current message - respond to this]", literal("[Current message - respond to this]")},
	{"current message", "openclaw 2026.9.6, src/auto-reply/reply/inbound-meta.ts (Telegram)", "Current message:\n", literal("Current message:")},
	{"thread starter", "openclaw 2026.9.6, src/auto-reply/reply/get-reply-run.ts", "[Thread starter - for context]", threadStarter},
	{"thread history", "openclaw 2026.9.6, src/auto-reply/reply/get-reply-run.ts", "[Thread history - for context]", threadHistory},
	{"room message", "openclaw 2026.9.6, what a room event's message looks like in the prompt: #<message id> <sender>: <text>", "#", roomMessage},
	{"room event", "openclaw 2026.9.6, ROOM_EVENT_PROMPT", "[OpenClaw room event]", literal("[OpenClaw room event]")},
	{"queue overflow", "openclaw 2026.9.6, src/utils/queue-helpers.ts", "[Queue overflow]", paragraph},
	{"spoken request", "openclaw 2026.9.6, buildOpenAIQuicksilverDelegationPrompt of its realtime voice", "<realtime_delegation>", spokenRequest},
	{"user text", "openclaw 2026.9.6, src/media-understanding/format.ts, several attachments", "User text:\n", literal("User text:")},
	{"envelope", "openclaw 2026.9.6, src/auto-reply/envelope.ts and src/shared/chat-envelope.ts; [from X (uid:…)] and [X] of channel plugins", "[", envelope},
	{"plugin block", "any plugin's prependContext in one tag: block, end of line, words", "<", leadingBlock},
})

// trailingFrames stand at the end of what is left.
var trailingFrames = slices.Concat(pluginTrailingFrames, []frame{
	{"message id", "openclaw 2026.9.6, src/shared/chat-envelope.ts; [slack message id: …] of its Slack channel before", "", messageID},
	{"time", "openclaw 2026.9.6, appendCronStyleCurrentTimeLine", "", currentTime},
})

// holdsLineFrame reports whether a frame of lineFrames, or a quoted line, may be
// in a text.
func holdsLineFrame(s string) bool {
	return strings.ContainsAny(s, "[<>") || strings.Contains(s, "Active goal: ") || strings.Contains(s, "Delivery: ") || strings.Contains(s, "To send an image back")
}

// endOfLine returns the index behind the line at the beginning of s.
func endOfLine(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}

func literal(mark string) func(*reading, string) (int, string) {
	return func(*reading, string) (int, string) { return len(mark), "" }
}

func wholeLine(_ *reading, s string) (int, string) { return endOfLine(s), "" }

func paragraph(_ *reading, s string) (int, string) { return paragraphEnd(s), "" }

// between takes all up to the mark that closes; without it the opening mark alone.
func between(begin, end string) func(*reading, string) (int, string) {
	return func(r *reading, s string) (int, string) {
		if i := r.index(s, end); i >= 0 {
			return i + len(end), ""
		}
		return len(begin), ""
	}
}

func externalContent(r *reading, s string) (int, string) {
	const end = "<<<END_EXTERNAL_UNTRUSTED_CONTENT"
	i := r.index(s, end)
	if i < 0 {
		return 0, ""
	}
	line := s[i:min(len(s), i+maxTagBytes)]
	if n := strings.Index(line, ">>>"); n >= 0 {
		return i + n + len(">>>"), ""
	}
	return i + len(end), ""
}

func file(r *reading, s string) (int, string) {
	const end = "</file>"
	i := r.index(s, end)
	if i < 0 {
		return 0, ""
	}
	begin := strings.IndexByte(s[:i], '>') + 1
	r.quote(s[begin:i])
	return i + len(end), ""
}

// replyHead matches the first line of a quoted message, in one of its forms: a
// quote in the brackets, a block up to [/Replying], or a line of its own.
var replyHead = regexp.MustCompile(`^\[(?:Replying to|Reply to|Replied to|Quoting|Quoted message|Quoted)\b`)

// messageNumber matches what Telegram's frame has between quote and words.
var messageNumber = regexp.MustCompile(`^\s*#\d{1,20}:\s`)

func reply(r *reading, s string) (int, string) {
	head := s[:endOfLine(s)]
	if !replyHead.MatchString(head) || strings.HasPrefix(head, quotedBegin) || strings.HasPrefix(head, quotedEnd) {
		return 0, ""
	}
	if i := strings.Index(head, `"`); i >= 0 {
		if end := strings.Index(head[i:], `"]`); end > 0 {
			r.quote(head[i+1 : i+end])
			n := i + end + len(`"]`)
			return n + len(messageNumber.FindString(s[n:min(len(s), n+maxTagBytes)])), ""
		}
	}
	closed := strings.IndexByte(head, ']')
	if closed < 0 {
		return 0, ""
	}
	for _, end := range [...]string{"[/Replying]", "[/Quoting]", "[/Quoted]", "[/Reply]"} {
		if i := r.index(s, end); i > closed && !strings.Contains(s[closed:i], "\n[Repl") {
			r.quote(s[closed+1 : i])
			return i + len(end), ""
		}
	}
	// Without its end: the quote is the quoted text that follows, if any.
	n := closed + 1
	if next := skip(s, n, space); next < len(s) && s[next] == '"' {
		line := s[next : next+endOfLine(s[next:])]
		if end := strings.LastIndexByte(line, '"'); end > 0 {
			r.quote(line[1:end])
			n = next + end + 1
		}
	}
	return n, ""
}

func forwarded(r *reading, s string) (int, string) {
	line := s[:endOfLine(s)]
	closed := strings.IndexByte(line, ']')
	if closed < 0 || !forwardHead.MatchString(line) {
		return 0, ""
	}
	r.forwarded = true
	const end = "[/Forwarded]"
	if i := r.index(s, end); i > closed {
		r.quote(s[closed+1 : i])
		return i + len(end), ""
	}
	n := closed + 1 + paragraphEnd(s[closed+1:])
	r.quote(s[closed+1 : n])
	return n, ""
}

var forwardHead = regexp.MustCompile(`^\[Forwarded(?: message)?(?: from\b[^\]]*| at\b[^\]]*|:[^\]]*)?\]`)

// mediaNote takes the note and leaves the caption behind it. The gateway writes
// no bracket into it.
func mediaNote(_ *reading, s string) (int, string) {
	line := s[:endOfLine(s)]
	if i := strings.IndexByte(line, ']'); i >= 0 {
		return i + 1, ""
	}
	return 0, ""
}

// spokenText keeps a transcript, which is a string of JSON.
func spokenText(_ *reading, s string) (int, string) {
	begin := strings.Index(s, `]: `) + len(`]: `)
	n := endOfLine(s)
	line := strings.TrimSpace(s[begin:n])
	var said string
	if json.Unmarshal([]byte(line), &said) == nil {
		return n, said
	}
	return n, line
}

var understoodHead = regexp.MustCompile(`^\[(?:Audio|Image|Video)(?: \d{1,4}/\d{1,4})?\]\s`)

// understood takes a section of what was understood of media. The user's text
// and a transcript are kept; a description is context.
func understood(r *reading, s string) (int, string) {
	head := understoodHead.FindString(s[:min(len(s), maxTagBytes)])
	if head == "" {
		return 0, ""
	}
	begin := skip(s, len(head), space)
	const userText, transcript, description = "User text:", "Transcript:", "Description:"
	keep, label := "", description
	if strings.HasPrefix(head, "[Audio") {
		label = transcript
	}
	if strings.HasPrefix(s[begin:], userText) {
		i := r.index(s[begin:], "\n"+label)
		if i < 0 {
			return 0, ""
		}
		keep = s[begin+len(userText) : begin+i]
		begin += i + 1
	}
	if !strings.HasPrefix(s[begin:], label) {
		return 0, ""
	}
	begin += len(label)
	if label == transcript {
		return begin, keep
	}
	end := begin + paragraphEnd(s[begin:])
	r.quote(s[begin:end])
	return end, keep
}

func activeGoal(_ *reading, s string) (int, string) {
	n := endOfLine(s)
	if strings.Contains(s[:n], " — advance; keep active until") {
		return n, ""
	}
	return 0, ""
}

func deliveryHint(_ *reading, s string) (int, string) {
	n := endOfLine(s)
	for _, begin := range [...]string{
		"Delivery: Final assistant text is not automatically delivered", "Delivery: to send a message, use the `message` tool",
		"Delivery: No visible reply is delivered automatically",
	} {
		if strings.HasPrefix(s, begin) {
			return n, ""
		}
	}
	return 0, ""
}

// systemHead matches the first of the lines of what happened since the last
// message; it has the time. A person may begin with "System: Windows", or with
// "System: [x] done".
var (
	systemHead = regexp.MustCompile(`^System(?: \(untrusted\))?: ?\[[^\]\n]{0,40}\d{1,2}:\d{2}`)
	systemLine = regexp.MustCompile(`^System(?: \(untrusted\))?:`)
)

func systemEvents(_ *reading, s string) (int, string) {
	if !systemHead.MatchString(s[:min(len(s), maxTagBytes)]) {
		return 0, ""
	}
	n := endOfLine(s)
	for systemLine.MatchString(s[n:min(len(s), n+maxTagBytes)]) {
		n += endOfLine(s[n:])
	}
	return n, ""
}

// roomHead matches what stands in front of a message of a room event.
var roomHead = regexp.MustCompile(`^#\d{1,20} ([^:\n]{1,60}): `)

func roomMessage(_ *reading, s string) (int, string) {
	head := roomHead.FindStringSubmatch(s[:min(len(s), maxTagBytes)])
	if head == nil || !isSender(head[1]) {
		return 0, ""
	}
	return len(head[0]), ""
}

// messageMarks are in front of the message, behind what was said in a group.
var messageMarks = [...]string{
	"[Current message - respond to this]", "[CURRENT MESSAGE — reply to this]", "[CURRENT MESSAGE — reply using the context above]",
}

// groupHistory takes what was said in a group up to the mark of the message.
func groupHistory(r *reading, s string) (int, string) {
	for _, mark := range messageMarks {
		if i := r.index(s, mark); i >= 0 {
			return i + len(mark), ""
		}
	}
	return 0, ""
}

func threadStarter(r *reading, s string) (int, string) {
	begin := strings.IndexByte(s, ']') + 1
	n := begin + paragraphEnd(s[begin:])
	if strings.TrimSpace(s[n:]) == "" {
		return begin, "" // nothing but it
	}
	r.quote(s[begin:n])
	return n, ""
}

// threadHistory takes the first paragraph, and those that are messages with an
// envelope of their own, as long as one is left for the words.
func threadHistory(_ *reading, s string) (int, string) {
	begin := strings.IndexByte(s, ']') + 1
	n := begin
	for {
		end := n + paragraphEnd(s[n:])
		next := skip(s, end, space)
		if next == len(s) {
			break
		}
		n = end
		if s[next] != '[' {
			break
		}
	}
	return n, ""
}

// spokenRequest keeps what a voice session hands to the agent, which is escaped, and
// takes what was said before.
func spokenRequest(r *reading, s string) (int, string) {
	const end = "</realtime_delegation>"
	i := r.index(s, end)
	if i < 0 {
		return 0, ""
	}
	_, input, found := strings.Cut(s[:i], "<input>")
	input, _, closed := strings.Cut(input, "</input>")
	if !found || !closed {
		return 0, ""
	}
	return i + len(end), html.UnescapeString(input)
}

// leadingBlock takes a block in one tag that is no HTML, ends its line, and has
// words behind it. What a person pastes goes on in the line, or is HTML.
func leadingBlock(r *reading, s string) (int, string) {
	head := leadingTag.FindStringSubmatch(s[:min(len(s), maxTagBytes)])
	if head == nil || htmlTags[strings.ToLower(head[1])] {
		return 0, ""
	}
	end := "</" + head[1] + ">"
	i := r.index(s, end)
	if i < 0 {
		return 0, ""
	}
	n := i + len(end)
	rest := strings.TrimLeft(s[n:], " \t\r")
	if !strings.HasPrefix(rest, "\n") || strings.TrimSpace(rest) == "" {
		return 0, ""
	}
	return n, ""
}

var leadingTag = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9]*(?:[-_:.][A-Za-z0-9]+)*)(?:\s[^<>]*)?>`)

var (
	messageIDTail = regexp.MustCompile(`(?i)\[(?:\w{1,20} )?message[_ ]id:[^\[\]\n]{1,200}\]$`)
	timeTail      = regexp.MustCompile(`(?:^|\s)Current time: [^\n]{1,80} \([^)\n]{1,60}\)\s+Reference UTC: \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC$`)
)

func messageID(_ *reading, s string) (int, string) {
	if !strings.HasSuffix(s, "]") {
		return 0, ""
	}
	return len(messageIDTail.FindString(tail(s))), ""
}

func currentTime(_ *reading, s string) (int, string) {
	if !strings.HasSuffix(s, " UTC") {
		return 0, ""
	}
	return len(timeTail.FindString(tail(s))), ""
}

// tail returns the last whole characters of s that a trailing frame may take.
func tail(s string) string {
	begin := max(0, len(s)-maxTagBytes)
	for begin < len(s) && !utf8.RuneStart(s[begin]) {
		begin++
	}
	return s[begin:]
}

var (
	dated = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}`)
	// fromHead matches the sender of channel plugins that write one: "[from X (uid:…)]",
	// "[X (<hexadecimal number>)]" of the qqbot channel.
	fromHead = regexp.MustCompile(`(?i)^from:? \S|\((?:uid|id|user):|\([0-9A-F]{16,64}\)$`)
)

// channels are those that the gateway's envelopes begin with; only behind a date
// any name will do.
var channels = []string{
	"WebChat", "WhatsApp", "Telegram", "Signal", "Slack", "Discord", "Google Chat", "iMessage", "Teams", "Microsoft Teams", "Matrix", "Zalo",
	"Feishu", "Lark", "Mattermost", "LINE", "IRC", "Nostr", "QQ", "WeChat", "WeCom", "DingTalk", "BlueBubbles", "SMS", "Nextcloud Talk", "Twitch",
}

// envelope takes a bracket that names a channel, a time or a sender.
func envelope(r *reading, s string) (int, string) {
	end := strings.IndexByte(s[:min(len(s), maxTagBytes)], ']')
	if end < 0 {
		return 0, ""
	}
	inner := strings.TrimSpace(s[1:end])
	rest := s[end+1:]
	if strings.ContainsAny(inner, "\n[") || rest != "" && !strings.ContainsAny(rest[:1], space) {
		return 0, ""
	}
	if dated.MatchString(inner) {
		return end + 1 + senderPrefix(rest, inner), ""
	}
	for _, channel := range channels {
		if strings.HasPrefix(inner, channel+" ") {
			return end + 1 + senderPrefix(rest, inner), ""
		}
	}
	if strings.TrimSpace(rest) == "" {
		return 0, ""
	}
	if fromHead.MatchString(inner) || r.senders[inner] || isSender(inner) && isNamed(inner) {
		return end + 1, ""
	}
	return 0, ""
}
