//nolint:misspell // the words are of many languages
package local

// Words that show how the parts of a message relate to each other, in the
// languages of [phrases]. Each language has its own lines.
var (
	// forbids begin a clause that says what not to do.
	forbids = wordingsOf(`
		dont, do not, no need to, no need for, theres no need to, you dont need to, you dont have to, instead of, rather than,
		i dont want a, i dont want an, i dont want any, i dont want you to, i dont need a, i dont need an, i dont need any, i dont need you to,
		statt, anstatt, anstelle, du musst nicht, du brauchst nicht, ich will kein, ich will keine, ich will keinen, ich brauche kein, ich brauche keine, ich brauche keinen,
		stell kein, stell keine, stelle keine, mach kein, mach keine, setz keine, schreib kein, schreib keine, schreib keinen, schick keine, erstell kein, erstell keine, spiel keine, such nicht, ubersetz nicht, ubersetze nicht, google nicht, fass nicht,
		no traduzcas, no lo traduzcas, no la traduzcas, no pongas, no busques, no lo busques, no escribas, no crees, no mandes, no envies, no lo envies, no resumas, no lo resumas, no abras, no borres, no corrijas, no lo corrijas, no respondas, no programes, no ejecutes, no reserves, no compres, no apagues, no enciendas,
		no hace falta, no es necesario, no necesito un, no necesito una, no necesito que, no quiero un, no quiero una, no quiero que, en vez de, en lugar de,
		pas besoin de, pas la peine de, au lieu de, plutot que de, necris pas, nenvoie pas, najoute pas, nouvre pas, nutilise pas, nallume pas, neteins pas, je ne veux pas de, je ne veux pas un, je ne veux pas une, je ne veux pas que tu, je nai pas besoin de, je nai pas besoin dun, je nai pas besoin dune,
		nao traduza, nao traduz, nao toque, nao crie, nao pesquise, nao procure, nao escreva, nao envie, nao mande, nao ponha, nao coloque, nao resuma, nao abra, nao apague, nao ligue, nao reserve, nao compre, nao precisa, nao e preciso, nao quero um, nao quero uma, nao quero que, em vez de, ao inves de,
		non serve, non ce bisogno di, non voglio un, non voglio una, non voglio che, invece di, al posto di,
		не надо, не нужно, вместо, мне не нужен, мне не нужна, мне не нужно,
		لا داعي, لا حاجة, ليس هناك داع, بدلا من, بدل ما, لا اريد, لا أريد,
		别, 不要, 不用, 不必, 不需要, 无需, 勿, 先别, 先不要, 你别, 你不用, 请别, 请不要, 请勿, 我不要, 我不需要, 我不想要`)
	// forbidsAfter end such a clause.
	forbidsAfter = wordingsOf(`
		しないで, しないでください, かないで, らないで, さないで, まないで, かけないで, つけないで, しなくていい, しなくていいから, しなくていいので, なくていいよ, なくていいから, なくて大丈夫, は不要, は不要です, はいらない, はいらないから, の代わりに,
		지 말고, 지 마, 지 마세요, 지 말아줘, 필요 없고, 필요 없어, 필요는 없고, 필요는 없어, 대신에,
		gerek yok, gerek yok ama, gerekmez, istemiyorum, yerine,
		ज़रूरत नहीं, जरूरत नहीं, ज़रूरत नहीं है, जरूरत नहीं है, के बजाय, की बजाय, ki zarurat nahi, ke bajay`)
	// denies deny that something is meant. They rule it out only if an alternative
	// is named.
	denies = wordingsOf(`
		not, no, nicht, kein, keine, keinen, keinem, keiner, pas, nao, non, не, 不是, ليس, ليست, لا, नहीं, nahi, nahin`)
	// deniesAfter are like denies, at the end of a clause.
	deniesAfter = wordingsOf(`じゃなくて, ではなく, ではなくて, じゃなく, 말고, 이 아니라, 가 아니라, değil`)
	// against begin the alternative to something denied, wherever that is.
	against = wordingsOf(`sondern, sino, 而是, بل, बल्कि, balki`)
	// softlyAgainst are like against, but only if the clause before begins with
	// the denial.
	softlyAgainst = wordingsOf(`but, but rather, rather, ma, ma bensi, bensi, mais, mais plutot, mas sim, а, 是, 我要的是, 要的是`)
	// politely end a denial that is an order, not a state: "no code please".
	politely = wordingsOf(`please, pls, bitte, por favor, per favore, sil te plait, пожалуйста, lütfen, من فضلك`)
	// determiner begin one of two contrasted things.
	determiner = wordingsOf(`
		the, my, a, an, our, das, die, den, der, ein, eine, einen, mein, meine, meinen, el, la, los, las, un, una, mi, mis,
		le, les, une, mon, ma, mes, o, os, um, uma, meu, minha, il, lo, uno, mio, mia`)
	// onlyThen begin what is wanted after a Turkish verb that forbids; nouns can
	// look like such verbs.
	onlyThen = wordingsOf(`sadece, sade, yalnızca, yalnız, onun yerine, bunun yerine`)
	// spares are words of clauses that only look like prohibitions: a state, a
	// courtesy, something not to be forgotten or not to be stopped, and "not
	// only".
	spares = wordingsOf(`
		only, just, merely, worry, panic, forget, know, knows, think, understand, get, have, see, mind, care, hesitate, remember, let, be, stop, wait, dont you, dont i, dont we, dont they, feel, believe, work, seem, exist, disturb, any more, anymore, problem, wonder, matter, idea, sure, single,
		nur, vergessen, vergiss, mehr, sicher, problem, sorge, sorgen, wissen, konnen, haben, gefunden, erreichbar, aufhoren, bloss,
		solo, solamente, olvides, olvidar, mas, preocupes, se, te preocupes, problema, dejes, pares,
		que, oublie, oublier, plus, seulement, marche, fonctionne, sais, peux, vois, comprends, trouve, arrive, probleme, arrete, tinquiete, inquiete, demarre, repond,
		so, somente, apenas, esqueca, esquecer, mais, preocupe, sei, pare,
		soltanto, dimenticare, dimenticarti, preoccuparti, piu, avere, essere, sapere, potere, smettere, funzionare,
		только, забудь, забудьте, забыть, больше, знать, очень, здесь, теперь, опять, волнуйся, переживай, беспокойся, прекращай, останавливай, просто так, мочь,
		sadece, sorun, emin, onemli, unutma, kotu, fena, iyi, guzel, hazir, mumkun, belli, artik, yalniz, çalışma, merak etme, durma,
		فقط, تنس, تنسى, تنسي, تقلق, توجد, تعمل, تظهر, تستجيب, تعرف, تستطيع, تفتح, تتوقف, بعد الان, بعد الآن,
		भूल, भूलना, भूलो, भूलिए, चिंता, सिर्फ, सिर्फ़, केवल, रोको, bhoolna, bhulna, chinta, sirf,
		别人, 别的, 别墅, 别名, 别忘, 忘, 不要紧, 客气, 担心, 再, 停, 只, 仅, 光, 好意思, 管, 急, 怕, 不是很, 不是说, 错, 着急, 不用谢, 知道,
		忘れ, だけ, のみ, もう, 心配, 止め, やめ, 잊지, 걱정, 뿐만, 뿐, 더 이상, 더이상, 이제, 멈추`)
	// statement begin clauses that say how something is.
	statement = wordingsOf(`
		i, im, ive, id, ill, it, its, that, thats, this, he, shes, she, hes, they, theyre, we, were, there, theres, because, since, as, the, my, your, everything, nothing, nobody, otherwise, or,
		ich, er, sie, es, das, der, die, wir, weil, denn, mein, meine, ist, sonst, wenn,
		yo, ya, el, la, los, las, es, esta, eso, esto, porque, mi, he, tengo, fue, si,
		je, jai, il, elle, on, nous, cest, ca, le, les, parce, car, mon, ma, sinon,
		eu, ja, o, a, os, as, isso, ele, ela, meu, minha, senao,
		io, ho, lo, questo, perche, mio, mia, gia, sono, se, altrimenti,
		я, он, она, оно, они, это, потому, мы, мой, моя, уже, у, иначе,
		ben, bu, o, cunku, zaten, benim, yoksa, انا, أنا, هو, هي, لأن, لأنه, لان, هذا, هناك, وإلا,
		मैं, मैंने, वह, यह, क्योंकि, मेरा, मेरी, मुझे, वरना,
		我, 他, 她, 它, 因为, 已经, 不然, 否则, もう, 私, 僕, 俺, だって, 나는, 난, 저는, 이미, 왜냐하면`)
	// want begin a clause that nevertheless says what is wanted.
	want = wordingsOf(`
		i want, i need, i would like, id like, id rather, i just want, i just need, i only want, i only need, im asking, im looking for, i meant, i mean,
		ich will, ich mochte, ich brauche, ich hatte gern, ich meine, das gleiche, yo quiero, la quiero, lo quiero, je veux, je voudrais, jai besoin, jaimerais, eu quero, eu preciso, io voglio, ho bisogno,
		я хочу, мне нужно, मुझे चाहिए, أنا أريد, 我要, 我想, 我只, 我需要, 我该, 我应该`)
	// condition begin clauses that say when something is wanted.
	condition = wordingsOf(`
		if, when, whenever, once, unless, as soon as, wenn, falls, sobald, si, cuando, quand, lorsque, des que, se, quando, если, когда, eger, إذا, اذا, لو, عندما,
		अगर, यदि, जब, 如果, 要是, 的话, もし, 만약`)
	// passesOn begin clauses that say what to tell or to ask somebody else.
	passesOn = wordingsOf(`
		tell him, tell her, tell them, ask him, ask her, ask them, let him know, let her know, let them know, sag ihm, sag ihr, sag ihnen, frag ihn, frag sie,
		dile, diles, preguntale, preguntales, dis lui, dis leur, demande lui, demande leur, diz lhe, diz lhes, pergunta lhe, digli, dille, chiedigli, chiedile,
		скажи ему, скажи ей, скажи им, спроси его, спроси ее, ona söyle, ona sor, اخبره, أخبره, أخبرها, قل له, اسأله, उसे बताओ, उससे पूछो, 告诉他, 告诉她, 告诉他们, 问他, 问她, 说我, 说他, 彼に, 彼女に, 그에게, 그녀에게`)
	// letterWords begin the first and the last paragraph of a letter.
	letterWords = wordingsOf(`
		dear, to whom it may concern, regards, kind regards, best regards, warm regards, best wishes, yours, sincerely, sehr geehrte, sehr geehrter, liebe grusse, lieber, liebe, mit freundlichen grussen, freundliche grusse, viele grusse,
		estimado, estimada, estimados, querido, querida, atentamente, saludos, un saludo, cher, chere, madame, monsieur, cordialement, bien cordialement, veuillez agreer, prezado, prezada, caro, cara, atenciosamente, gentile, egregio, cordiali saluti,
		уважаемый, уважаемая, уважаемые, с уважением, sayin, saygilarimla, عزيزي, عزيزتي, مع التحية, प्रिय, सादर, 尊敬的, 此致, 拝啓, 敬具, 前略`)
	// verbLast are words of statement with which requests begin too, in languages
	// whose verbs stand last.
	verbLast = wordingsOf(`bu, bunu, मुझे, 나는, 난, 저는, 私, 僕`)
	// textWork are words that ask for work on a text.
	textWork = wordingsOf(`
		translate, translation, summarize, summarise, summary, sum up, tldr, tl dr, condense, proofread, spelling, grammar, typos, spellcheck, rephrase, paraphrase, reply to, review,
		ubersetze, ubersetz, ubersetzen, ubersetzung, zusammen, zusammenfassen, zusammenfassung, korrigiere, korrigieren, rechtschreibung, tippfehler,
		traduce, traduceme, traduzca, traducir, resume, resumeme, resumir, resumen, corrige, ortografia,
		traduis, traduisez, traduire, resumez, fautes, orthographe, corrigez,
		traduza, traduz, traduzir, resuma, resumo, corrija, corrige, traduci, traducimi, tradurre, riassumi, riassumimi, riassunto, correggi,
		переведи, переведите, перевести, перевод, перескажи, суммируй, резюмируй, исправь, çevir, çevirir misin, tercüme, özetle, özetler misin, özet, düzelt, yazım,
		ترجم, ترجمة, ترجمي, لخص, تلخيص, صحح, अनुवाद, सारांश, सुधारो, anuvad,
		翻译, 翻成, 译成, 总结, 摘要, 概括, 归纳, 错字, 错别字, 校对, 翻訳, 訳して, 要約, 誤字, 校正, 添削, 번역, 요약, 교정, 맞춤법`)
	// pointsBelow point to a text that comes after them.
	pointsBelow = wordingsOf(`
		the following, the text below, the mail below, the email below, the message below, the article below, the paragraph below, text below,
		das folgende, folgenden text, folgende mail, folgende nachricht, den text unten,
		lo siguiente, siguiente texto, texto siguiente, siguiente correo, siguiente mensaje, texto de abajo,
		texte suivant, message suivant, le mail suivant, ce qui suit, texte ci dessous, o seguinte, seguinte texto, texto seguinte, texto abaixo, mensagem abaixo,
		testo seguente, seguente testo, testo qui sotto, quanto segue, следующий текст, следующее письмо, текст ниже,
		aşağıdaki metni, aşağıdaki yazıyı, aşağıdaki mesajı, النص التالي, الرسالة التالية, النص أدناه, नीचे दिए गए, नीचे लिखे, निम्नलिखित,
		以下内容, 以下文字, 以下这段, 以下文章, 以下邮件, 下面这段, 下面的内容, 下面的文字, 下面这篇, 下面这封, 下列文字,
		以下の文, 以下の内容, 以下のメール, 次の文, 次のメール, 下の文, 다음 글, 다음 문장, 다음 내용, 아래 글, 아래 문장, 아래 내용, 아래 메일`)
	// pointsAbove point to a text that comes before them.
	pointsAbove = wordingsOf(`
		the above, text above, mail above, email above, message above, das obige, obigen text, den text oben, lo anterior, texto anterior, texto de arriba,
		ci dessus, ce qui precede, texto acima, acima, testo sopra, qui sopra, текст выше, выше, yukarıdaki, أعلاه, النص السابق, ऊपर दिए गए, ऊपर लिखे,
		上面这段, 上面的内容, 上面的文字, 上面这封, 以上内容, 以上文字, 上述, 上の文, 上のメール, 上記, 위 글, 위 문장, 위 내용, 위의 글, 위의 내용`)
	// courtesy may precede anything.
	courtesy = wordingsOf(`
		please, pls, ok, okay, and, but, hey, hi, bitte, und, aber, hallo, por favor, y, pero, hola, sil te plait, sil vous plait, stp, et, bonjour, oi, per favore, пожалуйста, и, но, lütfen, ve, ama, من فضلك, و, لكن, कृपया, और, लेकिन, 请, 麻烦, すみません, 좀`)
	// splitBefore and splitAfter are words at which a clause ends without
	// punctuation.
	splitBefore = []string{" but ", " aber ", " sondern ", " pero ", " sino ", " но ", " بل ", " لكن ", " बल्कि ", " लेकिन ", "而是"}
	splitAfter  = []string{"말고 ", "ないで", "じゃなくて", "ではなくて", "ではなく", "なくていいから", "なくていいので", "なくて大丈夫", "이 아니라 ", "가 아니라 "}

	// marks holds, by hash, words of the lists above of which every phrase in them
	// contains at least one; for scripts without spaces, one or two characters.
	marks = func() map[uint64]mark {
		out := make(map[uint64]mark)
		for h := range wordSet(`
			dont not no instead rather nicht kein keine keinen keinem keiner statt anstatt anstelle vez lugar
			ne pas lieu plutot necris nenvoie najoute nouvre nutilise nallume neteins nao inves non invece posto не вместо
			değil yok gerekmez istemiyorum yerine sadece sade yalnızca yalnız ليس ليست لا بدلا بدل मत नहीं बजाय mat nahi nahin bajay
			말아 不要 不用 不必 不需 不想 不是 别 勿 无需 ない なく 代わ 말고 지마 니라 필요 대신`) {
			out[h] |= markNegates
		}
		for h := range wordSet(`
			following below above folgende folgenden obige obigen unten oben siguiente abajo anterior arriba suivant dessous suit dessus precede
			seguinte abaixo acima seguente sotto segue sopra следующий следующее ниже выше aşağıdaki yukarıdaki التالي التالية أدناه السابق أعلاه
			नीचे निम्नलिखित ऊपर 以下 下面 下列 上面 以上 上述 次の 下の 上の 上記 다음 아래 위글 위문 위내 위의`) {
			out[h] |= markPoints
		}
		return out
	}()
)
