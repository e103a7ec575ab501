package local

import (
	"strings"
	"unicode/utf8"
)

// lexicon is a set of lists of words and phrases, one bit each. A list has one
// purpose and entries in all languages.
type lexicon uint32

// phrase is an entry of a list.
type phrase struct {
	text string // with a space at both ends, unless it is CJK
	list lexicon
}

// phrases holds all entries, CJK ones by their first character, others by their
// first word. listNames holds the name of each list.
var (
	phrases   = map[string][]phrase{}
	listNames []string
)

// words makes a list from lines with comma-separated entries. CJK entries match
// anywhere, others only whole words.
func words(name string, lines ...string) lexicon {
	l := lexicon(1) << len(listNames)
	listNames = append(listNames, name)
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			entry = strings.TrimSpace(entry)
			first, _, _ := strings.Cut(entry, " ")
			r, size := utf8.DecodeRuneInString(entry)
			if isCJK(r) {
				first = entry[:size]
			} else {
				entry = " " + entry + " "
			}
			phrases[first] = append(phrases[first], phrase{entry, l})
		}
	}
	return l
}

// minCJK is the first character that CJK entries may begin with.
const minCJK = 0x3000

// look finds the lists with entries in the text, and those with an entry at its
// beginning.
func (m *message) look() {
	at := 0 // of the space before the word in m.spaced
	for i, w := range m.words {
		for _, p := range phrases[w] {
			if strings.HasPrefix(m.spaced[at:], p.text) {
				m.lists |= p.list
				if i == 0 {
					m.first |= p.list
				}
			}
		}
		at += 1 + len(w)
	}
	if len(m.cjk) == 0 {
		return
	}
	for i, r := range m.folded {
		if r < minCJK {
			continue
		}
		for _, p := range phrases[m.folded[i:i+utf8.RuneLen(r)]] {
			if strings.HasPrefix(m.folded[i:], p.text) {
				m.lists |= p.list
				if i == 0 {
					m.first |= p.list
				}
			}
		}
	}
}

// has reports whether the text contains an entry of the lists.
func (m *message) has(l lexicon) bool { return m.lists&l != 0 }

// starts reports whether the text begins with an entry of the lists.
func (m *message) starts(l lexicon) bool { return m.first&l != 0 }

// only reports whether the text has words, all of them from the lists.
func (m *message) only(l lexicon) bool {
	for _, w := range m.words {
		if longest(w, " "+w+" ", l) != len(w)+2 {
			return false
		}
	}
	for _, run := range m.cjk {
		for run != "" {
			_, size := utf8.DecodeRuneInString(run)
			n := longest(run[:size], run, l)
			if n == 0 {
				return false
			}
			run = run[n:]
		}
	}
	return len(m.words)+len(m.cjk) > 0
}

// longest returns the length of the longest entry of the lists that text
// begins with.
func longest(first, text string, l lexicon) int {
	n := 0
	for _, p := range phrases[first] {
		if p.list&l != 0 && len(p.text) > n && strings.HasPrefix(text, p.text) {
			n = len(p.text)
		}
	}
	return n
}

var (
	questionWords = words("question",
		"what, whats, what's, which, who, whos, who's, when, where, wheres, why, how, hows, is there, are there, any ideas, any idea, right",
		"was, welche, welcher, welches, welchen, wer, wen, wem, wann, wo, woher, wohin, warum, wieso, wie, wieviel, wieviele, womit, oder",
		"什么, 啥, 哪, 谁, 几, 多少, 怎么, 怎样, 如何, 为什么, 吗, 呢, 多久, 多大, 是不是, 能不能, 有没有, 要不要, 来着",
		"何, なに, なん, いつ, どこ, どう, どの, どれ, どっち, だれ, 誰, いくら, いくつ, なぜ, どんな, ですか, ますか, かな, かしら, だろう, でしょう, っけ, かね")
	knowledgeQuestions = words("knowledge",
		"how do, how to, how can, how does, how would, how much, how many, how long, what is, whats the, what's the, what does, what counts, what would, what could, what changed, is there a way, is there any, is it possible, difference, does it, can i, i never remember, why would, when is, when do, ideas for, any ideas",
		"wie lange, wie viel, wieviel, wie viele, wie kann, wie bekomm, wie bekomme, wie macht, wie rechnet, wie schnell, was kostet, was heißt, was ist, was muss, gibt es, gibts, darf, darf man, muss man, kann man, ab wann, bis wann, welche, welches, nochmal, eigentlich",
		"怎么, 如何, 多少钱, 多久, 是多少, 什么意思, 哪些, 区别, 哪个, 要多, 合适, 默认, 来着, 能不能, 算不算, 要不要, 几点, 几号, 需要哪些, 大概",
		"方法, やり方, どうやって, とは, 違い, 違います, どのくらい, どれくらい, どれくらい, いくら, おすすめ, 何時, っけ, 求め方, すればいい, どうすれば, 目安, 相場, だと")
	requests = words("request",
		"please, pls, plz, remind, show, list, draft, translate, explain, calculate, find, check, add, remove, put, move, set, write, give, summarize, summarise, look up, look at, need, i need, would be good, would be useful, would be nice, wondering, make it, assign, link, could somebody, could someone, can someone, can somebody, someone should, somebody should",
		"bitte, erinner, erinnere, rechne, rechnet, such, suche, zeig, mach, macht mal, schreib, setz, stell, übersetz, brauch, brauche, bräuchte, bräuchten, müsste, müssten, nachschauen, rausfinden, ergänzen, schau nach, man müsste, jemand müsste, ich such, wüsste gern, würde gern wissen",
		"帮, 请, 求, 查, 提醒, 统计, 整理, 列一下, 算, 写一, 发一下, 加上, 改成, 翻译, 推荐, 给个, 给我, 想知道, 得有人, 把",
		"ください, お願い, おねがい, 教えて, おしえて, 調べて, しらべて, まとめ, 探して, ほしい, 欲しい, 作って, つくって, 見てみて, 知りたい, 助かります, くれ, もらえ, おいて, 入れて, 計算")
	anyone = words("anyone",
		"anyone, anybody, someone, somebody, everyone, everybody, you guys, guys, folks, all",
		"jemand, einer, irgendwer, wer, man, leute, ihr, könnt ihr",
		"有人, 谁, 大家, 有没有人, 你们, 各位",
		"誰か, だれか, どなた, みんな, 皆さん, 方います")
	peopleQuestions = words("people",
		"who is, who's, who can, who wants, who has, who left, who took, who set, who knows how, did you, do you have, do you need, do you want, do you know, have you, are you, can you, could you, would you, will you, has anyone seen, anyone want, anyone fancy, anyone else, does anyone want, should we, shall we, are we, what are you, what do you, whats everyone, fancy, wanna, what do i owe",
		"wer kommt, wer kann, wer bringt, wer will, wer hat, wer fährt, kommt ihr, kommt wer, hast du, bist du, kannst du, weißt du, willst du, fährst du, habt ihr, seid ihr, könnt ihr helfen, wollt ihr, esst ihr, was sagt ihr, hat jemand, hat einer, hat wer, wollen wir, soll ich, was wünschst du, wann ziehst, freiwillige",
		"你, 您, 你们, 谁去, 谁有, 谁动, 谁会, 谁发, 谁回, 一起, 来吗, 去吗, 要不, 有人想, 吃啥",
		"行ける人, 持ってますか, 誰が持って, どうします, どうする, 行かない, いつがいい, 暇, 食べた, 出した人, もった, した?, してる?, たの?, くれますか, いい?")
	secondPerson = words("you",
		"you, your, you're, youre, u, ya, yours",
		"du, dir, dich, dein, deine, deinen, ihr, euch, eure, euer",
		"你, 您",
		"さん, くん, ちゃん, 君, あなた")
	_ = words("me",
		"i, i'm, im, i'll, ill, i've, my, me, mine",
		"ich, mir, mich, mein, meine, hab, bin",
		"我, 我们, 咱",
		"私, 俺, 僕")
	_ = words("us",
		"we, us, our, ours, let's, lets, we'll, we're",
		"wir, uns, unser, unsere",
		"我们, 咱, 咱们, 一起",
		"うち, みんな, 私たち, 一緒")
	_ = words("they",
		"he, she, him, her, his, they, hes, he's, shes, she's",
		"er, sie, ihm, ihn",
		"他, 她",
		"彼, 彼女, あの人")
	_ = words("past",
		"did, was, were, had, yesterday, already, last, said, told, took, left, went, got",
		"hatte, war, gestern, schon, letzte, letztes, gesagt, gemacht, hast",
		"昨天, 刚才, 了",
		"昨日, さっき, した, ました, だった")
	thanks = words("thanks",
		"thanks, thank you, thx, ty, tysm, cheers, love u, legend, lovely, you rock, perfect",
		"danke, dankeschön, danke schön, merci, super, klasse, top, prima",
		"谢, 太好了, 完美, 辛苦, 明白",
		"ありがと, 助かる, 助かりました, さすが, 勉強になります, なるほど, どもです")
	agreement = words("agreement",
		"ok, okay, k, yes, yep, yeah, yup, no, nope, sure, cool, nice, great, fine, got it, true, right, done, same, agreed, fair, me, deal, lgtm, works, fixed, worked",
		"ja, jaa, nein, ne, nö, klar, gut, passt, jo, jup, jep, alles klar, stimmt, genau, okay, geht klar, mach ich, dabei, läuft",
		"好, 嗯, 收到, 行, 可以, 对, 是的, 没事, 同意, 知道了, 转了",
		"はい, 了解, いいね, わかった, わかりました, うん, そう, 賛成, 承知, いけます, できた, おk")
	laughter = words("laughter",
		"lol, lmao, haha, hahaha, hahahaha, hihi, hehe, omg, wow, ugh, xd, rofl",
		"hahaha, boah, puh, juhu, oh nein, ach, uff, mist, soso",
		"哈哈, 呵呵, 嘿嘿, 哇, 唉, 耶",
		"笑, w, ww, www, おお, えー, やった, うらやま, すごい, よかった")
	greetings = words("greeting",
		"morning, good morning, hi, hello, hey, bye, night, good night, welcome, good luck, congrats, happy birthday",
		"morgen, guten morgen, moin, hallo, tschüss, feierabend, wochenende, willkommen, gute besserung, glückwunsch, viel spaß",
		"早, 早上好, 晚安, 大家好, 恭喜, 加油, 欢迎",
		"おはよう, おつかれ, お疲れ, ただいま, おかえり, こんばんは, おめでとう, いってら, ごちそうさま, 気をつけて")
	_ = words("subject",
		"weather, rain, forecast, degrees, coat, price, cost, cheap, budget, expensive, time, date, open, train, bus, flight, ticket, recipe, minutes, formula, percent, tip, english, mean, error, config, command, version, install, docs, calendar, table, number, address, phone, place, restaurant, hotel, parking, law, contract, days, expire, password, download, backup, memory, regex, api, clean",
		"wetter, regen, grad, preis, euro, uhr, geöffnet, offen, zug, verspätung, bus, rezept, minuten, formel, prozent, fehler, termin, kalender, liste, nummer, adresse, telefonnummer, mwst, volumen, anmelden, vorlage, text, angebot, kilo, stunden",
		"天气, 下雨, 下雪, 价格, 机票, 高铁, 票, 几点, 英文, 菜, 炖, 公里, 停车, 酒店, 报, 错, 配置, 接口, 清单, 流明, 标准, 日期, 牌子, 材料, 钱",
		"天気, 料金, 値段, 円, 税, 何時, 終電, 英語, レシピ, 計算, 予約, 会議室, 締切, 電話番号, 台風, 店, 文面, 案, 本, 映画, エラー, 設定, 上映時間, 駅")
	_ = words("failure",
		"still, doesnt, doesn't, does not, wrong, not, no, cant, can't, instead, already, too, but, hm, hmm, tried, error, says",
		"immer noch, nicht, kein, keine, falsch, stattdessen, lieber, doch, sondern, zu, bei mir",
		"还是, 不是, 没有, 找不到, 不对, 错了, 显示, 不要, 只要",
		"まだ, ない, 違う, 弾かれ, 同じ, 代わりに, だめ, きかなかった, 終わらない")
	_ = words("continuation",
		"and, or, and if, what about, how about, also, then, those, that, it, them, which, rough, source",
		"und, oder, dann, auch, davon, sonst, außerdem, wo, welche, den, die",
		"那, 要是, 还有, 再, 另外, 如果, 中间, 呢",
		"あと, じゃあ, もう少し, もうちょっと, だと, なら, もっと, 例も, それ, どれ")
	_ = words("kin",
		"mum, mom, dad, grandma, grandpa, granny, dude, mate, boss, man, bro",
		"mama, papa, oma, opa, mutti, vati, schatz, chef, meister",
		"妈, 爸, 奶奶, 爷爷, 外婆, 姥姥, 舅, 姐, 哥, 弟, 叔, 姨, 老公, 老婆, 老板",
		"お母さん, お父さん, ばあば, じいじ, 姉ちゃん, 兄ちゃん, 先輩, 課長, 部長, 先生")
	filler = words("filler",
		"so, very, much, that, all, a, lot, it, oh, ah, good, perfect, now, to, know, then, you, bit, the",
		"dann, sehr, na, ach, so, dir, schön, vielen, alles, doch, das, war, schon",
		"的, 了, 啦, 呀, 吧, 哈, 就, 那, 这, 太, 很, 多, 了解, 不错, 够, 没问题, 放心",
		"です, ます, ました, ございます, よ, ね, な, ー, う, とう, それ, ですね, お願いします")
	botWords = words("bot",
		"bot, chatbot, assistant, ai",
		"机器人",
		"ボット, アシスタント")
)

// reactions are the lists of words that need no answer.
var reactions = thanks | agreement | laughter | greetings | filler
