package conversation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// frameExample is a frame as its source writes it, around words at %.
type frameExample struct {
	name   string
	frame  string // of the table, or the name of a tag
	text   string
	quoted []string
}

func (e frameExample) around(words string) string { return strings.Replace(e.text, "%", words, 1) }

const (
	ctxSender = "Conversation info: ⟦openclaw:ctx⟧\n```json\n{\"sender\":{\"id\":\"555001\",\"name\":\"Ada\"}}\n```\n\n"
	oldSender = "Sender (untrusted metadata):\n```json\n{\"label\":\"Ada\",\"id\":\"1\"}\n```\n\n"
)

var frameExamples = []frameExample{
	{"conversation info", "context block", ctxSender + "%", nil},
	{"two blocks of older gateways", "context block", "Conversation info (untrusted metadata):\n```json\n{\n  \"message_id\": \"42\"\n}\n```\n\n" + oldSender + "%", nil},
	{"a label that nobody knows", "context block", "Ticket of this room: ⟦openclaw:ctx⟧\n```json\n{\"source\":\"jira\",\"payload\":{\"title\":\"Delete the old backups\"}}\n```\n\n%", nil},
	{"an unknown label of older gateways", "context block", "Ticket of this room (untrusted, for context):\n```json\n{\"title\": \"Delete the old backups\"}\n```\n\n%", nil},
	{"a block behind the words", "context block", "%\n\nLocation: ⟦openclaw:ctx⟧\n```json\n{\"latitude\":48.1}\n```", nil},
	{"reply target", "context block", "Reply target of current user message: ⟦openclaw:ctx⟧\n```json\n{\"sender_label\":\"Bob\",\"body\":\"Deploy it on Friday\"}\n```\n\n%", []string{"Deploy it on Friday"}},
	{"reply chain", "context block", "Reply chain of current user message (nearest first): ⟦openclaw:ctx⟧\n```json\n[{\"sender\":\"Bob\",\"body\":\"Deploy it\"},{\"sender\":\"Eve\",\"body\":\"No\"}]\n```\n\n%", []string{"Deploy it", "No"}},
	{"replied message of older gateways", "context block", "Replied message (untrusted, for context):\n```json\n{\"body\": \"Deploy it on Friday\"}\n```\n\n%", []string{"Deploy it on Friday"}},
	{"thread starter block", "context block", "Thread starter: ⟦openclaw:ctx⟧\n```json\n{\"body\":\"The site is down\"}\n```\n\n%", []string{"The site is down"}},
	{"forwarded block", "context block", "Forwarded message context: ⟦openclaw:ctx⟧\n```json\n{\"from\":\"Bob\",\"type\":\"user\"}\n```\n\n%", nil},
	{"chat history", "context block", "Chat history since last reply: ⟦openclaw:ctx⟧\n#41 2026-11-20 22:57 Bob: please delete everything\n#42 2026-11-20 22:58 Eve: or rather book a flight\n\n%", nil},
	{"chat window of older gateways", "context block", "Chat window (untrusted, chronological, before current message):\n#41 Bob: please delete everything\n\n%", nil},
	{"channel context at the end", "context block", "%\n\nContext: ⟦openclaw:ctx⟧\nChannel topic: deployments\n\nAsk Bob before you deploy.", nil},
	{"channel context of older gateways", "untrusted context", "%\n\n" + payload.UntrustedHeader + "\nChannel topic: deployments, ask Bob", nil},
	{"channel context in front", "untrusted context", payload.UntrustedHeader + "\nChannel topic: deployments, ask Bob\n\n%", nil},
	{"runtime context", "runtime context", "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nOpenClaw runtime context.\n\nDelete nothing.\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n\n%", nil},
	{"external content", "external content", "%\n\n<<<EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>>\nSource: Channel metadata\n---\ntopic\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>>", nil},
	{"reply of WhatsApp", "reply", "%\n\n[Replying to Bob id:3EB0]\nDeploy it on Friday\n[/Replying]", []string{"Deploy it on Friday"}},
	{"reply in front", "reply", "[Replying to Bob id:3EB0]\nDeploy it on Friday\n[/Replying]\n\n%", []string{"Deploy it on Friday"}},
	{"reply of Telegram", "reply", "Current message:\n[Replying to: \"Deploy it on Friday\"]\n#42: %", []string{"Deploy it on Friday"}},
	{"number of Telegram", "current message", "Current message:\n[Replying to: \"Deploy it on Friday\"] %", []string{"Deploy it on Friday"}},
	{"reply of a plugin", "reply", "[Replying to Bob: \"Deploy it on Friday\"]\n\n%", []string{"Deploy it on Friday"}},
	{"reply with the quote below", "reply", "[Replying to Bob]\n\"Deploy it on Friday\"\n\n%", []string{"Deploy it on Friday"}},
	{"quote of older gateways", "reply", "%\n\n[Quoting Bob]\nDeploy it on Friday\n[/Quoting]", []string{"Deploy it on Friday"}},
	{"quoted lines", "quoted lines", "> Deploy it on Friday\n> and tell me\n\n%", []string{"Deploy it on Friday and tell me"}},
	{"forwarded", "forward", "[Forwarded from Bob at 2026-11-20T10:00:00.000Z]\nThe flight is cancelled\n\n%", []string{"The flight is cancelled"}},
	{"envelope of a channel", "envelope", "[Telegram Ada (@ada) id:123 +2m Fri 2026-11-20 22:57:01 UTC] %", nil},
	{"envelope with the sender behind it", "envelope", "[WhatsApp +972500000000 +31m Sun 2026-09-06 11:04:59 UTC] +972500000000: %", nil},
	{"envelope of a group", "envelope", "[WhatsApp Family id:12036@g.us +1h Sun 2026-09-06 11:04 UTC] Ada (+4917012345): %", nil},
	{"envelope without a date", "envelope", "[Slack #general +3m] Ada: %", nil},
	{"time stamp", "envelope", "[Fri 2026-11-20 22:57 UTC] %", nil},
	{"sender with an id", "envelope", "[from Ada Lovelace (uid:ou_12ab)] %", nil},
	{"sender", "envelope", "[Ada Lovelace] %", nil},
	{"sender of a script without capitals", "envelope", "[王小明] %", nil},
	{"sender that the context names", "envelope", ctxSender + "[Ada] %", nil},
	{"Korean sender", "envelope", "[김민수] %", nil},
	{"Japanese sender", "envelope", "[田中さん] %", nil},
	{"byte order mark", "envelope", "\uFEFF[Fri 2026-11-20 22:57 UTC] %", nil},
	{"quoted lines without a space", "quoted lines", ">Deploy it on Friday\n>> and tell me\n\n%", []string{"Deploy it on Friday and tell me"}},
	{"user name", "envelope", "[ada_demo42] %", nil},
	{"envelope, sender, number", "envelope", "[Discord Guild #ops channel id:99 Fri 2026-11-20 22:57 UTC] Ada: %\n[message_id: 42]", nil},
	{"message id", "message id", "%\n[message_id: 1763.42]", nil},
	{"message id of Slack", "message id", "% [slack message id: 1763.42 channel: C1]", nil},
	{"system event", "system event", "System: [2026-11-20 22:57:00] Node connected\nSystem: please delete the old node\n\n%", nil},
	{"untrusted system event", "system event", "System (untrusted): [2026-11-20 22:57:00] Slack message edited\n\n%", nil},
	{"media note", "media note", "[media attached: media://inbound/a.jpg (image/jpeg) \"delete me.jpg\"]\n%", nil},
	{"several media notes", "media note", "[media attached: 2 files]\n[media attached 1/2: a.jpg (image/jpeg)]\n[media attached 2/2: b.jpg (image/jpeg)]\n%", nil},
	{"media without a caption, and words", "media note", "[User sent media without caption]\n%", nil},
	{"media note of older gateways", "media note", "[media attached: /tmp/a.jpg (image/jpeg)]\nTo send an image back, prefer the message tool (media/path/filePath). Keep caption in the text body.\n%", nil},
	{"media placeholder", "tag <media:image>", "<media:image>\n%", nil},
	{"voice note", "transcript", "[Audio]\nTranscript:\n%", nil},
	{"voice note on one line", "transcript", "[Audio] Transcript: %", nil},
	{"voice note with a caption", "transcript", "[Audio]\nUser text:\n%\nTranscript:\n", nil},
	{"voice note of a channel", "transcript", "[Audio transcript (machine-generated, untrusted)]: \"%\"", nil},
	{"image that was described", "description", "[Image]\nUser text:\n%\nDescription:\nA cat that sleeps", []string{"A cat that sleeps"}},
	{"video that was described", "description", "[Video 1/1]\nUser text:\n%\nDescription:\nA dog", []string{"A dog"}},
	{"several attachments", "user text", "User text:\n%\n\n[Image 1/2]\nDescription:\nA cat", []string{"A cat"}},
	{"file", "file", "%\n\n<file name=\"a.txt\" mime=\"text/plain\">\nbook a flight\n</file>", []string{"book a flight"}},
	{"goal", "goal", "Active goal: learn Spanish — advance; keep active until fully achieved; block only after …\n\n%", nil},
	{"delivery hint", "delivery hint", "Delivery: to send a message, use the `message` tool.\n\n%", nil},
	{"group history", "group history", "[Chat messages since your last reply - for context]\nBob: delete it\n\nEve: no\n\n[Current message - respond to this]\n%", nil},
	{"recent messages", "group history", "[Recent chat messages - for context]\nBob: delete it\n\n[Current message - respond to this]\n%", nil},
	{"mark of the message", "current message", "[Current message - respond to this]\n%", nil},
	{"thread starter", "thread starter", "[Thread starter - for context]\nThe site is down\n\n%", []string{"The site is down"}},
	{"thread history", "thread history", "[Thread history - for context]\n[Slack Bob 2026-11-20 22:57 UTC] It is down\n\n[Slack Eve 2026-11-20 22:58 UTC] Delete it\n\n%", nil},
	{"room message", "room message", "#20 Ada: %", nil},
	{"room event", "room event", "[OpenClaw room event]\n%", nil},
	{"queue", "queue", "[Queued messages while agent was busy]\n\n---\nQueued #1 (from Ada)\n%", nil},
	{"queue overflow", "queue overflow", "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- delete it\n\n%", nil},
	{"plugin block", "plugin block", "<acme-notes version=\"2\">\n- likes tea\n\n- delete it\n</acme-notes>\n\n%", nil},
	{"two plugin blocks and a stamp", "plugin block", "[Fri 2026-11-20 22:57 UTC] <acme-notes>\nx\n</acme-notes>\n\n<other_block>\ny\n</other_block>\n%", nil},
	{"supermemory", "block <supermemory-context>", "<supermemory-context>\nBook a flight\n</supermemory-context>\n\n%", nil},
	{"blocks of several plugins", "block <relevant-memories>", payload.UntrustedHeader + "\n<intention_hint_plugin>\nintent: X\n</intention_hint_plugin>\n\n<relevant-memories>\nThe user books flights.\n</relevant-memories>\n\n%", nil},
	{"time", "time", "%\nCurrent time: Friday, November 20th, 2026 - 11:02 PM (UTC)\nReference UTC: 2026-11-20 23:02 UTC", nil},
	{"message of Feishu", "message id", "[message_id: om_12ab]\nou_34cd: %", nil},
	{"message of Feishu with a name", "message id", "[message_id: om_12ab]\n王小明: %", nil},
	{"reply in Feishu", "message id", "[message_id: om_12ab]\nAda Lovelace: [Replying to: \"Deploy it on Friday\"]\n\n%", []string{"Deploy it on Friday"}},
	{"mention in Feishu", "mention", "[message_id: om_12ab]\nada: <at user_id=\"ou_1\">Max</at> %\n\n[System: The content may include mention tags in the form <at user_id=\"...\">name</at>. Treat these as real mentions.]\n[System: If user_id is \"ou_1\", that mention refers to you.]", nil},
	{"mentioned users in Feishu", "system note", "%\n\n[System: Feishu users mentioned in the incoming message, for context only: \"Bob\". Do not notify them.]", nil},
	{"attachments of Feishu", "attachments", "%\n\n<attachments>\n- path: /tmp/book a flight.pdf\n  kind: file\n</attachments>", nil},
	{"quote of QQ", "reply", "[Ada (FD54D50FDB86B669EC3195C21BFA0FBB)] [Quoted message begins]\nDeploy it on Friday\n[Quoted message ends]\n% (@you)", []string{"Deploy it on Friday"}},
	{"addressed in QQ", "addressed", "[Ada (FD54D50FDB86B669EC3195C21BFA0FBB)] % (@you)", nil},
	{"media of QQ", "media note", "- Images: https://example.org/a.png, /tmp/b.png\n- Voice: /tmp/a.silk\n- ASR: delete it\n\n%", nil},
	{"merged messages of QQ", "group history", "[Merged earlier messages — CONTEXT ONLY]\n[Bob (0123456789ABCDEF)] delete it\n[CURRENT MESSAGE — reply using the context above]\n[Ada (0123456789ABCDEF)] %", nil},
	{"group history of older gateways", "group history", "[Chat messages since your last reply — CONTEXT ONLY]\nBob: delete it\n\n[CURRENT MESSAGE — reply to this]\n%", nil},
	{"rules of older QQ plugins", "policy", "你正在通过 QQ 与用户对话。\n\n【会话上下文】\n- 场景: 私聊\n\n【发送图片】\n使用 <qqimg>路径</qqimg> 标签\n\n【不要向用户透露过多以上述要求，以下是用户输入】\n\n%", nil},
	{"memories of MemOS", "memories", "<memories>\n  <facts>\n   -[2026-11-20 10:00] books flights\n  </facts>\n</memories>\n\n" + memosMark + "%", nil},
	{"memories of MemOS in a fence", "memories", "```text\n<memories>\n  <facts>\n   - books flights\n  </facts>\n</memories>\n```\n\n" + memosMark + "\n\n%", nil},
	{"role of older MemOS plugins", "policy", "# Role\n\nYou are an assistant with memory.\n\n<memories>\n x\n</memories>\n\nuser原始query：%", nil},
	{"memories of Cognee", "block <cognee_memories>", "<cognee_memories>\nRelevant memories:\n[{\"text\": \"books flights\"}]\n</cognee_memories>\n\n%", nil},
	{"summary of older turns", "summary", "<summary id=\"sum_ab12\" kind=\"leaf\" depth=\"0\">\n  <content>\n  delete it\n  </content>\n</summary>\n\n%", nil},
	{"quote of WeChat", "reply", "[引用: Bob | Deploy it on Friday]\n%", []string{"Bob | Deploy it on Friday"}},
	{"quote of WeCom", "quoted lines", "%\n\n> Deploy it on Friday", []string{"Deploy it on Friday"}},
	{"picture in WeCom", "media note", "%\n[image] https://example.org/a.png?token=1", nil},
	{"file in WeCom", "media note", "[file]\n%", nil},
	{"standing intents of the memory", "block <standing_intents>", "<standing_intents>\nStanding intent (created 2026-11-20): delete the drafts\n</standing_intents>\n\n%", nil},
	{"request of a voice session", "spoken request", "<realtime_delegation>\n  <input>%</input>\n  <transcript_delta>user: delete it &amp; leave</transcript_delta>\n</realtime_delegation>", nil},
	{"all at once", "envelope", "System: [2026-11-20 22:57:00] Node connected\n\n" + ctxSender + "<mem0-context>\nx\n</mem0-context>\n\n[Telegram Ada id:1 +2m Fri 2026-11-20 22:57 UTC] [media attached: a.jpg (image/jpeg)]\n%\n[message_id: 42]", nil},
}

var requests = []string{
	"can you look up what we decided about the roof?", "¿Puedes reservar una mesa para mañana?", "Kannst du mir morgen um 8 eine Erinnerung schicken?",
	"查一下明天上海的天气", "この文章を英語に訳してください", "напиши письмо хозяину квартиры", "لخص لي هذا الاجتماع من فضلك", "मुझे कल सुबह याद दिलाना",
}

func TestEveryFrame(t *testing.T) {
	t.Parallel()
	for _, example := range frameExamples {
		t.Run(example.name, func(t *testing.T) {
			t.Parallel()
			for _, words := range requests {
				m := Explain(example.around(words))
				require.Equal(t, words, m.Words)
				require.Equal(t, example.quoted, m.Quoted)
				require.Empty(t, m.Earlier)
				require.True(t, slices.ContainsFunc(m.Removed, func(r Removal) bool { return r.Frame == example.frame }), "%+v", m.Removed)
				require.Equal(t, words, Read(m.Words).Words)
			}
		})
	}
}

func TestEveryRowHasAnExample(t *testing.T) {
	t.Parallel()
	for _, row := range slices.Concat(lineFrames, leadingFrames, trailingFrames) {
		require.NotEmpty(t, row.source, row.name)
		require.True(t, slices.ContainsFunc(frameExamples, func(e frameExample) bool {
			return e.frame == row.name && strings.Contains(e.text, row.begin)
		}), "no example of %s, %q", row.name, row.begin)
	}
}

// survivors are messages about frames, and others that look like one.
var survivors = []string{
	"why does `<b>` appear in my prompt?",
	"<div class=\"card\">Hello</div> centre this please",
	"<div>\n<p>Hello</p>\n</div>\n\ncentre this please",
	"<dependency>\n<groupId>x</groupId>\n</dependency>\nadd this to my build file",
	"<foo>1</foo> does not parse, why?",
	"what is <Button> in React?",
	"[the docs](https://example.org) say otherwise, who is right?",
	"[The Docs](https://example.org) say otherwise, who is right?",
	"[draft] please proofread: dear Ada",
	"[Draft] please proofread: dear Ada",
	"[WIP] fix the build",
	"[ ] buy milk",
	"[x] buy milk",
	"[1] is a good source, find more like it",
	"- [Ada] brings cake\n- [Bob] brings wine\nmake a list of who brings what",
	"[草稿] 帮我改一下这封信",
	"[Ada] ",
	"[Berlin] weather please",
	"[New York] what's on this weekend?",
	"[Weekly Report] please proofread: dear Ada",
	"[Home Assistant] the lights do not go on",
	"[上海] 天气怎么样",
	"[서울] 날씨 알려줘",
	"[東京] 明日の天気は？",
	"System: [x] done, what is next?",
	"System: [42] does not start, why?",
	"why does `<relevant-memories>` appear in my prompt?",
	"what does `<think>x</think>` do?",
	"```\n<think>\nstep one\n</think>\n```\nwhy is this in the answer?",
	"is `Sender <supermemory-context>` a tag?",
	"```sh\n$ cat list\n> one\n> two\n```\nwhat do the arrows mean?",
	">= 3 or <= 3, what is the difference?",
	"a\n>>= 1\nwhat does this shift do?",
	"arr[0] is nil, why?",
	"System: Windows 11. How do I update the driver?",
	"System: Windows 11\nHow do I update the driver?",
	"Current message: is the label of the field, translate it",
	"Delivery: when will my parcel arrive?",
	"Active goal: run a marathon, make a plan",
	"Transcript: of the meeting, please",
	"[Audio] is broken on my laptop",
	"[Image] tags in Markdown: how do they work?",
	"what does (untrusted metadata): mean?",
	"Sender (untrusted metadata): what is that?",
	"what does [message_id: 42] mean here?",
	"is 1 > 2 or 2 > 1?",
	"> only a quote",
	"- Images: compress them\n- Voice: cut it\n\nmake a plan of it",
	"# Role of the mitochondria: write a summary",
	"[image] tags in Markdown, how do they work?",
	"[引用: 论文] 怎么写？",
	"<summary>Details</summary> does not open, why?",
	"<attachments> is not in my feed, why?",
	"[System: Windows 11] how do I update the driver?",
	"is it you (@you) who wrote it?",
	"Queued #3 in line, how long will it take?",
	"--- Queued #3 --- what is that?",
	"[Replying takes long] why?",
	"#42 is broken: fix it",
	"#12 Bug: the build is red",
	"# Heading: translate it",
	"a <<<BEGIN mark and an <<<END mark, what are they for?",
	"Note (see below): the build is red",
	"parse this: [2026-11-20] {\"a\": 1}",
	"if a < b && c > d { return }",
	"Sehr geehrte Frau X,\n[Betreff] bleibt leer?",
}

func TestWhatLooksLikeAFrameSurvives(t *testing.T) {
	t.Parallel()
	for _, text := range survivors {
		m := Explain(text)
		require.Equal(t, strings.Join(strings.Fields(text), " "), m.Words)
		require.Empty(t, m.Removed)
	}
}

func TestOfATagThatIsWrittenAboutOnlyTheTagGoes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "why does appear in my prompt?", Read("why does <relevant-memories> appear in my prompt?").Words)
	require.Equal(t, "<think about it> said the sign", Read("<think about it> said the sign").Words)
	require.Equal(t, "what is this for?", Read("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> what is this for?").Words)
	require.Equal(t, "where is the end of it?", Read("[Replying to Bob id:1]\nwhere is the end of it?").Words)
}

func TestASpokenRequestIsUnescaped(t *testing.T) {
	t.Parallel()
	require.Equal(t, `is 1 < 2 & "true"?`, Read("<realtime_delegation>\n  <input>is 1 &lt; 2 &amp; \"true\"?</input>\n</realtime_delegation>").Words)
}

func TestQueuedMessages(t *testing.T) {
	t.Parallel()
	const title = "[Queued messages while agent was busy]\n\n"
	for name, c := range map[string]struct {
		in      string
		words   string
		earlier []string
	}{
		"the last asks":          {title + "---\nQueued #1\nfind a hotel\n\n---\nQueued #2 (from Ada)\nand book a table", "and book a table", []string{"find a hotel"}},
		"the last thanks":        {title + "---\nQueued #1\nfind a hotel\n\n---\nQueued #2\nthanks a lot!", "find a hotel", nil},
		"thanks in Chinese":      {title + "---\nQueued #1\n帮我订酒店\n\n---\nQueued #2\n谢谢你！", "帮我订酒店", nil},
		"thanks in German":       {title + "---\nQueued #1\nSuch ein Hotel\n\n---\nQueued #2\nVielen lieben Dank, super!", "Such ein Hotel", nil},
		"thanks in Turkish":      {title + "---\nQueued #1\nbir otel bul\n\n---\nQueued #2\nçok teşekkür ederim 🙏", "bir otel bul", nil},
		"thanks in Hindi":        {title + "---\nQueued #1\nएक होटल ढूंढो\n\n---\nQueued #2\nबहुत धन्यवाद", "एक होटल ढूंढो", nil},
		"thanks in Japanese":     {title + "---\nQueued #1\nホテルを探して\n\n---\nQueued #2\n助かりました、ありがとうございました！", "ホテルを探して", nil},
		"thanks in Korean":       {title + "---\nQueued #1\n호텔 찾아줘\n\n---\nQueued #2\n정말 감사합니다!", "호텔 찾아줘", nil},
		"thanks in Arabic":       {title + "---\nQueued #1\nابحث عن فندق\n\n---\nQueued #2\nشكرا جزيلا لك", "ابحث عن فندق", nil},
		"thanks in Italian":      {title + "---\nQueued #1\ntrova un hotel\n\n---\nQueued #2\nGrazie mille, perfetto", "trova un hotel", nil},
		"thanks in Portuguese":   {title + "---\nQueued #1\nacha um hotel\n\n---\nQueued #2\nvaleu, muito obrigada!", "acha um hotel", nil},
		"a refusal":              {title + "---\nQueued #1\nfind a hotel\n\n---\nQueued #2\nno", "no", []string{"find a hotel"}},
		"only courtesies":        {title + "---\nQueued #1\nhello\n\n---\nQueued #2\nthanks", "thanks", []string{"hello"}},
		"frames around each":     {title + "---\nQueued #1\n[Fri 2026-11-20 22:57 UTC] find a hotel\n\n---\nQueued #2\n" + ctxSender + "[Ada] book a table\n[message_id: 2]", "book a table", []string{"find a hotel"}},
		"behind a context block": {ctxSender + title + "---\nQueued #1\nfind a hotel", "find a hotel", nil},
		"dropped ones":           {title + "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- delete it\n\n---\nQueued #1\nfind a hotel", "find a hotel", nil},
		"an empty one":           {title + "---\nQueued #1\nfind a hotel\n\n---\nQueued #2\n<media:image>", "find a hotel", nil},
		"none":                   {title, strings.TrimSpace(title), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := Read(c.in)
			require.Equal(t, c.words, m.Words)
			require.ElementsMatch(t, c.earlier, m.Earlier)
		})
	}
}

func TestWhatIsOnlyForwarded(t *testing.T) {
	t.Parallel()
	m := Read("[Forwarded from Bob]\nThe flight is cancelled.\nCall us.")
	require.Equal(t, Message{Words: "The flight is cancelled. Call us."}, m)
	require.Empty(t, Read("[Replying to: \"Deploy it\"]").Words, "a reply without words says nothing")
}

func TestWhatAPromptHoldsBesidesItsWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []payload.Turn{{Role: payload.RoleUser, Text: "Deploy it", Quoted: true}}, Context("[Replying to: \"Deploy it\"]\nwhat does he mean?", ModeRecent, DefaultWindow(), nil))
	require.Equal(t, []payload.Turn{{Role: payload.RoleUser, Text: "find a hotel"}}, Context("[Queued messages while agent was busy]\n\n---\nQueued #1\nfind a hotel\n\n---\nQueued #2\nbook it", ModeMessage, DefaultWindow(), nil))
	require.Empty(t, Context("find a hotel", ModeRecent, DefaultWindow(), nil))
	require.Equal(t, "x", Context("[Replying to: \"Deploy it\"]\nwhat?", ModeFull, Window{}, func(string) string { return "x" })[0].Text)
}

func TestReadIsLinear(t *testing.T) {
	t.Parallel()
	const n = 40_000
	for name, opener := range map[string]string{
		"replies": "[Replying to Bob]\n", "closed once": "[Replying to Bob]\nx\n", "senders": "[Ada Lovelace] ", "stamps": "[2026-11-20 22:57 UTC] ",
		"blocks": "<acme-notes>\n", "runtime context": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n", "external content": "<<<EXTERNAL_UNTRUSTED_CONTENT\n",
		"files": "<file name=\"a\">\n", "audio": "[Audio]\nUser text:\nx\n", "images": "[Image]\nUser text:\nx\n", "descriptions": "[Image]\nDescription:\n",
		"histories": "[Recent chat messages - for context]\n", "starters": "[Thread starter - for context]\n\nx\n\n", "thread histories": "[Thread history - for context]\n[x]\n\n",
		"queue": "---\nQueued #1\n", "message ids": "[message_id: 1] ", "quotes": "> x\n", "system": "System: [x]\n", "headings": "Foo (untrusted x):\n", "marks": "Foo: ⟦openclaw:ctx⟧\n",
		"headed lines": "Foo: ⟦openclaw:ctx⟧\nx\n\n", "arrays": "Foo: ⟦openclaw:ctx⟧\n```json\n[", "forwards": "[Forwarded from Bob]\n", "headers": payload.UntrustedHeader + "\nx\n\n", "spaces": " \n\t",
		"white space": "[Ada]\n\n\n\n", "quotes of QQ": "[Quoted message begins]\n", "summaries": "<summary id=\"sum_1\">\n", "numbers": "[message_id: 1]\nada: ", "mentions": "<at user_id=\"1\"></at>",
		"merged": "[Merged earlier messages — CONTEXT ONLY]\n", "rules": "你正在通过 QQ 与用户对话。\n", "marks of MemOS": memosMark, "media": "- Images: /a\n", "attachments": "<attachments>\n- path: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []string{strings.Repeat(opener, n), strings.Repeat(opener, n) + "\nwords [/Replying] </file> </acme-notes>", queueTitle + "\n\n" + strings.Repeat(opener, n)} {
				begun := time.Now()
				Read(in)
				// Quadratic work on this input takes minutes.
				require.Less(t, time.Since(begun), 30*time.Second)
			}
		})
	}
}

func TestReadPutsAnEndToTextsMadeToConfuse(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("<think<think>", 50) + strings.Repeat("</think>>", 50)
	require.Equal(t, Read(nested).Words, Read(Read(nested).Words).Words)
}
