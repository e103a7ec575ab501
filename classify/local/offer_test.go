package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// offers are what an assistant offers, and the intent that a confirmation has.
var offers = []struct{ lang, said, want string }{
	{"en", "Your passport runs out in March. I can put a reminder to renew it on your calendar for February. Shall I?", "PRODUCTIVITY_CALENDAR"},
	{"en", "Anna has not answered since Monday. Do you want me to write her a short email?", "PRODUCTIVITY_EMAIL"},
	{"en", "The test fails because the list is empty. Want me to fix the bug in the parser?", "CODE_DEBUGGING"},
	{"en", "It is rather cold in there. Should I turn the heating in the living room up to 21 degrees?", "HOME_AUTOMATION"},
	{"en", "That report has forty pages. I could summarize it in five bullet points, if that helps. Interested?", "SUMMARIZATION"},
	{"en", "The sign is in Portuguese. Would you like a translation into English?", "TRANSLATION"},
	{"en", "There are three direct flights to Lisbon on Friday. Shall I look for a hotel near the old town as well?", "TRAVEL"},
	{"en", "I can play some quiet jazz in the kitchen. Sound good?", "MEDIA"},
	{"en", "All changes are staged. I will commit them and push the branch, okay?", "CODE_GIT"},
	{"en", "Here is what I found out about the disk: it is at 94 %, mostly old logs. Shall I check which processes use the most memory on the server, too? Otherwise nothing stands out. The backup ran at two.", "SYSTEM_DIAGNOSTICS"},
	{"de", "Der Zahnarzt hat Dienstag um neun etwas frei. Soll ich den Termin in deinen Kalender eintragen?", "PRODUCTIVITY_CALENDAR"},
	{"de", "Der Text ist ziemlich lang. Ich kann ihn dir in drei Sätzen zusammenfassen, wenn du magst. Soll ich?", "SUMMARIZATION"},
	{"es", "El salón está a oscuras. ¿Quieres que encienda las luces?", "HOME_AUTOMATION"},
	{"fr", "La lettre est en allemand. Voulez-vous que je la traduise en français ?", "TRANSLATION"},
	{"zh", "明天下午三点有空。要我帮你在日历上加个会议提醒吗？", "PRODUCTIVITY_CALENDAR"},
	{"ja", "明日の朝は早いですね。6時にアラームをセットしましょうか？", "PRODUCTIVITY_CALENDAR"},
	{"pt", "O e-mail do João ainda está sem resposta. Quer que eu escreva um e-mail para ele?", "PRODUCTIVITY_EMAIL"},
	{"it", "Il documento è in inglese. Vuoi che lo traduca in italiano?", "TRANSLATION"},
	{"ru", "В гостиной темно. Хотите, я включу свет?", "HOME_AUTOMATION"},
	{"tr", "Yarın dişçi randevun var. Takvime hatırlatıcı ekleyeyim mi?", "PRODUCTIVITY_CALENDAR"},
	{"ar", "الرسالة مكتوبة بالإنجليزية. هل تريد أن أترجمها إلى العربية؟", "TRANSLATION"},
	{"hi", "कल सुबह आपकी मीटिंग है। क्या मैं कैलेंडर में रिमाइंडर लगा दूँ?", "PRODUCTIVITY_CALENDAR"},
	{"ko", "거실이 어두워요. 거실 불을 켜 드릴까요?", "HOME_AUTOMATION"},
	{"hu", "Holnap kilenckor fogorvos. Szeretnéd, hogy beírjam a naptárba?", "PRODUCTIVITY_CALENDAR"},
	{"el", "Το γράμμα είναι στα γερμανικά. Θέλεις να το μεταφράσω στα ελληνικά;", "TRANSLATION"},
	{"uk", "У вітальні темно. Хочете, щоб я увімкнув світло?", "HOME_AUTOMATION"},
	{"vi", "Bài này dài quá. Bạn có muốn mình tóm tắt bài viết không?", "SUMMARIZATION"},
	{"id", "Dokumennya dalam bahasa Inggris. Mau saya terjemahkan ke bahasa Indonesia?", "TRANSLATION"},
	{"th", "ห้องนอนมืด ต้องการให้ฉันเปิดไฟห้องนอนไหมคะ", "HOME_AUTOMATION"},
	{"he", "המכתב באנגלית. רוצה שאני אתרגם אותו לעברית?", "TRANSLATION"},
	{"fa", "متن به انگلیسی است. میخوای به فارسی ترجمه کنم؟", "TRANSLATION"},
}

// answers are confirmations and refusals by language.
var answers = map[string][]string{
	"en": {"yes", "go ahead", "sure, do it", "ok please", "yes please, thanks", "no", "no thanks", "yep", "sounds good", "ok", "yes but at ten", "please do"},
	"de": {"ja", "ja bitte", "mach das", "ok", "gerne", "nein", "ja, aber erst um zehn"},
	"es": {"sí", "claro", "hazlo", "vale", "no"},
	"fr": {"oui", "vas-y", "d'accord", "oui, s'il te plaît", "non"},
	"zh": {"好的", "可以", "是的，请继续", "不用", "要"},
	"ja": {"はい", "お願いします", "はい、お願いします", "うん", "いいえ"},
	"pt": {"sim", "pode ser", "claro", "não"},
	"it": {"sì", "va bene", "certo", "no"},
	"ru": {"да", "давай", "конечно", "нет"},
	"tr": {"evet", "olur", "tamam", "hayır"},
	"ar": {"نعم", "أكيد", "تمام", "لا"},
	"hi": {"हाँ", "ज़रूर", "ठीक है", "नहीं"},
	"ko": {"네", "응", "좋아요", "아니요"},
	"hu": {"igen", "persze", "rendben", "nem"},
	"el": {"ναι", "βεβαίως ναι", "εντάξει", "όχι"},
	"uk": {"так", "давай", "гаразд", "ні"},
	"vi": {"vâng", "đồng ý", "không"},
	"id": {"iya", "boleh", "oke", "tidak"},
	"th": {"ใช่", "ได้เลย", "โอเค", "ไม่"},
	"he": {"כן", "בטח", "סבבה", "לא"},
	"fa": {"بله", "آره", "باشه", "نه"},
}

func TestAnswersToOffers(t *testing.T) {
	t.Parallel()
	m := bundled()
	n, missed := 0, []string{}
	for _, o := range offers {
		for _, answer := range answers[o.lang] {
			n++
			for _, before := range [][]payload.Turn{
				{{Role: payload.RoleAssistant, Text: o.said}},
				{{Role: payload.RoleUser, Text: "hello"}, {Role: payload.RoleAssistant, Text: o.said}},
			} {
				p := m.Predict(answer, before, nil)
				if p.Other || p.Intent != o.want || p.Confidence < 0.6 {
					missed = append(missed, fmt.Sprintf("%s | %s -> %s %v %.2f", o.said, answer, p.Intent, p.Other, p.Confidence))
					break
				}
			}
		}
	}
	t.Logf("%d of %d right", n-len(missed), n)
	for _, s := range missed {
		t.Log(s)
	}
	require.LessOrEqual(t, float64(len(missed)), 0.15*float64(n))
}

func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	m := bundled()
	offer := []payload.Turn{
		{Role: payload.RoleUser, Text: "when is my next dentist appointment"},
		{Role: payload.RoleAssistant, Text: "Tuesday at nine. Shall I put it on your calendar?"},
	}
	for message, want := range map[string]string{
		"what is the weather in Rome tomorrow":      "RESEARCH_REALTIME",
		"yes, and translate this menu into English": "TRANSLATION",
		"no, turn off the lights in the kitchen":    "HOME_AUTOMATION",
		"thanks!":                                   "CHAT",
		"by the way, play some jazz":                "MEDIA",
	} {
		require.Equal(t, want, m.Predict(message, offer, nil).Intent, message)
	}
	told := []payload.Turn{
		{Role: payload.RoleUser, Text: "put the dentist on my calendar for Tuesday at nine"},
		{Role: payload.RoleAssistant, Text: "Done. The dentist is on your calendar for Tuesday at nine."},
	}
	require.Equal(t, "CHAT", m.Predict("ok", told, nil).Intent, "nothing was offered")
}

// Answers that are no plain yes or no, and what only looks like one.
func TestRarerAnswersToOffers(t *testing.T) {
	t.Parallel()
	m := bundled()
	offer := []payload.Turn{{Role: payload.RoleAssistant, Text: "All changes are staged. Shall I merge the branch into main and push it?"}}
	for _, message := range []string{
		"not now", "maybe later", "don't do that", "leave it", "stop", "不用了", "算了", "nein, lass es", "lieber nicht", "ja graag", "doe maar",
		"tak", "nie, dziękuję", "हाँ", "yes, but not before lunch", "no, not on a Friday",
	} {
		p := m.Predict(message, offer, nil)
		require.Equal(t, "CODE_GIT", p.Intent, message)
		require.False(t, p.Other, message)
		require.GreaterOrEqual(t, p.Confidence, 0.6, message)
	}
	for _, message := range []string{"lol", "haha", "wow", "42", "sí, resume este documento", "yes, and translate this menu into English"} {
		require.NotEqual(t, "CODE_GIT", m.Predict(message, offer, nil).Intent, message)
	}
}

// What was read in search of an offer must not stand for the message afterwards.
func TestAnOfferThatIsNotKnownLeavesTheMessage(t *testing.T) {
	t.Parallel()
	m := bundled()
	for _, message := range []string{"no", "yes, and translate this menu into English"} {
		sc := m.newScratch()
		m.request(sc, message, nil, nil)
		c := cuesOf(&sc.text)
		want := slices.Clone(sc.scores)
		offer := []payload.Turn{{Role: payload.RoleAssistant, Text: "Shall I qzxv the wkjq?"}}
		_, offers := offersFor(&c, message, 0, offer)
		require.NotEmpty(t, offers)
		_, _, ok := m.offered(sc, &c, message, 0, offer, nil, nil)
		require.False(t, ok, message)
		require.Equal(t, want, sc.scores, message)
	}
}

func TestOffersFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text, message string
		want          []string
	}{
		"an offer and its question":        {"It is late. I can book a taxi. Shall I?", "yes", []string{"I can book a taxi. Shall I?", "It is late. I can book a taxi. Shall I?"}},
		"a question alone":                 {"Which colour do you prefer?", "the second", []string{"Which colour do you prefer?"}},
		"a question, and an amendment":     {"Which colour do you prefer?", "yes but in blue velvet", nil},
		"an offer, and an amendment":       {"Shall I book the table?", "yes but for six people", []string{"Shall I book the table?"}},
		"an offer before another question": {"Shall I book the table? How was the trip to Crete?", "yes", []string{"Shall I book the table?", "How was the trip to Crete?", "Shall I book the table? How was the trip to Crete?"}},
		"an address in a sentence":         {"See example.org for it. Want me to open the page?", "no", []string{"Want me to open the page?", "See example.org for it. Want me to open the page?"}},
		"an offer in the middle":           {"Done. I can also print the page. It has two columns.", "go ahead", []string{"I can also print the page.", "Done. I can also print the page."}},
		"neither":                          {"The page is open.", "ok", nil},
		"no answer":                        {"Shall I book the table?", "what is the weather in Rome", nil},
		"a farewell":                       {"Shall I book the table?", "no, good night", nil},
		"nothing":                          {"", "yes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r reading
			r.reset(row.message)
			c := cuesOf(&r)
			_, got := offersFor(&c, row.message, 0, []payload.Turn{{Role: payload.RoleAssistant, Text: row.text}})
			var texts []string
			for _, offer := range got {
				texts = append(texts, offer.text)
			}
			require.Equal(t, row.want, texts)
		})
	}
	c := cuesIn("yes")
	for name, before := range map[string][]payload.Turn{"a user's text": {{Role: payload.RoleUser, Text: "Shall I book the table?"}}, "nothing": nil} {
		_, got := offersFor(&c, "yes", 0, before)
		require.Nil(t, got, name)
	}
}

// Which of several offers a message chooses, in short lists and in a sentence.
func TestChosenFrom(t *testing.T) {
	t.Parallel()
	const two = "I can put the meeting into your calendar, or write Bea an email."
	for name, row := range map[string]struct{ text, message, want string }{
		"by place":              {two, "the second one", "write Bea an email."},
		"by number":             {two, "1", "I can put the meeting into your calendar,"},
		"the last":              {two, "the latter please", "write Bea an email."},
		"by name":               {two, "just the email", "write Bea an email."},
		"a list":                {"Options: 1) a translation, 2) a summary of both parts, 3) nothing.", "option 2", "a summary of both parts,"},
		"German":                {"Ich kann den Termin eintragen oder Bea eine Mail schreiben.", "das erste", "Ich kann den Termin eintragen"},
		"Chinese":               {"我可以翻译这封信，或者写一个摘要。", "第二个", "写一个摘要。"},
		"a name in both":        {two, "the meeting email", ""},
		"yes":                   {two, "yes please", ""},
		"a place that is not":   {two, "the third one", ""},
		"a number of something": {two, "call me at 2 about the roof of the house in town", ""},
		"of is no or":           {"I can write a summary of the meeting.", "the first", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cuesIn(row.message)
			var want []string
			if row.want != "" {
				want = []string{row.want}
			}
			var got []string
			for _, s := range chosenFrom(alternatives(sentencesOf(row.text)), &c, row.message) {
				got = append(got, strings.TrimSpace(s))
			}
			require.Equal(t, want, got)
		})
	}
	c := cuesIn("both")
	require.Len(t, chosenFrom(alternatives(sentencesOf(two)), &c, "both"), 2)
}

// Confirmations, refusals, amendments and choices by a writer who had not seen the
// lists of words.
func TestOffersHeldOut(t *testing.T) {
	t.Parallel()
	m := bundled()
	right, all := map[string]float64{}, map[string]float64{}
	for _, line := range conversations(t, "offers-heldout.jsonl") {
		p := m.Predict(line.Text, line.History, nil)
		for _, kind := range []string{line.Kind, ""} {
			all[kind]++
			if !p.Other && slices.Contains(append(line.Intents, line.Intent), p.Intent) {
				right[kind]++
			}
		}
	}
	t.Logf("right %v of %v", right, all)
	for kind, floor := range map[string]float64{"yes": 0.78, "no": 0.6, "amend": 0.75, "two": 0.85, "middle": 0.7, "": 0.76} {
		require.GreaterOrEqual(t, right[kind]/all[kind], floor, kind)
	}
}
