package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/record"
)

var corrections = []string{
	// English
	"no, I meant the staging server",
	"No I mean the other one",
	"that's not what I asked",
	"That’s not what I meant!",
	"this isn't what I wanted, please undo it",
	"I didn't ask for a summary",
	"I didn't mean the whole file",
	"I meant Tuesday",
	"not that one, the file below it",
	"No, not the tests. The code.",
	"wrong file",
	"Wrong branch, use release/2.1",
	"you misunderstood me",
	"You deleted the wrong file",
	"that's wrong, the meeting is at 10",
	"ugh, no. I said blue, not green",
	"I asked for the English version, not the German one",
	"sorry, I wasn't talking about the front end",
	"What I meant was the monthly report",
	"ok but that is not the file I sent you",
	"You didn't answer my question",
	"Hm. That's still not right.",
	"I never told you to push",
	"not what i asked for",
	"no no no, the second one",
	"This is the wrong document",
	"it should be Friday, not Monday",
	"sorry, I should have said Monday",
	"Incorrect.",
	"no, use the other account",
	// Chinese
	"不對",
	"不对，我要的是昨天的报告",
	"我不是說這個",
	"我不是这个意思",
	"你誤會了，我是問價格",
	"錯了，是下週三",
	"不是這個，是上面那個",
	"不是星期二,是星期四",
	"我沒有叫你刪掉它",
	"欸 我的意思是先不要寄出去",
	"你搞错了吧",
	"不不不，我說的是台北",
	"你沒聽懂",
	// Japanese
	"違う",
	"いや、違います。明日の予定です",
	"そうじゃなくて、英語の方をお願い",
	"そういう意味じゃないよ",
	"それじゃなくて、もう一つのファイル",
	"聞きたいのは値段です",
	"明日じゃなくて明後日です",
	"勘違いしてるよ",
	"いや、そっちじゃない",
	// Korean
	"그게 아니라 어제 파일이요",
	"아니, 내 말은 다음 주라고",
	// German
	"nein, nicht das",
	"Nein, ich meinte die andere Datei",
	"Das habe ich nicht gemeint",
	"so war das nicht gemeint",
	"ich wollte die Rechnung, nicht das Angebot",
	"Falsche Datei!",
	"das stimmt nicht, es sind drei",
	// French
	"non, pas ça",
	"ce n'est pas ce que je voulais",
	"Non, je voulais dire la semaine prochaine",
	"tu m'as mal compris",
	"je n'ai pas demandé ça",
	// Spanish
	"no, me refería al otro archivo",
	"eso no es lo que pedí",
	"no me refería a eso",
	"me entendiste mal",
	// others
	"não foi isso que eu pedi",
	"eu quis dizer amanhã",
	"no, intendevo l'altro file",
	"non è quello che ho chiesto",
	"нет, я имел в виду вчерашний отчёт",
	"Ты меня не так понял",
	"nee, ik bedoel de andere",
}

var innocents = []string{
	// English
	"no",
	"no thanks",
	"No, that's all for today.",
	"no problem, go ahead",
	"No, not yet",
	"No, keep it",
	"no idea why the build fails",
	"not that I know of",
	"I meant to ask: what is the capital of Peru?",
	"I didn't mean to hurt her. How do I apologise?",
	"what does \"that's not what I meant\" mean in Chinese?",
	"How do I say 'no, I meant the other one' in French?",
	"translate: `that's wrong`",
	"my order arrived and it is not what I asked for, write a complaint",
	"what's wrong with this code?",
	"Is that wrong?",
	"find out which test uses the wrong port",
	"it's wrong to lie, but is it a crime?",
	"the wrong file was deleted by my colleague, how do I restore it?",
	"I never asked for a raise before, how do I start?",
	"I didn't ask my boss yet, write the mail for me",
	"not bad! now add a test",
	"I don't want to go to the gym, motivate me",
	"I said goodbye to my team today",
	"why did they say no?",
	"I mean it, this is great work",
	"there are no tests for this package, add some",
	"yes, exactly what I wanted",
	"Write an essay on why we misunderstand each other",
	"remind me that the wrong invoice must be sent back",
	// Chinese
	"不對稱加密是什麼",
	"不要緊，繼續",
	"不用了，謝謝",
	"這樣是不是比較好？",
	"不是很懂，可以再解釋一次嗎？",
	"這個句子對不對？",
	"哪裡不對勁？",
	"我不是工程師，請用簡單的話說明",
	"幫我找出錯了的題目",
	"對，就是這個",
	"不错，继续",
	// Japanese
	"違う色のシャツを探して",
	"違いを教えて",
	"AとBの違うところは?",
	"いいえ、結構です",
	"間違っているところを直して",
	"そうだね、ありがとう",
	"大丈夫です",
	// Korean
	"아니요, 괜찮아요",
	"아니면 다음 주는 어때?",
	// German
	"nein danke",
	"Nein, das war alles",
	"nicht schlecht, weiter so",
	"ich meinte es ernst, wie sage ich das höflich?",
	"was ist falsch an diesem Satz?",
	"nein, noch nicht",
	// French
	"non merci",
	"non, c'est bon",
	"pas de problème",
	"pas mal, continue",
	"pourquoi ce n'est pas possible ?",
	// Spanish
	"no, gracias",
	"no está mal, sigue",
	"no me gusta el café, ¿qué tomo?",
	"¿no es eso caro?",
	// others
	"não, obrigado",
	"no, grazie",
	"нет, спасибо",
	"нет времени, сделай коротко",
	"nee, bedankt",
	"",
	"   \n",
}

func TestCorrects(t *testing.T) {
	require.GreaterOrEqual(t, len(corrections), 40)
	require.GreaterOrEqual(t, len(innocents), 40)
	for _, message := range corrections {
		t.Run(message, func(t *testing.T) { require.True(t, record.Corrects(message)) })
	}
	for _, message := range innocents {
		t.Run("innocent "+message, func(t *testing.T) { require.False(t, record.Corrects(message)) })
	}
}

func TestWhatALongMessageCitesCorrectsNobody(t *testing.T) {
	mail := "Please answer this mail. " + strings.Repeat("The weather is fine. ", 30) + "That's not what I meant!"
	require.False(t, record.Corrects(mail))
	require.False(t, record.Corrects("answer this:\n> no, I meant the other one\n> you misunderstood me"))
	require.False(t, record.Corrects("what is this about?\n```\nno, I meant the other one\n```"))
	require.True(t, record.Corrects("> a or b?\nno, I meant c"))
}

// What people ask of agents corrects nobody: at most one in a thousand is mistaken
// for it.
func TestExamplesOfIntentsCorrectNobody(t *testing.T) {
	mistaken, all := []string{}, 0
	for _, in := range intents.Bundled().Enabled() {
		for _, example := range in.Examples {
			all++
			if record.Corrects(example) {
				mistaken = append(mistaken, example)
			}
		}
	}
	require.Greater(t, all, 5000)
	require.LessOrEqual(t, len(mistaken), all/1000, mistaken)
}
