package conversation

import (
	"regexp"
	"slices"
	"strings"
)

// The frames of channel and memory plugins that do not come with the gateway, or left
// it. docs/paths.md tells which plugins were looked at.

// pluginLineFrames begin a line, and are looked for before those of the gateway.
var pluginLineFrames = []frame{
	{"reply", "qqbot channel, src/engine/gateway/stages/envelope-stage.ts", quotedBegin, quotedMessage},
	{"reply", "WeChat channels on its bot API: [引用: <title> | <text>]", "[引用", quotedInBrackets},
	{"media note", "wecom-openclaw-plugin, src/webhook/helpers.ts: a line for each part that is no text", "[", mediaPart},
	{"attachments", "feishu channel, src/bot-agent-body.ts", "<attachments>", attachments},
	{"system note", "feishu channel, src/bot-agent-body.ts", "[System: ", systemNote},
	{"summary", "lossless-claw, src/assembler.ts: older turns as a message of the user", "<summary id=\"sum_", summary},
}

// pluginLeadingFrames stand at the beginning of what is left.
var pluginLeadingFrames = []frame{
	{"message id", "feishu channel, src/bot-agent-body.ts: [message_id: om_…], then <sender>: <text>", "[message_id: ", messageIDAndSender},
	{"mention", "feishu channel, mentions as tags", "<at user_id=", mention},
	{"group history", "openclaw 2026.4, src/auto-reply/reply/history.ts", "[Chat messages since your last reply — CONTEXT ONLY]", groupHistory},
	{"group history", "qqbot channel, src/engine/group/history.ts", "[Merged earlier messages — CONTEXT ONLY]", groupHistory},
	{"media note", "qqbot channel, src/engine/gateway/stages/envelope-stage.ts", "- ", mediaList},
	{"policy", "qqbot plugin up to 1.5, its rules for pictures, voice and reminders", "你正在通过 QQ 与用户对话。", upTo("以下是用户输入】")},
	{"policy", "memos-cloud-openclaw-plugin up to 0.1.6", "# Role", upTo("user原始query：")},
	{"memories", "memos-cloud-openclaw-plugin, lib/memos-cloud-api.js: <memories> in a fence or without, and the mark in front of the message", "", upTo(memosMark)},
}

// pluginTrailingFrames stand at the end of what is left.
var pluginTrailingFrames = []frame{
	{"addressed", "qqbot channel, src/engine/gateway/stages/assembly-stage.ts", "", addressed},
}

const (
	quotedBegin = "[Quoted message begins]"
	quotedEnd   = "[Quoted message ends]"
	// memosMark holds spaces of no width, so that nobody types it.
	memosMark = "user\u200b原\u200b始\u200bquery\u200b：\u200b\u200b\u200b\u200b"
)

// upTo takes all up to a mark, or nothing.
func upTo(mark string) func(*reading, string) (int, string) {
	return func(r *reading, s string) (int, string) {
		if i := r.index(s, mark); i >= 0 {
			return i + len(mark), ""
		}
		return 0, ""
	}
}

func quotedMessage(r *reading, s string) (int, string) {
	i := r.index(s, quotedEnd)
	if i < 0 {
		return 0, ""
	}
	r.quote(s[len(quotedBegin):i])
	return i + len(quotedEnd), ""
}

// quotedInBrackets takes a quote that ends its line, with words behind it.
func quotedInBrackets(r *reading, s string) (int, string) {
	n := endOfLine(s)
	quote, ok := strings.CutSuffix(strings.TrimRight(s[:n], space), "]")
	if _, text, found := strings.Cut(quote, ":"); ok && found && strings.TrimSpace(s[n:]) != "" {
		r.quote(text)
		return n, ""
	}
	return 0, ""
}

var mediaParts = regexp.MustCompile(`^\[(?:image|file|video|voice|mixed)\](?: https?://\S+)?[ \t\r]*(?:\n|$)`)

func mediaPart(_ *reading, s string) (int, string) {
	return len(mediaParts.FindString(s[:min(endOfLine(s), 4*maxTagBytes)])), "" // addresses of media are long
}

func attachments(r *reading, s string) (int, string) {
	const begin, end = "<attachments>\n- path: ", "</attachments>"
	i := r.index(s, end)
	if i < 0 || !strings.HasPrefix(s, begin) {
		return 0, ""
	}
	return i + len(end), ""
}

// systemNotes are what the channel tells the model behind a message.
var systemNotes = [...]string{
	"[System: The content may include mention tags", "[System: If user_id is ", "[System: Feishu users mentioned in the incoming message",
	"[System: The bot encountered a Feishu API permission error", "[System: Your reply will automatically @mention",
}

func systemNote(_ *reading, s string) (int, string) {
	if slices.ContainsFunc(systemNotes[:], func(note string) bool { return strings.HasPrefix(s, note) }) {
		return endOfLine(s), ""
	}
	return 0, ""
}

func summary(r *reading, s string) (int, string) {
	const end = "</summary>"
	if i := r.index(s, end); i >= 0 {
		return i + len(end), ""
	}
	return 0, ""
}

var messageIDLine = regexp.MustCompile(`^\[message_id: [^\]\n]{1,200}\][ \t\r]*(?:\n|$)`)

// messageIDAndSender takes the line with the number, and the sender behind it: a
// name, or the platform's own number of the person.
func messageIDAndSender(r *reading, s string) (int, string) {
	n := len(messageIDLine.FindString(s[:min(len(s), maxTagBytes)]))
	if n == 0 || strings.TrimSpace(s[n:]) == "" {
		return 0, ""
	}
	label, _, found := strings.Cut(s[n:min(len(s), n+maxSenderBytes)], ": ")
	isWord := !strings.ContainsAny(label, space) && !ownMarks[strings.ToLower(label)]
	if found && label != "" && (r.senders[label] || isWord || isSender(label)) {
		n += len(label) + len(": ")
	}
	return n, ""
}

func mention(_ *reading, s string) (int, string) {
	const end = "</at>"
	i := strings.Index(s[:min(len(s), maxTagBytes)], end)
	if i < 0 || strings.TrimSpace(s[i+len(end):]) == "" {
		return 0, ""
	}
	return i + len(end), ""
}

// mediaLine matches where a picture or a recording is, and what a recording says:
// the words hold that as well.
var mediaLine = regexp.MustCompile(`^- (?:(?:Images|Voice): (?:https?:/)?/\S[^\n]*|ASR: [^\n]*)\n`)

func mediaList(_ *reading, s string) (int, string) {
	n := 0
	for strings.HasPrefix(s[n:], "- ") {
		line := s[n : n+endOfLine(s[n:])]
		if !mediaLine.MatchString(line) || n == 0 && strings.HasPrefix(line, "- ASR") {
			return 0, ""
		}
		n += len(line)
	}
	if !strings.HasPrefix(s[n:], "\n") {
		return 0, ""
	}
	return n, ""
}

func addressed(_ *reading, s string) (int, string) {
	const mark = " (@you)"
	if strings.HasSuffix(s, mark) {
		return len(mark), ""
	}
	return 0, ""
}
