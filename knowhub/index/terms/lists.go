package terms

import "strings"

func set(text string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// stop are words that carry no meaning of their own.
var stop = set(`
a an the and or but nor so if then else than that this these those there here it its itself
i me my mine we us our ours you your yours he him his she her hers they them their theirs
is am are was were be been being do does did doing done has have had having
will would shall should can could may might must
of in on at by for from to into onto with without within about as over under between through per via
not no nor only own same too very just also still yet again ever both each few more most other some such any all
what which who whom whose when where why how
don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn mustn t s d ll re ve m
because while until during before after above below up down out off once
`)

// clitic are the short endings after the apostrophe of an English word.
var clitic = set(`s d m ll re ve em`)

// weak are words of questions that do not name their subject.
var weak = set(`
please help want need needed try tried trying know tell say said thank thanks hi hello hey anyone someone somebody something anything everything nothing
get got getting gets go goes going went gone make makes made making let lets way thing things kind sort like seem seems
happen happens happened happening actually really maybe perhaps quite instead even ok okay yes
best good better right wrong suddenly always never sometimes now today yesterday
remember recall last earlier previously ago figure figured trick whole every keep see look deal use used using
one two first second time times day week bit lot much many another whenever
question answer issue problem problems trouble work works working
解决 问题 办法 如何
`)

// hanWeak are characters of Chinese and Japanese function words: a pair with one
// of them says little.
const hanWeak = "的了是在我你他她它们這这那怎么麼什为為吗嗎呢吧就都也要会會能可以不没沒有和与與及或被把让讓给給上下里裡很还還再才又从從到对對时時候后後前中个個些样樣请請想用做说說看出来來去過过得地着呀啊哪谁誰何何時方法"
