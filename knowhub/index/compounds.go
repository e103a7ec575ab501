package index

import (
	"slices"
	"strings"

	"intenthint/knowhub/index/terms"
)

const (
	// leastPart is the length of the shortest part of a compound, in bytes. Shorter ones
	// are a part of too many words by chance.
	leastPart = 4
	// compoundWeight is the weight of a compound for the word that is a part of it, and
	// of a part for its compound.
	compoundWeight = 0.4
	// maxCompounds bounds the terms that begin or end like a word and are looked at.
	maxCompounds = 200
)

// links are what German puts between the parts of a compound.
var links = []string{"", "s", "n", "en", "es", "er", "e"}

// endings are those of German nouns, which the stemmer, an English one, leaves on some
// forms of a word and not on others.
var endings = []string{"en", "er", "e", "n", "s"}

// concepts are common parts of compounds, known whether or not an experience has them.
var concepts = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`
		abfall abrechnung amt anlage anmeldung antrag arbeit arzt auftrag ausgabe auto bad bahn balkon bank bau beitrag bericht bestellung
		betrieb bett bild boden brief buch bus computer dach daten datei dienst druck drucker einkauf eltern ende erinnerung fahrrad familie
		farbe fehler fenster feuer firma flug frist garten gebuhr gehalt geld geschaft gesprach glas gruppe handy haus heizung herd
		hilfe holz hotel hund jahr kabel kaffee kalender karte kasse katze keller kette kinder klasse kosten kranken kuche kunden kurs lager
		land leben lehrer leitung licht liefer lieferung liste loch luft maschine miete mittel monat motor musik nacht name netz nummer ordnung
		ort paket papier passwort pflanze pflege plan platz post preis probe problem produkt programm projekt prozess pumpe punkt rabatt rad
		raum recht rechner rechnung regel reise reinigung schaden schein schlag schloss schlussel schrank schule schutz seite server sicherung
		software speicher spiel spiegel sprache stadt stelle steuer stoff strasse strom stuhl stunde system tag tarif tasche technik teil tur
		telefon termin test tisch transport treiber uhr umgebung umzug unfall urlaub verband verbindung verein verkehr versand versicherung
		vertrag verwaltung wagen wand waren wasch wasser wechsel werk wetter woche wohnung zahl zahlung zahler zeit zettel zimmer zug`) {
		m[w], m[strings.TrimSuffix(w, "e")] = true, true // Miete, Mietvertrag
	}
	return m
}()

// compounds lets words find the compounds that they are a part of, and compounds find
// their parts: "Rechnung" and "Rechnungsversand". It returns the words with the parts.
func (l *lookup) compounds(words []terms.Word) []terms.Word {
	for i, n := 0, len(words); i < n; i++ {
		name := words[i].Terms[0].Text
		if !words[i].Subject() || !compoundable(name) {
			continue
		}
		for _, c := range l.with(name) {
			l.known[c] = l.terms[c]
			words[i].Terms = append(words[i].Terms, terms.Term{Text: c, Weight: compoundWeight})
		}
		_, known := l.terms[name]
		for _, part := range l.split(name) {
			if t := l.terms[part]; t != nil {
				l.known[part] = t
				words = append(words, terms.Word{Weight: compoundWeight, Extra: known, Terms: []terms.Term{{Text: part, Weight: 1}}})
			}
		}
	}
	return words
}

// compoundable reports whether a term may be a compound, or a part of one: a word in
// Latin letters.
func compoundable(name string) bool {
	return len(name) >= leastPart && strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// with returns compounds that begin or end with a name, the most common first.
func (l *lookup) with(name string) (found []string) {
	for _, form := range forms(name) {
		for _, c := range l.words.beginning(form, maxCompounds) {
			if compoundable(c) && l.isWord(c[len(form):], true) {
				found = append(found, c)
			}
		}
		for _, c := range l.endings.beginning(reversed(form), maxCompounds) {
			if c = reversed(c); l.isWord(c[:len(c)-len(form)], false) {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(l.terms[b].postings) - len(l.terms[a].postings) })
	found = slices.DeleteFunc(found, func(c string) bool { return c == name })
	return slices.Compact(found[:min(maxSimilar, len(found))])
}

// split returns the parts of a compound, in all forms that are terms; none if it is no
// compound. Of several ways to cut it the most even one is taken.
func (l *lookup) split(name string) []string {
	best := 0
	for i := leastPart; i <= len(name)-leastPart; i++ {
		if l.isWord(name[:i], false) && l.isWord(name[i:], false) && (best == 0 || shorter(i, name) > shorter(best, name)) {
			best = i
		}
	}
	if best == 0 {
		return nil
	}
	var parts []string
	for _, link := range links {
		parts = append(parts, strings.TrimSuffix(name[:best], link))
	}
	parts = append(parts, forms(name[best:])...)
	slices.Sort(parts)
	return slices.Compact(parts)
}

func shorter(i int, name string) int { return min(i, len(name)-i) }

// isWord reports whether a part of a compound is a word, with what may link it to the
// next part: behind it, or with before set in front of it.
func (l *lookup) isWord(part string, before bool) bool {
	for _, link := range links {
		rest, ok := strings.CutSuffix(part, link)
		if before {
			rest, ok = strings.CutPrefix(part, link)
		}
		if !ok {
			continue
		}
		for _, form := range forms(rest) {
			if concepts[form] || len(form) >= leastPart && l.terms[form] != nil {
				return true
			}
		}
		for i := 3; i <= len(rest)-3; i++ { // Schulbus|verbindung
			if concepts[rest[:i]] && concepts[rest[i:]] {
				return true
			}
		}
	}
	return false
}

// forms returns a word as it is, and without its ending.
func forms(name string) []string {
	for _, e := range endings {
		if short, ok := strings.CutSuffix(name, e); ok && len(short) >= leastPart {
			return []string{name, short}
		}
	}
	return []string{name}
}

// reversed returns the letters of a compoundable name from its end on.
func reversed(name string) string {
	b := []byte(name)
	slices.Reverse(b)
	return string(b)
}
