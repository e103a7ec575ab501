package local

import (
	"slices"
	"strings"
	"unicode"
)

// Function words of languages in Latin letters that the gate does not know.
// Words that also exist in English or German do not count.
var foreign = set(
	// Romance
	"que", "qué", "qui", "quoi", "est", "les", "une", "des", "pour", "avec", "dans", "sur", "pas", "je", "tu", "il", "elle", "nous", "vous", "c'est", "ça", "mais", "où", "quand", "comment", "pourquoi", "el", "los", "las", "una", "por", "para", "con", "como", "cómo", "pero", "está", "yo", "muy", "más", "donde", "dónde", "cuando", "cuándo", "hoy", "mañana", "gracias", "hola", "sí", "che", "non", "di", "della", "sono", "è", "perché", "dove", "quando", "come", "grazie", "ciao", "domani", "oggi", "anche", "não", "você", "obrigado", "obrigada", "amanhã", "hoje", "onde", "quem", "merci", "bonjour", "demain", "salut", "oui", "este", "sunt", "și", "pentru", "nu", "ce", "cum", "unde", "mâine",
	// Germanic
	"het", "een", "niet", "wel", "maar", "jij", "je", "wij", "zijn", "ook", "morgen", "vandaag", "waar", "hoe", "wie", "wat", "naar", "deze", "och", "är", "jag", "inte", "det", "på", "för", "som", "vad", "hur", "när", "ikke", "jeg", "og", "hvor", "hva", "hvad", "ikveld", "imorgen", "tack", "takk", "tak", "du", "i", "en",
	// Slavic, Baltic, Finnish, Hungarian, Turkish, Vietnamese, Indonesian
	"jest", "nie", "się", "czy", "jak", "gdzie", "kiedy", "dzięki", "jutro", "dziś", "że", "na", "je", "není", "kde", "kdy", "dnes", "zítra", "děkuji", "što", "gdje", "kada", "ja", "on", "minä", "ei", "missä", "milloin", "kiitos", "huomenna", "hogy", "nem", "van", "mikor", "hol", "köszönöm", "holnap", "bu", "ne", "nerede", "zaman", "bir", "için", "değil", "yarın", "teşekkürler", "không", "là", "có", "bao", "nhiêu", "apa", "yang", "tidak", "ini", "itu", "ada", "untuk", "dan", "kapan", "besok", "terima", "kasih",
)

// Words that are frequent in English and German chats.
var native = set(strings.Fields(`
a able about after afternoon again ago all almost alone already also always am an and annoying another any anybody anyone anything anyway apparently are around as ask at away awesome awful back bad be because been before behind being best better between big birthday bit book both bring broken brilliant brought busy but buy by bye call came can cant can't car care case cat catch change cheap check city clean close cold come coming cool could cute dad damn day days deal dead definitely did didn't didnt different dinner do does doesn't doesnt dog doing done don't dont door down drink drive during each early easy eat either else email end enough even evening ever every everybody everyone everything exactly exciting excellent fair far fast favourite feel few fine finally find fire first fix fixed food for forever forgot free friday friend friends from front full fun funny game gave get getting girl give glad go god goes going gone gonna good goodbye gorgeous got great guess guy guys had half happy hard has hate have haven't having he head hear hello help her here hers hey hi him his home honestly hope hopefully hot hour hours house how huge i idea i'd if i'll im i'm important impressive in insane inside instead interesting into is isn't isnt it its it's i've job joke joking just keep kid kids kind knew know last late later least leave leaving left legend less let let's lets life like little lmao lol long look looking looks lost lot lots loud love lovely luck lucky lunch mad made make making man many matter may maybe me mean meant meet meeting meh might mine minute minutes miss missed mom monday money month more morning most move much mum must my name need never new next nice night no nobody none nope normal not nothing now obviously of off office often oh ok okay old on once one only open or other our ours out over own party pay people perfect person phone photo pick pictures pizza place plan play please pm point poor possible pretty price probably problem put question quick quite rain ready real really remember reminder right road room rude running sad safe said same saturday saw say saying says school second see seems seen send sent seriously she shit shop short should show sick side sign since sister sit sleep slow small smart so some somebody someone something sometimes somewhere soon sorry sounds speak start started stay still stop store story strange stuff stupid such sunday super sure sweet take taken takes taking talk tea tell terrible than thank thanks that that's thats the their them then there these they thing things think this those though thought through thursday tickets till time tired to today together told tomorrow tonight too took totally town train tried true try trying tuesday turn two typical ugh under understand unfortunately until up us use used usually very video visit wait waiting walk wanna want wanted wants warm was wasn't watch water way we wear wednesday week weekend weird welcome well went were what what's whatever when where which while who whole whose why wife will win wish with without wonderful won't wont word work worked working works world worry worse worst worth would wow write wrong yay yeah year years yep yes yesterday yet you your you're youre yours yup
ab abend abends aber ach alle allem allen aller alles als also alt alte am an andere anderen angst anfang angerufen arbeit arme arzt auch auf aus auto bad bahn bald bei beide beim besser beste besten bestimmt bin bis bisschen bist bitte bleib bleiben braucht brauchst brauchen bringe bringen brot bruder bus da dabei dafür dagegen daheim dahin damit danach danke dann daran darauf das dass davon davor dazu dein deine dem den denke denn der des deshalb dich die dienstag dieser diese dieses dir direkt doch donnerstag doof dort draußen drauf drei dran du durch echt egal ehrlich eh eigentlich ein eine einem einen einer eines einfach einkaufen einmal eltern end ende endlich er erst erste ersten es essen etwas euch euer fahren fahre fährt falls falsch fast fehlt feiern fenster fertig finde finden foto fotos frag frage fragen frau freitag freu freue freund freunde froh früh früher für fuß gab ganz ganze gar garten geburtstag gefällt gefunden gegen geh gehe gehen geht geil gekommen geld genau genug gerade gern gerne geschafft geschenk gesehen gesund gestern gesagt gewesen gib gibt ging gleich glaub glaube glück glückwunsch gratuliere groß große grüße gut gute guten guter hab habe haben habt haha halb hallo halt hand hast hat hatte hatten haus hause heißt her herr herzlichen heute heut hier hin hinten hoffe hoffentlich hol hole holen hört hund hunger ich ihm ihn ihnen ihr ihre ihren im immer in innen irgendwie irgendwann ist ja jahr jahre jeder jedes jemand jetzt kaffee kalt kam kann kannst kaputt karte kein keine keinen keiner kinder kind klappt klar klasse klein kleine komisch komm komme kommen kommst kommt komplett könnt könnte können kopf krank krass kriege kriegt kuchen küche kurz lach lange langsam lass lasst laut leben lecker leid leider letzte letzten leute lieb liebe lieber lieben liegt links los lust mach mache machen machst macht mag mal mama man manchmal mann mega mehr mein meine meinem meinen meiner meinst meisten mich mir mit mittag mittags mittwoch möchte montag morgen morgens müde muss musst müssen müsst mutter nach nachher nächste nächsten nacht name natürlich ne neben nee nehmen nehme nein nervt nett neu neue neuen nicht nichts nie niemand nimm noch nochmal normal nur ob oben oder oft ohje ohne oma opa ordnung ostern paar papa passiert passt perfekt pizza platz prima problem recht rechts regen regnet reicht richtig rein ruf ruhig rund sag sage sagen sagt samstag satz schade schaff schaffe schafft schatz schau schauen schaut schick schicken schlafen schlecht schlimm schmeckt schnell schon schön schöne schönen schöner schreib schreiben schuld schule schwer schwester sehe sehen sehr sein seine seinem seinen seit seite sicher sie sieht sind so sofort sogar soll sollen sollte sonne sonntag sonst später spaß spiel spielen spinnt stark stehe steht stimmt strasse straße stress stück stunde stunden suche süß super tag tage tapfer tasche tat telefon termin teuer tisch toll top tot traurig treffen trinken trotzdem tschüss tun tür tut typisch über überall überhaupt übrigens uhr um und ungefähr uns unser unsere unten unter urlaub vater vergessen viel viele vielen vielleicht vier voll vom von vor vorbei vorne vorsicht wach wahnsinn wahr wann war waren warte warten warum was wäre wasser weg wegen weil weiß weit weiter welche wem wen wenig wenigstens wenn wer werde werden wetter wichtig wie wieder wieso will willst wir wird wirklich wissen wo woche wochen wochenende woher wohin wohl wohnung wollen wollt wollte woran wurde würde wünsche zeit zeigen zimmer zu zug zuhause zum zur zurück zusammen zwei zwischen
`)...)

func set(list ...string) map[string]bool {
	s := make(map[string]bool, len(list))
	for _, w := range list {
		s[w] = true
	}
	return s
}

// A text of at most shortWords words, none of them foreign, is assumed to be in
// the language of the messages before it, if these have at least beforeWords
// words.
const (
	shortWords  = 6
	beforeWords = 3
)

// familiar reports whether a text is in a language that the gate was trained
// on: Chinese, Japanese, English, German, or no language at all (an emoji, a
// number). In Latin text it must know at least half of the words, from the
// examples, as function words or as names of people, and function words of
// other languages must not outnumber those of English and German. In a short
// text it may know no words if the messages before it were familiar.
func (g *Gate) familiar(m *message, names []string, recent []Earlier) bool {
	if m.other*10 > m.latin+m.han+m.kana+m.other {
		return false
	}
	if m.han+m.kana > 0 {
		return true
	}
	t := g.tally(m, names)
	if t.known*2 >= t.all && (t.foreign == 0 || t.foreign <= t.native) {
		return true
	}
	if t.foreign > 0 || t.all > shortWords {
		return false
	}
	var sum tally
	for _, e := range recent {
		before := read(e.Text, maxEarlier)
		b := g.tally(&before, names)
		sum.all += b.all
		sum.known += b.known
		sum.native += b.native
		sum.foreign += b.foreign
	}
	return sum.all >= beforeWords && sum.known*2 >= sum.all && sum.foreign <= sum.native
}

// tally counts the words of a text: words of letters, and of these the known,
// the frequent English or German, and the foreign ones.
type tally struct{ all, known, native, foreign int }

func (g *Gate) tally(m *message, names []string) tally {
	var t tally
	for _, w := range m.words {
		if !lettered(w) {
			continue
		}
		t.all++
		if native[w] {
			t.native++
		} else if foreign[w] || strings.IndexFunc(w, isStrange) >= 0 {
			t.foreign++
		}
		if native[w] || g.known[hash(blockWords, w)] || slices.Contains(names, w) {
			t.known++
		}
	}
	return t
}

// isStrange reports whether a letter does not occur in English or German words.
func isStrange(r rune) bool {
	return r >= 0x80 && unicode.IsLetter(r) && !strings.ContainsRune("äöüßéèêàâçïñô", r)
}

// lettered reports whether a word consists of letters only; 20m and x2 belong
// to no language.
func lettered(w string) bool {
	for _, r := range w {
		if !unicode.IsLetter(r) && r != '\'' {
			return false
		}
	}
	return true
}
