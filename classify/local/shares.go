package local

import "math"

// shares are the probabilities of the intents by position, given that one fits.
type shares []float64

// divide returns the shares of a verdict, given the scores that it is based on, in
// the room of out. They are all zero for a text that says nothing of its intent.
func divide(out shares, v *verdict, scores []float32, allowed []bool) shares {
	out = append(out[:0], make(shares, len(scores)-1)...) // the last score is the fallback's
	if v.first < 0 || v.pIn == 0 || v.unread {
		return out
	}
	total := 0.0
	for c := range out {
		if c != v.first && (allowed == nil || c < len(allowed) && allowed[c]) {
			out[c] = math.Exp(runnerUpSharpness * float64(scores[c]-scores[v.first]))
			total += out[c]
		}
	}
	first := v.pFirst / v.pIn
	if total > 0 {
		out.scale((1 - first) / total)
	}
	out[v.first] = first
	return out
}

func (s shares) scale(by float64) {
	for c := range s {
		s[c] *= by
	}
}

func (s shares) likeliest() int {
	best := 0
	for c, p := range s {
		if p > s[best] {
			best = c
		}
	}
	return best
}

// heed adds the evidence of another text on the same subject. It counts half: such a
// text says less of its intent than one that stands alone (decision 16).
func (s shares) heed(text shares) {
	before, after := 0.0, 0.0
	for c, p := range s {
		before += p
		after += p * math.Sqrt(text[c])
	}
	if after == 0 {
		return // it says nothing of the intents in question
	}
	for c := range s {
		s[c] *= math.Sqrt(text[c]) * before / after
	}
}

// follow weighs the verdict on the earlier message against that on the message
// alone, given the probability that the latter leans on the former, and reports
// whether the earlier message decides. The odds of the fallback stay those of the
// verdict that decides; what it loses in probability goes to other intents. own are
// the shares of the message alone; topic, those of the earlier message, becomes those
// of the result.
func follow(pFollowUp float64, alone, before verdict, own, topic shares) (verdict, bool) {
	v, p, followed := alone, 1-pFollowUp, false
	if before.other() {
		if v.pFirst *= p; before.first == v.first {
			v.pFirst += (1 - p) * before.pFirst
		}
		if v.pIn = 1 - p*(1-alone.pIn); alone.other() {
			v.pIn = p*alone.pIn + (1-p)*before.pIn
		}
		copy(topic, own)
		return v, false
	}
	topic.heed(own)
	first := topic.likeliest()
	if followed = pFollowUp*before.pIn*topic[first] > p*alone.confidence(); followed {
		v, p = before, pFollowUp
		v.first = first
	}
	v.pIn = 1 - p*(1-v.pIn)
	total := 0.0
	for c := range topic {
		topic[c] = pFollowUp*before.pIn*topic[c] + (1-pFollowUp)*alone.pIn*own[c]
		total += topic[c]
	}
	v.pFirst = topic[v.first]
	if total > 0 {
		topic.scale(1 / total)
	}
	return v, followed
}

// shareOf returns how likely it is, by its scores, that a message by itself has
// the intent of an earlier one.
func shareOf(scores []float32, alone, before *verdict) float64 {
	if alone.first < 0 || before.first < 0 {
		return 0
	}
	return alone.pIn * math.Min(1, math.Exp(float64(scores[before.first]-scores[alone.first])))
}
