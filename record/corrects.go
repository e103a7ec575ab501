package record

import (
	"regexp"
	"strings"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
)

// correctsWithin is how much of a message is read, in characters: people say
// first that they were misunderstood, and the rest may be a text by others.
const correctsWithin = 300

// Corrects reports whether a user's message says that the agent has misunderstood
// the one before: "no, I meant …", 不對, そうじゃなくて, "nein, nicht das". It knows
// phrases of English, Chinese, Japanese, Korean, German, French, Spanish,
// Portuguese, Italian, Russian and Dutch, at the beginning of a sentence. A plain
// "no" is an answer, not a correction, and quotations are ignored.
func Corrects(message string) bool {
	s := fold.Lower(text.Cut(message, correctsWithin))
	s = typographic.Replace(s)
	if strings.ContainsAny(s, quotes) {
		s = quotations.ReplaceAllString(s, " ")
	}
	// Most messages have no correction: skip the second check.
	return corrected(s) && corrected(innocent.ReplaceAllString(s, " "))
}

// corrected reports whether one of the sentences begins with a correction.
func corrected(s string) bool {
	for len(s) > 0 {
		if correction.MatchString(strings.TrimSpace(s)) {
			return true
		}
		end := sentenceEnd.FindStringIndex(s)
		if end == nil {
			return false
		}
		s = s[end[1]:]
	}
	return false
}

// sentenceEnd matches the separators of sentences.
var sentenceEnd = regexp.MustCompile(`[.!?;:…]\s+|[。！？]|\n`)

// quotes are the characters with which matches of [quotations] begin.
const quotes = "`\"“„«「『《'>"

// typographic are the forms that NFKC leaves unchanged.
var typographic = strings.NewReplacer("’", "'", "‘", "'", "–", "-", "—", "-")

// quotations matches text written by others, and code.
var quotations = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』|《[^》]*》" +
	`|(?:^|\s)'[^\n]*'(?:[\s.,;:?!)]|$)|(?m:^>[^\n]*$)`)

// innocent are phrases that look like a correction but are none.
var innocent = alternatives("", []string{
	// English
	`\bi (?:meant|did(?:n't| not) mean) to\b`,
	`\bno[,.! ]+(?:thanks|thank you|problem|worries|need|rush|hurry|idea)\b`,
	`\bno[,.! ]+not (?:yet|really|now|at all|today|right now|necessarily|for now|that i)\b`,
	`\bno[,.! ]+(?:that's|thats|that is|it's|its|this is) (?:all|fine|ok|okay|good|great|it|everything|enough|perfect|correct|right|alright)\b`,
	`\bnot that i\b`,
	// Chinese
	`是不是`, `(?:不對|不对)(?:嗎|吗|勁|劲)`,
	// German
	`\bnein[,.! ]+(?:danke|noch nicht|nicht nötig|nicht wirklich|nicht dass ich|nicht ganz sicher|das (?:ist|passt|reicht|geht) (?:gut|so|ok|okay|alles|schon|nicht nötig|in ordnung)|das war(?:'s| es| alles))`,
	`\bich meinte es\b`,
	// French
	`\bnon[,.! ]+(?:merci|c'est (?:bon|tout|parfait|ça)|pas (?:encore|vraiment|du tout|besoin|maintenant|de problème)|ce n'est (?:pas la peine|rien|pas grave|pas nécessaire))`,
	// Spanish, Portuguese, Italian
	`\bno está mal\b`, `\bno[,.! ]+(?:gracias|está bien|eso es todo|nada más|todavía no|no (?:hace falta|importa|pasa nada|es necesario|me (?:importa|gusta|acuerdo)))`,
	`(?:^|[\s,.!])não[,.! ]+(?:obrigad[oa]|precisa|é só isso|tudo bem)`,
	`\bno[,.! ]+(?:grazie|va bene|non (?:importa|serve|ancora|è (?:necessario|importante)))`,
})

// corrections are the phrases, by language. They are matched where a sentence
// begins.
var corrections = []string{
	// English
	`i meant\b`,
	`i did(?:n't| not) mean\b`,
	`no+(?:pe)?[,.! -]+(?:no+[,.! -]+)*(?:i (?:mean|meant|said|asked|wanted|was (?:asking|talking|referring))|not\b|(?:use )?the (?:other|one|first|second|third|last)\b|(?:it's|that's|it is|that is) (?:the|not|wrong)\b|wrong\b)`,
	`(?:that|this|it|those|these)(?: is|'s|s| was| are| were)? ?(?:not|isn't|wasn't|aren't|weren't) (?:at all |really |quite |exactly )?(?:what|how|where|who|the \pL+(?: \pL+)?(?: that| which)?) (?:i|we)\b`,
	`(?:that|this|it)(?: is|'s|s| was) (?:still )?the wrong \pL+`,
	`(?:that|this|it)(?: is not|'s not|s not| was not| isn't| wasn't) (?:my|the right) \pL+`,
	`it should (?:be|have been)\b[^.?!]{1,80}, not\b`,
	`i should have said\b`,
	`not (?:at all |really |quite |exactly )?what i (?:meant|asked|wanted|said|was|had|need|requested)\b`,
	`not (?:that|this|those|these)(?: \pL+)?(?:[,.!;-]|$)`,
	`not quite[,.!;-]`,
	`(?:that's|thats|that is|this is|that was|it's|you're|you are|your answer is) (?:still |completely |totally |just |simply |all )?(?:wrong|incorrect|not (?:right|correct|it|true|my question))(?: again)?(?:[.,!;:-]|$)`,
	`(?:wrong(?: \pL+)?|incorrect)(?:[,.!;:-]|$)`,
	`you(?:'ve| have)? (?:misunderstood|misread|misheard|got (?:me|that|this|it) (?:all |completely )?wrong)\b`,
	`you(?:'ve| have)? \pL+ the wrong \pL+`,
	`you (?:didn't|did not) (?:answer|understand|listen|read)\b`, `you(?:'re| are) not listening\b`,
	`i (?:didn't|did not) (?:ask (?:you|for|about|that|to|how|what|which)|say (?:that|to|you|anything|it)|want (?:that|this|you|it))\b`,
	`i never (?:asked (?:you|for (?:that|this|it))|said (?:that|to|anything|it)|told you)\b`,
	`i(?:'m| am| was|wasn't)? ?(?:not |wasn't )?(?:asked|said|wanted|asking|talking|told you|wanted)\b[^.?!]{1,80}(?:,| -|;) ?not\b`,
	`i(?:'m not| am not| was not| wasn't) (?:asking|talking|referring)\b`,
	`what i (?:meant|wanted|asked(?: for)?|said|was asking(?: for)?) (?:is|was)\b`,
	`re-?read my (?:message|question|request)\b`,

	// Chinese
	`(?:不對|不对)(?:[,，、。.!！ 啦喔哦啊吧呀]|$)`,
	`我不是(?:說|说|問|问|要|指|在說|在说|在問|在问|叫|讓|让|這個意思|这个意思|那個意思|那个意思)`,
	`我(?:說|说|指|問|问|要|想說|想说|想問|想问)的(?:不)?是`,
	`我的意思(?:不)?是`,
	`(?:你|您|妳)(?:誤會|误会|誤解|误解|會錯意|会错意|(?:理解|搞|弄|看|聽|听|答|改|刪|删|找|讀|读)(?:錯|错))`,
	`(?:這|这|那)(?:個|个)?(?:不是我(?:要|想|問|问|說|说)|(?:不對|不对|錯了|错了)(?:[,，、。.!！ 啦]|$))`,
	`不是(?:[,，、。!！啦啊]|(?:這|这|那)(?:個|个|樣|样)(?:[,，、。!！啦 ]|而|我|是|$))`,
	`不是[^,，。?!]{1,20}(?:[,，] ?|而)是`,
	`(?:搞|弄|看|聽|听|答|完全)?(?:錯|错)(?:了|啦)(?:[,，、。.!！ ]|$)`,
	`(?:你|您|妳)(?:沒|没)(?:聽懂|听懂|看懂|搞懂|理解|明白)`,
	`跟你(?:說|说)(?:了|過|过)(?:不是|別|别|不要)`, `看清楚我的`,
	`我(?:沒|没)有?(?:叫|要|讓|让|請|请|說|说|問|问)(?:你|妳|您|這|这|那|要)`,

	// Japanese
	`(?:それは|これは|全然)?(?:違|ちが)(?:う|います|いますよ|った|いました)(?:よ|って|ってば|んだ|んです|ね|けど|から|[、。,!！ …]|$)`,
	`そう(?:いう(?:意味|こと))?(?:じゃ|では)(?:なくて?|ない(?:です|よ|って|んだ|んです|[、。,!！ ]|$)|ありません)`,
	`(?:それ|これ|あれ|そっち|こっち|あっち)(?:じゃ|では)(?:なくて|ない(?:です|よ|って|[、。,!！ ]|$)|ありません)`,
	`(?:そんな(?:こと|の)|それ|そう)(?:は|を)?(?:言って|頼んで|聞いて|お願いして)い?(?:ない|ません)`,
	`(?:私が|僕が|俺が)?(?:言いたい|言いたかった|聞きたい|聞きたかった|言った|聞いた|頼んだ|欲しかった)(?:の|こと)(?:は|じゃ|では)`,
	`(?:それ(?:は|、)?)?間違(?:って(?:る|い(?:る|ます))|い(?:です|だ))(?:よ|ね|[、。,!！ ]|$)`,
	`勘違い(?:して(?:る|い(?:る|ます))|です)`,
	`[^、。,!?]{1,10}(?:じゃ|では)なくて[、,]?[^、。,!?]{1,15}(?:[。!]|です|だよ|だって|$)`,

	// Korean
	`(?:아니(?:요|야|오|에요)?[,. !]+)?(?:그게|그거|이게|이거|그건|그 말이|그런 뜻이|그 뜻이) ?아니(?:라|고|야|에요|예요|요|잖아|[,. !]|$)`,
	`아니(?:요|야|오)?[,. !]+(?:내|제) 말은`, `(?:내|제) 말은`,
	`(?:그거|이거|그것|이것) 말고`,
	`(?:틀렸어|틀렸습니다|잘못 이해|잘못 알아들)`,

	// German
	`nein+[,.! -]+(?:nein[,.! -]+)*(?:nicht\b|so nicht|ich (?:meinte|meine|wollte|sprach|rede|sagte|habe (?:nicht|gesagt|gemeint))|das (?:ist|war|meinte|stimmt)\b|falsch|(?:den|die|das) ander)`,
	`ich meinte\b`,
	`(?:das|dies) (?:ist|war) nicht,? (?:das,? )?was ich\b`, `ich habe? (?:dir |ihnen )?doch gesagt\b`, `ich hab doch gesagt\b`,
	`(?:das|dies) (?:ist|war) (?:aber |doch |gar )?nicht (?:das|der|die|mein|meine),? (?:was |frage|datei|den |die |das )`,
	`(?:das|so) (?:meinte|wollte|meine|will) ich (?:es |das |so |gar |aber |doch )*nicht`,
	`(?:das|so) (?:hab|habe|hatte) ich (?:das |es |so |gar |aber |doch )*nicht (?:gemeint|gesagt|gefragt|gewollt|bestellt)`,
	`so war (?:das|es) nicht gemeint`,
	`das (?:stimmt (?:so |aber )?nicht|ist (?:leider |aber )?(?:falsch|nicht richtig|verkehrt))(?:[.,!;:]|$)`,
	`nicht (?:das|den|die|der|diese[nrs]?|so)(?: \pL+)?(?:[,.!;]|$)`,
	`falsch(?:e[rsn]? \pL+)?(?:[,.!;:]|$)`,
	`ich (?:wollte|sagte|sprach von|fragte nach)\b[^.?!]{1,80}, (?:und )?nicht\b`,
	`ich (?:habe|hab|hatte) (?:dich |sie )?(?:doch |gar |aber )?nicht (?:danach |darum |nach |gesagt|um )`,
	`(?:du hast|sie haben|da hast du) (?:mich|das|es|etwas) (?:falsch|missverstanden|nicht verstanden)`,

	// French
	`non+[,.! -]+(?:non[,.! -]+)*(?:pas\b|je (?:voulais|parlais|disais|demandais|pensais)|c'est (?:pas|faux)|ce n'(?:est|était) pas|l'autre\b|plutôt\b)`,
	`(?:ce n'est|c'est|ce n'était|c'était) pas (?:du tout |vraiment )?(?:ça|cela|ce que j[e']|celui|celle|le bon|la bonne)`,
	`pas (?:ça|celui|celle|ce|cet|cette)(?:[ -]\pL+)?(?:[,.!;]|$)`,
	`je (?:n'ai|ne (?:t'ai|vous ai)) (?:jamais|pas|rien) (?:dit|demandé|parlé)`,
	`je (?:ne )?(?:parlais|demandais) pas\b`,
	`je voulais (?:dire|parler de)\b`,
	`(?:tu|vous) (?:m'as|n'as|as|m'avez|n'avez|avez) (?:mal|pas|rien) (?:compris|lu)`,
	`(?:c'est faux|c'est pas bon|tu te trompes|tu t'es trompée?(?: de \pL+)?|vous vous trompez)(?:[,.!;:]|$)`,

	// Spanish
	`no+[,.! -]+(?:no+[,.! -]+)*(?:me (?:refería|refiero)|quería decir|quise decir|quiero decir|(?:eso|ese|esa|así) no\b|no (?:es|era) (?:eso|ese|esa|lo)|el otro\b|la otra\b|yo (?:dije|pedí)|está mal)`,
	`no me (?:refería|refiero)\b`, `me refería a`, `(?:quise|quería) decir\b`,
	`(?:eso|ese|esa|esto) no (?:es|era) (?:lo que|el|la)\b`,
	`(?:eso|ese|esa|así) no(?:[,.!;]|$)`,
	`no (?:es|era) (?:eso|lo que (?:yo )?(?:pedí|dije|quería|pregunté|quise|te pedí))`,
	`(?:yo )?no (?:te )?(?:pedí|dije) (?:eso|que)\b`,
	`me (?:entendiste|has entendido|entendió|malinterpretaste) ?(?:mal|$|[,.!])`,
	`(?:te equivocaste|te equivocas|te has equivocado|estás equivocad[oa]|eso está mal|está mal)(?: de \pL+)?(?:[,.!;:]|$)`,

	// Portuguese
	`(?:não[,.! -]+)?(?:eu )?(?:quis|queria) dizer\b`,
	`(?:não[,.! -]+)?(?:isso )?não (?:é|foi|era) (?:isso|o que eu)`,
	`(?:eu )?não (?:pedi|disse) (?:isso|para|que)`,
	`(?:você|tu) (?:entendeu|entendeste) (?:mal|errado)`,

	// Italian
	`(?:no+[,.! -]+)?(?:intendevo|volevo dire)\b`, `(?:no+[,.! -]+)?non intendevo\b`,
	`no+[,.! -]+non (?:quello|quella|questo|questa|così|è)`,
	`(?:questo |quello )?non (?:è|era) (?:quello|ciò) che\b`,
	`(?:hai|ha) (?:capito|frainteso) ?(?:male|$|[,.!])`,

	// Russian
	`(?:нет[,.! -]+)?я (?:не )?имел[аи]? в виду`,
	`нет[,.! -]+(?:не (?:то|это|так|этот|эту|тот|ту)(?:[ ,.!]|$)|я (?:про|говорил|просил|спрашивал))`,
	`не то(?:[.,!]|$)`,
	`(?:это )?(?:совсем )?не то,? (?:что|о ч[её]м) я`,
	`(?:ты|вы) (?:меня )?(?:не так|неправильно|не) понял[аи]?`,
	`я (?:этого |это |об этом )?не (?:это |об этом )?(?:просил|спрашивал|говорил)`,

	// Dutch
	`nee+[,.! -]+(?:ik (?:bedoel|bedoelde|wilde|zei)|niet (?:die|dat|deze|dit|de|het)\b|dat (?:is|was) (?:niet|fout))`,
	`ik bedoelde\b`, `dat (?:is|was) niet wat ik\b`, `niet (?:die|dat|deze|dit)(?: \pL+)?(?:[,.!;]|$)`,
}

// opening are the words with which people introduce a sentence.
const opening = `^` +
	`(?:(?:u[hm]+|hm+|hey|sorry|wait|oh|ah|ok|okay|well|but|and|please|hold on|stop|argh|ugh|no+|nope|nah|actually|yes|` +
	`欸|誒|诶|喂|哎|唉|等等|等一下|拜託|拜托|抱歉|呃|嗯|喔|哦|啊|不+|不是|不對|不对|可是|但是|` +
	`いや|いえ|いいえ|ううん|あ|えっと|ちょっと|だから|でも|すみません|ごめん|あの|아니|아니요|아니야|저기|음|` +
	`nein|doch|halt|moment|stopp|also|äh|aber|sorry|entschuldigung|non|mais|attends|pardon|euh|pero|perdón|espera|não|mas|desculpe|ma|scusa|aspetta|нет|но|извини|подожди|nee|maar|wacht)` +
	`[\s,.!、，。…-]+)*`

var correction = alternatives(opening, corrections)

// alternatives returns a pattern that matches any of patterns after the
// opening.
func alternatives(opening string, patterns []string) *regexp.Regexp {
	return regexp.MustCompile(opening + `(?:` + strings.Join(patterns, "|") + `)`)
}
