package local

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
)

// twoTasks are messages of two tasks, cut where the second begins, by language.
var twoTasks = []struct{ lang, message string }{
	{"en", "What's the weather in Lisbon tomorrow and |remind me at 8 to take an umbrella"},
	{"en", "Book me a flight to Rome on Friday and |turn off the lights in the living room"},
	{"en", "Summarise the minutes of our last meeting. |Also, what's on my calendar tomorrow?"},
	{"en", "Remind me to call mum at 6, then |tell me the latest news about the election"},
	{"en", "Draft an email to my landlord about the heating and |add milk to my shopping list"},
	{"en", "Hi there! can you find me a cheap hotel in Prague? |And play some jazz please"},
	{"de", "Wie wird das Wetter morgen in Berlin? |Und erinnere mich um 8 an den Regenschirm."},
	{"de", "Schreib eine E-Mail an meinen Vermieter wegen der Heizung und |mach das Licht im Wohnzimmer aus"},
	{"de", "Such mir einen günstigen Flug nach Rom und |erinnere mich morgen an den Zahnarzt"},
	{"es", "¿Qué tiempo hará mañana en Sevilla? |Y recuérdame llamar al médico a las 8."},
	{"es", "Recuérdame llamar al médico mañana y |apaga la luz de la cocina"},
	{"fr", "Quel temps fera-t-il demain à Lyon ? |Rappelle-moi aussi d'appeler le dentiste à 8 h."},
	{"fr", "Traduis ce texte en anglais et |éteins la lumière du salon"},
	{"pt", "Como vai estar o tempo amanhã em Lisboa? |E lembra-me de ligar ao médico às 8."},
	{"pt", "Traduz este texto para inglês e |desliga a luz da sala"},
	{"it", "Traduci questo testo in inglese e |ricordami di chiamare il dentista alle 8"},
	{"ru", "Какая погода завтра в Москве? |И напомни мне завтра позвонить врачу."},
	{"tr", "Yarın İstanbul'da hava nasıl olacak? |Bir de saat 8'de doktoru aramamı hatırlat."},
	{"tr", "Bu metni İngilizceye çevir ve |salonun ışığını kapat"},
	{"ar", "كيف سيكون الطقس غدا في دبي؟ |وذكرني الساعة 8 بالاتصال بالطبيب."},
	{"ar", "ترجم هذا النص إلى الإنجليزية ثم |أطفئ نور المطبخ"},
	{"hi", "कल दिल्ली में मौसम कैसा रहेगा? |और मुझे 8 बजे डॉक्टर को फोन करने की याद दिलाना।"},
	{"hi", "इस वाक्य का अंग्रेज़ी में अनुवाद करो और |रसोई की लाइट बंद कर दो"},
	{"ko", "서울 내일 날씨 알려줘. |그리고 8시에 병원에 전화하라고 알림 설정해줘."},
	{"ko", "이 문장을 영어로 번역해줘 그리고 |거실 불 꺼줘"},
	{"zh", "明天上海天气怎么样？|提醒我下午三点开会。"},
	{"zh", "把这句话翻译成英文，然后|把客厅的灯关掉"},
	{"ja", "明日の東京の天気を教えて。|それから8時に歯医者のリマインダーを設定して。"},
	{"ja", "この文を英語に翻訳して、|リビングの電気を消して"},
}

func TestTwoTasks(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	for _, row := range twoTasks {
		t.Run(row.lang+" "+row.message, func(t *testing.T) {
			t.Parallel()
			first, second, _ := strings.Cut(row.message, "|")
			got := m.Classify(classify.Input{Catalog: catalog, Latest: first + second})
			require.Equal(t, m.Classify(classify.Input{Catalog: catalog, Latest: first}).Intent, got.Intent)
			require.Contains(t, got.Suggestion, "also asks: ")
			require.True(t, strings.HasSuffix(got.Suggestion, strings.TrimSpace(second)), got.Suggestion)
			require.NotEqual(t, got.Intent, m.Classify(classify.Input{Catalog: catalog, Latest: second}).Intent)
		})
	}
}

func TestOneTask(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	for _, message := range []string{
		"My flight to Rome is on Friday. Remind me to pack on Thursday.", "The train is late again. Can you write an email to my boss?",
		"Write a Python function that sorts a list and prints it.", "Find a hotel in Rome. It should be near the station and cheap.", "Remind me to buy milk and eggs",
		"Write an email to Bob and tell him that the meeting is moved to Friday", "Turn off the lights and close the blinds", "The build is red. Look at the log and fix it.",
		"What is the capital of France and how many people live there?", "Translate this: remind me to buy milk tomorrow. What's the weather?",
		"Reply to this mail: can you send me the report? And what is the weather like in Rome?", "If it rains tomorrow, remind me to take an umbrella",
		"Compare the iPhone and the Pixel and tell me which one to buy", "Go through my unread mail and reply to the urgent ones",
		"Ich fliege am Freitag nach Rom. Erinnere mich am Donnerstag ans Packen.", "Schreib Bob eine Mail und sag ihm, dass das Treffen am Freitag ist",
		"Mañana viajo a Roma. Recuérdame hacer la maleta.", "Je pars à Rome vendredi. Rappelle-moi de faire ma valise.",
		"我明天去北京。提醒我早上七点起床。", "帮我写一封邮件给老板，说我明天请假", "明日ローマに行きます。パッキングをリマインドして。",
		"Завтра лечу в Рим. Напомни собрать чемодан.", "내일 로마에 가. 짐 싸라고 알려줘.", "أسافر غدا إلى روما. ذكرني بتحضير الحقيبة.", "hello and thank you", "thanks! And good night",
	} {
		require.Empty(t, m.Classify(classify.Input{Catalog: catalog, Latest: message}).Suggestion, message)
	}
}

// A second task is named where it is asked for, and not again when a later message
// goes on with the first.
func TestASecondTaskIsNotNamedLater(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	before := []payload.Turn{
		{Role: payload.RoleUser, Text: "What's the weather in Lisbon tomorrow and remind me at 8 to take an umbrella"},
		{Role: payload.RoleAssistant, Text: "It will rain. The reminder is set."},
	}
	for _, message := range []string{"and on Friday?", "what about Porto?"} {
		require.Empty(t, m.Classify(classify.Input{Catalog: catalog, Conversation: before, Latest: message}).Suggestion, message)
	}
	offer := append(before, payload.Turn{Role: payload.RoleUser, Text: "thanks"}, payload.Turn{Role: payload.RoleAssistant, Text: "Shall I book a flight to Rome and remind you to pack?"})
	require.Empty(t, m.Classify(classify.Input{Catalog: catalog, Conversation: offer, Latest: "yes please"}).Suggestion)
}

func TestASuggestionIsOneBoundedLine(t *testing.T) {
	t.Parallel()
	require.Empty(t, also(""))
	require.Equal(t, "also asks: a b", also("a\nb"))
	require.Equal(t, len("also asks: ")+maxAlso, utf8.RuneCountInString(also(strings.Repeat("é", 500))))
}

// A quotation helps where the words alone say nothing, and never decides against
// them.
func TestQuotationsAreContext(t *testing.T) {
	t.Parallel()
	catalog := intents.Bundled()
	m := Trained(catalog)
	answer := func(prompt string) string {
		return m.Classify(classify.Input{
			Catalog: catalog, Latest: conversation.Latest(prompt), Conversation: conversation.Context(prompt, conversation.ModeRecent, conversation.DefaultWindow(), nil),
		}).Intent
	}
	for _, quoted := range tasks {
		for _, words := range append([]string{"turn it off", "the cheapest flight", "mach lauter", "天気は？", "la météo ?", "погода?"}, tasks...) {
			require.Equal(t, answer(words), answer(">"+quoted+"\n\n"+words), "%s > %s", words, quoted)
			require.Equal(t, answer(words), answer("[Replying to Bob id:1]\n"+quoted+"\n[/Replying]\n\n"+words), "%s > %s", words, quoted)
		}
	}
	require.Equal(t, "PRODUCTIVITY_CALENDAR", answer("> Remind me at 6 pm to call the dentist.\n\nand what about 7?"))
	require.Equal(t, "TRANSLATION", answer("> Translate this sentence into French: the train is late.\n\nand into Italian?"))
}
