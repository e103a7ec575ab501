package local

import (
	"slices"

	"intenthint/classify"
	"intenthint/conversation"
)

// Texts returns the texts whose vectors ClassifyVectors needs for a message:
// the message; its own words (see [ownWords]), if they are less; and the user's
// earlier message, if the message may depend on it. Of a message that holds a paste
// these are the asks beside it.
func (e *Embedded) Texts(in classify.Input) []string {
	m := e.words
	if texts := textsBeside(in.Paste); texts != nil {
		return texts
	}
	text := textOf(in.Latest)
	if text == "" {
		return nil
	}
	texts := []string{text}
	if in.Whole {
		return texts
	}
	own, _ := ownWords(in.Latest)
	if own = textOf(own); own != "" {
		texts = append(texts, own)
	}
	if brings(in.Latest) {
		return texts
	}
	sc := m.pool.Get().(*scratch)
	sc.text.reset(in.Latest)
	c, asked := cuesOf(&sc.text), asks(in.Conversation)
	_, offers := offersFor(&c, in.Latest, 0, in.Before())
	for _, offer := range offers {
		if offer := textOf(offer.text); offer != "" && !slices.Contains(texts, offer) {
			texts = append(texts, offer)
		}
	}
	said := ""
	if !c.closes(asked) && c.followUpProbability(0, 1, closest) >= negligible {
		_, said = m.topic(sc, c.resumed(sc, in.Before()), m.allowed(in.Catalog), nil)
	}
	m.pool.Put(sc)
	if earlier := textOf(said); earlier != "" && !slices.Contains(texts, earlier) {
		texts = append(texts, earlier)
	}
	return texts
}

func textsBeside(p *conversation.Paste) []string {
	if p == nil {
		return nil
	}
	var texts []string
	for _, ask := range asksBeside(p) {
		if ask = textOf(ask); ask != "" && !slices.Contains(texts, ask) {
			texts = append(texts, ask)
		}
	}
	return texts
}

// by returns the embedding of a message in its conversation. Where only the message has
// a vector, the conversation is read by words.
func (e *Embedded) by(in classify.Input, vectors map[string][]float32) *embedding {
	by := &embedding{model: e, vectors: vectors}
	if len(in.Before()) > 0 && len(vectors) == 1 {
		texts := e.Texts(in)
		by.alone = len(texts) > 1 && vectors[texts[0]] != nil
	}
	return by
}

// NeedsConversation implements [classify.Vectored]: by its words the message answers or goes on with
// what was said before it, or says nothing of a subject.
func (e *Embedded) NeedsConversation(in classify.Input) bool {
	if len(in.Before()) == 0 {
		return false
	}
	sc := e.words.pool.Get().(*scratch)
	defer e.words.pool.Put(sc)
	if v := e.words.verdictOn(sc, &in, e.words.allowed(in.Catalog), nil); v.earlier != "" {
		return true
	}
	c := cuesOfText(in.Latest)
	return c.content == 0
}
