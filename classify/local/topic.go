package local

import (
	"math"
	"slices"
	"strings"

	"intenthint/payload"
)

// role is the function of a word or phrase for the topic of a conversation;
// some have several.
type role uint16

const (
	roleSmall  role = 1 << iota // holds a sentence together
	roleAnswer                  // answers a question, or chooses from what was offered
	roleAssent                  // acknowledges, or agrees
	roleThanks                  // thanks, praises, or calls off
	roleBye                     // says goodbye
	roleGreet                   // greets
	roleGoesOn                  // at the beginning of a message: continues
	roleRefers                  // refers to what was said, or asks for a change of it
	roleAside                   // at the beginning of a message: announces another subject
)

const (
	// The longest phrases of the tables, in words and in characters of a script
	// without spaces.
	maxPhraseWords = 5
	maxPhraseHan   = 8
	// maxFollowUp is the length of the longest message that may lean on another,
	// in quarters of a word: see wideLength.
	maxFollowUp = 56
	// maxAside is how much else a message that closes a topic may say, likewise.
	maxAside = 8
	// doubtful is added to probabilities of which a logarithm is taken: none is
	// known to be so near to 0. Any value from 0.01 to 0.1 fits as well.
	doubtful = 0.05
	// leastSubject is the length of the shortest word, in letters, that can name a
	// subject; maxSubject is how many of its first letters are compared.
	leastSubject, maxSubject = 4, 5
	// maxReaction is the length of the longest of [reactions], in quarters of a word.
	maxReaction = 12
	// maxEchoes is how many echoed words of the assistant are counted: more add
	// nothing.
	maxEchoes = 2
	// maxFresh is how many subject words that a conversation has not had are counted:
	// the fourth adds nothing.
	maxFresh = 3
	// leastAsked is the length of the shortest question that is complete, in quarters of
	// a word: "which shop" is not, "where is Tuvalu" is.
	leastAsked = 10
)

// cues are what the words of a message tell about its place in a conversation.
// Lengths are in quarters of a word.
type cues struct {
	roles   role // of all its words and phrases; roleGoesOn and roleAside only where they count
	length  int
	content int // of the words without a role
	// answersFirst reports whether the message begins with an answer or consent.
	answersFirst bool
}

func (c *cues) has(r role) bool { return c.roles&r != 0 }

// closes reports whether a message ends a topic, or comes before one: thanks, a
// farewell, a greeting, or consent when nothing was asked.
func (c *cues) closes(asked bool) bool {
	switch {
	case c.length <= maxFollowUp && c.content == 0 && c.has(roleBye) && !c.has(roleRefers|roleAside):
		return true // "well then, good night"
	case c.length > maxFollowUp, c.has(roleGoesOn | roleRefers | roleAside):
		return false
	case c.has(roleThanks | roleBye | roleGreet):
		return c.content <= maxAside && c.content*2 <= c.length && (!asked || !c.has(roleAssent))
	}
	return c.has(roleAssent) && !c.has(roleAnswer) && c.content == 0 && !asked
}

// closing returns the meaning of a message that closes a topic, in words that a
// catalogue is likely to know.
func (c *cues) closing() string {
	switch {
	case c.has(roleBye):
		return "goodbye"
	case c.has(roleThanks) || !c.has(roleGreet):
		return "thank you"
	}
	return "hello"
}

// Dependent reports whether a message that follows others says too little about
// its subject to be learnt from without them: "yes, the second one", "and
// tomorrow?", "make it shorter". Two subject words are enough.
func Dependent(message string) bool {
	const oneWord = 4 // in quarters of a word
	var t reading
	t.reset(message)
	c := cuesOf(&t)
	return c.content == 0 && c.length <= maxFollowUp || c.content <= oneWord && c.has(roleGoesOn|roleRefers)
}

// cuesOf reads the cues of a message; if it is too long to lean on another,
// only those of its beginning.
func cuesOf(t *reading) cues {
	var c cues
	for i := 0; i < len(t.tokens) && c.length <= maxFollowUp; {
		tok := t.tokens[i]
		switch tok.kind {
		case tokenWord:
			n, r := phraseAt(t, i)
			if r&(roleGoesOn|roleAside) != 0 && c.length > 0 && !c.leadsIn() {
				r = r&^(roleGoesOn|roleAside) | roleSmall
			}
			c.take(4*max(n, 1), r)
			i += max(n, 1)
			continue
		case tokenHan:
			// Korean phrases have spaces.
			for i+1 < len(t.tokens) && t.tokens[i+1].kind == tokenHan {
				i++
			}
			c.readHan(t.runes[tok.start:t.tokens[i].end], i == len(t.tokens)-1)
		case tokenSymbol:
			// A thumbs-up or a check mark may accompany anything.
		}
		i++
	}
	if c.length == 0 && len(t.tokens) > 0 {
		c.take(4, roleAssent) // but alone it means consent
	}
	return c
}

// leadsIn reports whether the text read so far is an introduction, as in "no,
// …" or "thanks, …".
func (c *cues) leadsIn() bool {
	answers := roleAnswer | roleAssent | roleThanks
	if c.answersFirst {
		answers |= roleSmall // of another language: "ja" is "already" in Portuguese
	}
	return c.content == 0 && c.roles&^answers == 0
}

func (c *cues) take(length int, r role) {
	if c.length == 0 {
		c.answersFirst = r&(roleAnswer|roleAssent) != 0
	}
	c.length += length
	c.roles |= r
	if r == 0 {
		c.content += length
	}
}

// phraseAt returns the longest phrase that begins at a word, in words, and its
// role.
func phraseAt(t *reading, i int) (words int, r role) {
	first := t.runes[t.tokens[i].start:t.tokens[i].end]
	if first[0] >= '0' && first[0] <= '9' {
		return 1, roleAnswer
	}
	h := uint64(hashSeed)
	for n := 0; n < maxPhraseWords && i+n < len(t.tokens) && t.tokens[i+n].kind == tokenWord; n++ {
		for _, x := range t.runes[t.tokens[i+n].start:t.tokens[i+n].end] {
			h = hashStep(h, x)
		}
		if found := roleOf(h); found != 0 {
			words, r = n+1, found
		}
		h = hashStep(h, ' ')
	}
	return words, r
}

// readHan reads a run of a script without spaces.
func (c *cues) readHan(runes []rune, last bool) {
	for i := 0; i < len(runes) && c.length <= maxFollowUp; {
		n, r := 1, role(0)
		h := uint64(hashSeed)
		for k := i; k < len(runes) && k-i < maxPhraseHan; k++ {
			h = hashStep(h, runes[k])
			if found := roleOf(h); found != 0 {
				n, r = k-i+1, found
			}
		}
		if r&roleGoesOn != 0 && c.length > 0 && !c.leadsIn() && (!last || i+n < len(runes)) {
			r = r&^roleGoesOn | roleSmall
		}
		if r&roleAside != 0 && c.length > 0 && !c.leadsIn() {
			r = r&^roleAside | roleSmall
		}
		c.take(wideLength(runes[i:i+n]), r)
		i += n
	}
}

// wideLength returns the length of characters of scripts without spaces, in quarters
// of a word: half a word each, and a quarter for kana and Thai letters, of which a word
// has several.
func wideLength(runes []rune) (length int) {
	const firstKana, lastKana = 'ぁ', 'ヿ'
	for _, r := range runes {
		if length += 2; firstKana <= r && r <= lastKana || isThai(r) {
			length--
		}
	}
	return length
}

// The signals that a message leans on an earlier one.
const (
	followUpBias   = iota
	followUpGoesOn // "and …", "what about …"
	followUpRefers // "shorter", "the same", "it"
	followUpEmpty  // no word names a subject
	followUpLength // as a share of maxFollowUp; words without a role count twice
	followUpAlone  // the logarithm of the probability that the message's own intent is wrong
	followUpBare   // no word has a role
	followUpShare  // the logarithm of shareOf
	followUpEchoes // see echoes; less if the message has an intent of its own
	followUpFresh  // see own
	followUpAsks   // asks something with a question word about a subject of its own
	numFollowUp
)

// They take the first positions of the signals of [Model].
var _ [numSignals - numFollowUp]struct{}

// followUpWeights weigh the signals that a message leans on an earlier one.
var followUpWeights = logistic{5.2, 0.85, 0.75, 1.6, -2.35, 1.15, -1.2, 2.05, 2.2, -0.2, -2.25}

// ties are what the words of a message have to do with the conversation before it.
type ties struct {
	// echoed is how many words of a subject it takes from the assistant's last text,
	// at most maxEchoes.
	echoed int
	// fresh is how many words of a subject it has that no turn has, at most maxFresh;
	// 0 for a message that goes on or refers.
	fresh int
	// asks reports whether it asks something about such a subject with a question word.
	asks bool
}

// closest are the ties of a message that leans most.
var closest = ties{echoed: maxEchoes}

func (c *cues) signals(own, share float64, t ties) signals {
	var s signals
	flag := func(at int, is bool) {
		if is {
			s[at] = 1
		}
	}
	s[followUpBias] = 1
	flag(followUpGoesOn, c.has(roleGoesOn))
	flag(followUpRefers, c.has(roleRefers))
	flag(followUpEmpty, c.content == 0)
	s[followUpLength] = float64(c.length+c.content) / maxFollowUp
	s[followUpAlone] = math.Log(1 - own + doubtful)
	s[followUpShare] = math.Log(share + doubtful)
	flag(followUpBare, c.content == c.length)
	s[followUpEchoes] = float64(t.echoed) * (1 - own)
	s[followUpFresh] = float64(t.fresh) / maxFresh
	flag(followUpAsks, t.asks)
	return s
}

// mayFollowUp reports whether a message may lean on an earlier one at all.
func (c *cues) mayFollowUp() bool {
	return c.length > 0 && c.length <= maxFollowUp && !c.has(roleAside)
}

// followUpProbability is the probability that a message leans on an earlier one,
// given that of its own intent, [shareOf] both, and its ties.
func (c *cues) followUpProbability(own, share float64, t ties) float64 {
	if !c.mayFollowUp() {
		return 0
	}
	s := c.signals(own, share, t)
	return followUpWeights.probability(&s)
}

// ties returns the ties of a message that sc has read.
func (c *cues) ties(sc *scratch, message string, conversation []payload.Turn) ties {
	t := ties{echoed: c.echoes(sc, conversation)}
	if c.content == 0 || !c.mayFollowUp() || c.has(roleGoesOn|roleRefers) {
		return t
	}
	var room [maxFollowUp]uint64
	words := sc.subjects(room[:0])
	known := shared(sc, words, conversation)
	t.fresh = min(len(words)-known, maxFresh)
	t.asks = t.fresh > 0 && known == 0 && c.length >= leastAsked && hasQuestionWord(message)
	return t
}

// hasQuestionWord reports whether a message is a question by its words.
func hasQuestionWord(message string) bool {
	f := clauseText(message)
	return questionWords.begins(f) || questionWordsInside.in(f)
}

// echoes returns how many subject words the message that sc has read shares
// with the assistant's last text, if that is known; at most maxEchoes. Words
// count as equal if their first letters are equal: subject words are inflected
// at their ends. For scripts without spaces it counts pairs of characters.
func (c *cues) echoes(sc *scratch, conversation []payload.Turn) int {
	n := len(conversation) - 1
	if n < 0 || conversation[n].Role != payload.RoleAssistant || c.content == 0 || !c.mayFollowUp() {
		return 0
	}
	var room [maxFollowUp]uint64
	return min(shared(sc, sc.subjects(room[:0]), conversation[n:]), maxEchoes)
}

// resumed returns the conversation up to the pair of turns whose topic a message takes
// up: an earlier one if the message, which sc has read, shares more words of a subject
// with it than with the last pair and all others. It returns the whole conversation
// otherwise.
func (c *cues) resumed(sc *scratch, conversation []payload.Turn) []payload.Turn {
	if c.content == 0 || !c.mayFollowUp() {
		return conversation
	}
	var room [maxFollowUp]uint64
	own := sc.subjects(room[:0])
	best, end := -1, len(conversation)
	out := conversation
	for i := end - 1; i >= lookBack(conversation); i-- {
		if conversation[i].Role != payload.RoleUser {
			continue
		}
		if n := shared(sc, own, conversation[i:end]); n > best {
			best, out = n, conversation[:end]
		}
		end = i
	}
	return out
}

// subjects appends the words of a subject of the message that sc has read, each once,
// as far as there is room.
func (sc *scratch) subjects(own []uint64) []uint64 {
	sc.text.subjects(func(h uint64) bool {
		if !slices.Contains(own, h) {
			own = append(own, h)
		}
		return len(own) < cap(own)
	})
	return own
}

// shared is how many of the words, of which there are at most maxFollowUp, the turns
// have, too. It overwrites sc.reply.
func shared(sc *scratch, words []uint64, turns []payload.Turn) int {
	var room [maxFollowUp]uint64
	left := append(room[:0], words...)
	for _, turn := range turns {
		sc.reply.reset(turn.Text)
		sc.reply.subjects(func(h uint64) bool {
			if i := slices.Index(left, h); i >= 0 {
				left = slices.Delete(left, i, i+1)
			}
			return len(left) > 0
		})
	}
	return len(words) - len(left)
}

// sharedText is [shared] for one text.
func sharedText(sc *scratch, words []uint64, text string) int {
	return shared(sc, words, []payload.Turn{{Text: text}})
}

// subjects calls yield with a hash of the beginning of each word, or of each
// pair of characters of a script without spaces, that has no role in a
// conversation. It stops when yield returns false.
func (t *reading) subjects(yield func(uint64) bool) {
	for _, tok := range t.tokens {
		word := t.runes[tok.start:tok.end]
		switch {
		case tok.kind == tokenWord && len(word) >= leastSubject && roleOf(hashWord(word)) == 0:
			if !yield(hashWord(word[:min(len(word), maxSubject)])) {
				return
			}
		case tok.kind == tokenHan:
			for i := range len(word) - 1 {
				pair := word[i : i+2]
				if roleOf(hashWord(pair[:1])) == 0 && roleOf(hashWord(pair[1:])) == 0 && roleOf(hashWord(pair)) == 0 && !yield(hashWord(pair)) {
					return
				}
			}
		}
	}
}

// topic returns the verdict on the topic of a conversation, whose shares are then in
// sc.topic, and the user's message that it comes from; "" without such a message.
// Each message is weighed against those before it, like the latest one, and the
// assistant's last text is heeded. Courtesies do not count. It overwrites sc.
func (m *Model) topic(sc *scratch, conversation []payload.Turn, allowed []bool, by *embedding) (verdict, string) {
	var topic verdict
	from := ""
	for i := lookBack(conversation); i < len(conversation); i++ {
		said := conversation[i].Text
		if conversation[i].Role != payload.RoleUser {
			if i == len(conversation)-1 && from != "" && !topic.other() {
				answer := m.lookAt(sc, allowed, by, said)
				sc.alone = divide(sc.alone, &answer, sc.scores, allowed)
				sc.topic.heed(sc.alone)
				topic.first = sc.topic.likeliest()
				topic.pFirst = topic.pIn * sc.topic[topic.first]
			}
			continue
		}
		sc.text.reset(said)
		c, asked := cuesOf(&sc.text), asks(conversation[:i])
		if v, offer, ok := m.offered(sc, &c, said, 0, conversation[:i], allowed, by); ok && c.content == 0 {
			sc.topic = divide(sc.topic, &v, sc.scores, allowed)
			topic, from = v, offer
			continue
		}
		sc.text.reset(said)
		if c.closes(i > 0 && asked) || c.content == 0 && from != "" {
			continue
		}
		bound := c.ties(sc, said, conversation[:i])
		alone := m.requestBefore(sc, said, allowed, by)
		if c.content == 0 {
			alone.doubt()
		}
		if from == "" {
			sc.topic = divide(sc.topic, &alone, sc.scores, allowed)
			topic, from = alone, said
			continue
		}
		pFollowUp := c.followUpProbability(alone.pFirst, shareOf(sc.scores, &alone, &topic), bound)
		sc.alone = divide(sc.alone, &alone, sc.scores, allowed)
		var followed bool
		if topic, followed = follow(pFollowUp, alone, topic, sc.alone, sc.topic); !followed {
			from = said
		}
	}
	return topic, from
}

// lookBack returns the index at which the last maxLookBack user messages of a
// conversation begin.
func lookBack(conversation []payload.Turn) int {
	looked := 0
	for i, turn := range slices.Backward(conversation) {
		if turn.Role == payload.RoleUser {
			if looked++; looked == maxLookBack {
				return i
			}
		}
	}
	return 0
}

// asks reports whether the assistant's last words were, or may have been, a
// question: unknown words may have been one.
func asks(conversation []payload.Turn) bool {
	if len(conversation) == 0 {
		return false
	}
	last := conversation[len(conversation)-1]
	return last.Role != payload.RoleAssistant || asksIn(last.Text)
}

// asksIn reports whether a text ends with a question.
func asksIn(text string) bool {
	said := strings.TrimRight(text, " \n\t\"”»」)*_")
	return strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？") || strings.HasSuffix(said, "؟")
}
