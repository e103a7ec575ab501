//nolint:misspell // the words are of many languages
package local

// The words of offers and of answers to them, in the languages of [phrases] and in
// those of which the catalogue has some examples.
var (
	// offerWords are how an assistant offers to do something.
	offerWords = wordingsOf(`
		shall i, should i, can i, could i, may i, i can, i could, id, ill, i will, id be happy to, i would be happy to, im happy to, let me know if you want, let me know if youd like, let me know if i should, let me know whether,
		want me to, wants me to, like me to, would you like, do you want, would it help if i, happy to, just say the word, say the word and, if you like i, if you want i, need me to, shall we, how about i, or should i,
		soll ich, sollen wir, darf ich, kann ich, ich kann, ich konnte, ich wurde, mochtest du, mochten sie, willst du, wollen sie, sag bescheid, gern kann ich, gerne kann ich, soll das, ich hatte da, wenn du magst, wenn du mochtest, wenn sie mochten, wenn du willst,
		puedo, podria, quieres que, quiere que, te gustaria, le gustaria, desea que, quieres, me encargo, si quieres, si quiere, lo hago, prefieres,
		je peux, je pourrais, puis je, voulez vous, veux tu, souhaitez vous, souhaites tu, dois je, tu veux que, vous voulez que, si tu veux, si vous voulez, est ce que je, preferes tu, preferez vous,
		要不要, 需要我, 要我, 我可以, 我能, 我来, 我帮你, 我帮您, 可以帮你, 可以帮您, 你想让我, 您想让我, 是否需要, 想不想, 帮你, 帮您, 需不需要, 我就, 如果你愿意, 如果需要,
		ましょうか, ますか, しようか, できます, いたします, てもいい, お手伝い, しておきます, しておこうか, よろしければ, いかがですか, どちらに,
		posso, poderia, quer que, voce quer, queres que, gostaria, deseja que, se quiser, se quiseres, devo,
		potrei, vuoi che, vuole che, ti va se, desidera che, vuoi, se vuoi, se vuole, preferisci,
		могу, хотите, хочешь, мне, давайте я, давай я, могла бы, мог бы, стоит ли, если хотите, если хочешь, нужно ли,
		edeyim mi, yapayim mi, ister misin, ister misiniz, istersen, isterseniz, edebilirim, yapabilirim, ekleyeyim mi, gondereyim mi, mi istersin, edelim mi, yapalim mi,
		هل تريد, هل تود, هل ترغب, يمكنني, استطيع ان, أستطيع أن, تبغاني, تحب ان, تحب أن, هل اقوم, هل أقوم, اذا اردت, إذا أردت, هل,
		क्या मैं, मैं कर सकता, मैं कर सकती, सकता हूँ, सकती हूँ, चाहेंगे, चाहते हैं, क्या आप चाहते, अगर आप चाहें, kya main,
		할까요, 드릴까요, 해드릴까요, 원하시나요, 원하세요, 수 있어요, 수 있습니다, 줄까요, 줄까, 둘까요, 둘까, 보낼까요, 끌까요, 켤까요,
		zal ik, wil je dat ik, wilt u dat ik, ik kan, ik zou, kan ik, moet ik, als je wilt, mam, czy mam, moge, mógłbym, moglbym, mogę, chcesz zebym, chcesz żebym, jesli chcesz, jeśli chcesz,
		ska jag, vill du att jag, jag kan, skal jeg, vil du have at jeg, vil du at jeg, jeg kan, haluatko, voinko, voin, haluaisitko,
		mam to, mam ti, muzu, můžu, chces abych, chceš abych, mohu, sa, să, pot sa, pot să, vrei sa, vrei să, doriti sa, doriți să, tudok, szeretned, szeretnéd, beirjam, akarod hogy,
		να το, να σου, θελεις να, θέλεις να, μπορω να, μπορώ να, minh co the, mình có thể, toi co the, tôi có thể, ban co muon, bạn có muốn, nhe, nhé, mau saya, saya bisa, apakah anda ingin, perlu saya, bisa saya,
		ให้ผม, ให้ฉัน, ให้ช่วย, ต้องการให้, ไหม, האם, לה, אוכל ל, אני יכול, אני יכולה, רוצה ש, میخواهید, می خواهید, میتوانم, می توانم, آیا, کنم, додати, хочете, бажаєте, можу,
		szeretned ha, szeretne, segithetek, megcsinaljam, elkuldjem, kuldjem, keressek,
		θέλετε να, θα ήθελες, θα θέλατε,
		хочете щоб, хочеш щоб, зробити це, мені зробити,
		co can minh, de minh,
		mau aku, bolehkah saya, aku bisa, haruskah saya,
		อยากให้, เอาไหม, ไหมคะ, ไหมครับ,
		תרצה ש, תרצי ש, לעשות את זה, האם ל,
		میخوای, دوست داری, میتونم, انجامش بدم`)

	// answerWords are yes and no, and what is said in their place. A message of
	// these alone answers an offer, and so does what begins with them.
	answerWords = wordingsOf(`
		yes, yeah, yea, yep, yup, yess, ya, aye, mhm, mm hm, uh huh, sure, sure thing, sure why not, ok, okay, k, kk, okey dokey, alright, all right, alrighty, fine, fine by me, fine with me, works for me, sounds good, sounds great, sounds good to me, sounds like a plan, good idea, great idea, good call, good plan, perfect, great, lovely, cool, awesome, excellent, brilliant, deal, agreed, of course, obviously, definitely, absolutely, certainly, totally, indeed, correct, right, exactly, affirmative, by all means, be my guest, knock yourself out, go ahead, go for it, go on, go on then, go, do it, do so, do that, do, please, please do, pls, plz, yes please, if you could, if you would, if you dont mind, if you can, id like that, id love that, id appreciate that, would appreciate that, would appreciate it, it would, that would be great, that would be lovely, that would be nice, that would be good, that would help, that would be helpful, that works, that helps, why not, lets do it, lets do that, lets go, lets see it, lets see, lets, make it so, ship it, send it, proceed, you may, you may begin, you can, yes you can, carry on, continue, start, let it rip, hit it, roger, will do, thanks, thank you, thx, ta, cheers, actually, then, now, and, with that,
		no, nope, nah, naw, nay, no need, no thanks, no thank you, not now, not yet, not today, not really, not necessary, not needed, later, maybe later, perhaps later, some other time, another time, dont, please dont, do not, dont do that, dont do it, dont bother, leave it, leave it be, let it be, leave that, skip, skip it, skip that, pass, ill pass, hard pass, stop, hold off, hold off on that, hold on, wait, rather not, id rather not, better not, negative, cancel, forget it, never mind, nevermind, nvm, no worries, its fine, thats fine, its ok, thats ok, thats okay, im good, all good, were good, we are good, already done, already handled, already did,
		ja, jo, joa, jep, jup, jap, klar, na klar, klar doch, aber klar, sicher, aber sicher, gern, gerne, sehr gerne, ja gern, ja gerne, ja bitte, bitte, bitte ja, mach, mach mal, mach das, mach es, machs, mach ruhig, tu das, tu es, los, leg los, nur zu, unbedingt, auf jeden fall, auf jeden, natürlich, selbstverständlich, einverstanden, passt, passt so, geht klar, alles klar, in ordnung, super, perfekt, prima, toll, gut, gute idee, warum nicht, wär super, wäre super, wäre toll, wäre gut, wäre nett, wäre lieb, danke, danke dir, mal, doch, so, weiter, okay,
		nein, nee, ne, nö, nicht, noch nicht, nicht jetzt, jetzt nicht, später, lieber nicht, besser nicht, lass, lass mal, lass es, lass gut sein, lass das, lassen wir, brauchst du nicht, brauche ich nicht, brauch ich nicht, musst du nicht, nicht nötig, auf keinen fall, ein andermal, vielleicht später, stopp, halt, vergiss es, bloß nicht, nein danke, nee danke,
		sí, si, claro, claro que sí, por supuesto, desde luego, vale, venga, dale, va, ok, bueno, de acuerdo, perfecto, genial, estupendo, adelante, hazlo, sí hazlo, por favor, sí por favor, me parece bien, buena idea, como quieras, procede, seguro, obvio, ándale, órale, encantado, me encantaría, gracias, ya,
		no, no gracias, ahora no, todavía no, aún no, mejor no, luego, más tarde, después, déjalo, déjalo así, deja, no hace falta, no es necesario, para nada, otro día, olvídalo, ni hablar,
		oui, ouais, ouep, ouaip, si, bien sûr, évidemment, carrément, volontiers, avec plaisir, vas y, allez y, allez, go, fais le, faites le, fais ça, faites, ok, d'accord, dac, entendu, parfait, super, top, nickel, génial, ça marche, ça roule, ça me va, bonne idée, pourquoi pas, je veux bien, s'il te plaît, s'il vous plaît, stp, svp, oui merci, merci, absolument, tout à fait, c'est parti, lance toi, lance,
		non, nan, non merci, pas maintenant, pas encore, pas la peine, pas besoin, pas nécessaire, plus tard, laisse, laissez, laisse tomber, surtout pas, une autre fois, ça ira, c'est bon, oublie, plutôt non,
		是, 是的, 对, 对的, 好, 好的, 好啊, 好呀, 好哒, 好滴, 好吧, 好嘞, 行, 行啊, 行吧, 可以, 可以的, 可以啊, 可以呀, 当然, 当然可以, 没问题, 嗯, 嗯嗯, 恩, 要, 要的, 需要, 来吧, 做吧, 搞起, 搞, 弄吧, 麻烦你了, 麻烦了, 麻烦你, 拜托, 拜托了, 请, 请继续, 继续, 请便, 那就, 就这么办, 就这样, 同意, 没错, 确定, 开始吧, 去吧, 吧, 谢谢, 太好了, 关吧, 发吧, 加吧, 可,
		不, 不要, 不用, 不用了, 不必, 不必了, 不需要, 先不用, 先不要, 先别, 别, 算了, 免了, 不了, 等等, 等一下, 以后再说, 晚点再说, 改天, 暂时不用, 还不用, 没必要,
		はい, うん, うんうん, ええ, そう, そうして, そうしてください, お願い, お願いします, おねがい, おねがいします, 頼む, 頼みます, たのむ, よろしく, よろしくお願いします, よろしくです, ぜひ, 是非, もちろん, どうぞ, いいよ, いいですよ, いいね, いいですね, いいと思う, オッケー, おっけー, オーケー, 了解, 了解です, それで, それでいい, それでいいです, それでお願い, それでお願いします, やって, やってください, やっておいて, やっといて, しといて, 助かります, 助かる, ありがとう, ください, して, 大丈夫です, 大丈夫, じゃあ, 続けて, 入れて, 消して, 送って,
		いいえ, いや, いいや, 今はいい, まだいい, いらない, いりません, 要らない, 不要, 不要です, 結構, 結構です, やめて, やめておく, やめとく, やめてください, あとで, 後で, また今度, まだ, しなくていい, しなくていいです, 必要ない, 遠慮します, 遠慮しとく,
		sim, claro, claro que sim, com certeza, pode, pode ser, pode sim, pode fazer, por favor, sim por favor, faz, faz isso, faça, faça isso, isso, isso mesmo, beleza, bora, vamos, vai, manda, manda ver, manda bala, ok, tá, tá bom, está bem, combinado, perfeito, ótimo, boa ideia, boa, obrigado, obrigada, aceito, quero, quero sim, liga sim, fechado,
		não, nao, não obrigado, não obrigada, agora não, ainda não, depois, mais tarde, melhor não, deixa, deixa estar, deixa pra lá, não precisa, não é preciso, nem pensar, outro dia, esquece,
		sì, si, certo, certamente, come no, volentieri, va bene, vai, vai pure, vai avanti, procedi, fallo, fallo pure, fai, fai pure, dai, sì dai, ok, okay, perfetto, ottimo, benissimo, d'accordo, per favore, sì per favore, grazie, sì grazie, buona idea, perché no, mi sembra giusto, magari, ci sto, assolutamente,
		no, no grazie, non ora, non adesso, non ancora, dopo, più tardi, meglio di no, lascia, lascia stare, lascia perdere, lascialo, lasciala, non serve, non importa, non c'è bisogno, un'altra volta,
		да, ага, угу, конечно, разумеется, давай, давайте, ок, окей, хорошо, ладно, добро, пойдет, пойдёт, сделай, сделайте, сделай это, валяй, вперед, вперёд, пожалуйста, да пожалуйста, буду благодарен, буду благодарна, было бы здорово, было бы неплохо, отлично, супер, хорошая идея, не против, я за, почему нет, верно, точно, спасибо, добавь, отправь, выключи, включи,
		нет, неа, не надо, не нужно, не стоит, пока не надо, пока нет, не сейчас, потом, позже, попозже, лучше не надо, оставь, не трогай, не, отмена, обойдусь, в другой раз, нет спасибо, стоп,
		evet, tabii, tabi, tabii ki, elbette, olur, olsun, olabilir, tamam, tamamdır, peki, hadi, haydi, yap, yapabilirsin, lütfen, evet lütfen, güzel olur, iyi olur, süper olur, iyi fikir, aynen, kesinlikle, devam, devam et, sevinirim, neden olmasın, okey, tşk, teşekkürler,
		hayır, yok, olmaz, gerek yok, istemem, istemiyorum, şimdi değil, şimdilik kalsın, kalsın, sonra, daha sonra, boşver, boş ver, yapma, dursun, henüz değil, hayır teşekkürler,
		نعم, اي, أي, ايه, إيه, ايوه, أيوه, ايوا, اه, أجل, اجل, اكيد, أكيد, طبعا, طبعاً, بالطبع, بالتأكيد, تمام, حسنا, حسنًا, طيب, ماشي, اوكي, أوكي, موافق, موافقة, تفضل, يلا, من فضلك, لو سمحت, رجاء, ياريت, يا ريت, افعل, افعل ذلك, اعمل, فكرة جيدة, ممتاز, شكرا, ان شاء الله,
		لا, لأ, كلا, لا شكرا, لا داعي, ليس الآن, ليس الان, مو الحين, مش الآن, لاحقا, لاحقاً, بعدين, ما يحتاج, لا تفعل, خليها, خليه, انس الأمر, مرة ثانية,
		हाँ, हां, जी, जी हाँ, हाँ जी, ज़रूर, जरूर, बिल्कुल, बिलकुल, ठीक है, ठीक, अच्छा, सही है, चलेगा, करो, कर दो, कर दीजिए, हाँ करो, हाँ कर दो, डाल दो, लगा दो, भेज दो, बंद कर दो, कृपया, प्लीज़, धन्यवाद, क्यों नहीं, haan, han, haan ji, ji, ji haan, bilkul, zaroor, theek hai, thik hai, kar do, karo, haan kar do, chalega,
		नहीं, ना, मत करो, मत, अभी नहीं, बाद में, रहने दो, छोड़ो, ज़रूरत नहीं, जरूरत नहीं, कोई ज़रूरत नहीं, nahi, nahin, abhi nahi, baad mein, rehne do, mat karo, chhodo,
		네, 넵, 넹, 예, 응, 응응, 어, 엉, ㅇㅇ, ㅇㅋ, ㅇ, 그래, 그래요, 그럼, 그럼요, 물론, 물론이지, 물론이죠, 당연하지, 당연, 좋아, 좋아요, 좋지, 좋죠, 오케이, 콜, 해, 해줘, 해 줘, 해주세요, 해 주세요, 부탁해, 부탁해요, 부탁드려요, 부탁드립니다, 부탁, 그렇게 해, 그렇게 해줘, 그렇게 해주세요, 맞아, 맞아요, 고마워, 감사합니다, 진행해, 진행해줘, 진행해주세요, 알겠어,
		아니, 아니요, 아뇨, 아니오, 아니야, 싫어, 됐어, 됐어요, 괜찮아, 괜찮아요, 괜찮습니다, 필요 없어, 필요없어, 안 해도 돼, 안해도 돼, 하지 마, 하지마, 나중에, 나중에 할게, 지금은 말고, 지금 말고, 아직, 그만, 놔둬, ㄴㄴ`)

	// answerWordsOfMore are those of languages of which the catalogue has few examples.
	answerWordsOfMore = wordingsOf(`
		ja graag, graag, doe maar, ja doe maar, doe dat, doe dat maar, zeker, zeker weten, natuurlijk, prima, is goed, goed, goed idee, top, oké, oke, alsjeblieft, alstublieft, graag gedaan, dank je, bedankt, ga je gang, waarom niet, nee, nee dank je, nee bedankt, nee hoor, liever niet, niet nu, nog niet, straks, later, laat maar, hoeft niet, niet nodig, hoeft nog niet,
		tak, no, no jasne, jasne, pewnie, oczywiście, oczywiscie, dobrze, dobra, okej, proszę, prosze, tak proszę, tak prosze, poproszę, poprosze, zrób to, zrob to, rób, dawaj, śmiało, zgoda, niech będzie, świetnie, dzięki, dziekuje, dziękuję, chętnie, czemu nie, nie, nie dziękuję, nie dziekuje, nie trzeba, nie teraz, jeszcze nie, później, pozniej, może później, moze pozniej, lepiej nie, zostaw, daj spokój, niepotrzebne,
		ja tack, ja gärna, gärna, gärna det, gör det, ja gör det, absolut, visst, självklart, javisst, jajamän, okej, kör, kör på, bra, bra idé, det blir bra, tack, snälla, nej, nej tack, inte nu, inte än, senare, helst inte, låt bli, behövs inte, det behövs inte, skippa det,
		ja tak, jo tak, gerne, gør det, ja gør det, selvfølgelig, klart, fint, god idé, det må du gerne, tak, nej tak, ikke nu, ikke endnu, helst ikke, lad være, det behøves ikke, ja takk, gjerne, gjerne det, ja gjerne, gjør det, selvfølgelig, klart det, greit, den er grei, kjør på, takk, nei, nei takk, ikke nå, ikke ennå, helst ikke, la være, trengs ikke,
		kyllä, kyllä kiitos, joo, juu, jep, totta kai, tietysti, tietenkin, ilman muuta, selvä, hyvä, hyvä idea, sopii, tee se, tee niin, anna mennä, kiitos, ole hyvä, lisää, ei, ei kiitos, ei vielä, ei nyt, myöhemmin, älä, anna olla, ei tarvitse, ei tarvii,
		ano, jo, jasně, jasne, jistě, samozřejmě, určitě, dobře, dobrá, ok, prosím, ano prosím, udělej to, do toho, klidně, souhlasím, proč ne, díky, děkuji, ne, ne děkuji, ne díky, teď ne, ještě ne, později, raději ne, nech to, nech to být, není třeba, netřeba,
		da, da te rog, da vă rog, te rog, sigur, desigur, bineînțeles, bineinteles, normal, bine, în regulă, in regula, fă asta, fa asta, hai, dă i drumul, de acord, perfect, super, mulțumesc, multumesc, de ce nu, nu, nu mulțumesc, nu multumesc, nu acum, nu încă, inca nu, mai târziu, mai tarziu, lasă, lasa, las o baltă, nu e nevoie, nu trebuie,
		igen, igen kérem, persze, hogyne, naná, rendben, oké, jó, jó ötlet, jöhet, mehet, csináld, tedd meg, kérlek, kérem, legyen, köszönöm, köszi, nem, nem köszönöm, nem kell, most nem, még nem, később, inkább nem, hagyd, hagyjuk, ne,
		ναι, ναι παρακαλώ, βέβαια, βεβαίως, φυσικά, σίγουρα, εντάξει, οκ, καλά, ωραία, τέλεια, κάντο, κάν το, κάνε το, προχώρα, παρακαλώ, ευχαριστώ, αμέ, γιατί όχι, όχι, όχι ευχαριστώ, όχι τώρα, όχι ακόμα, αργότερα, άστο, άσ το, δεν χρειάζεται, καλύτερα όχι,
		vâng, vang, dạ, ừ, ừm, uh, ok, được, duoc, được đó, được chứ, có, co, đồng ý, làm đi, thêm đi, cứ làm đi, tốt, tốt quá, hay đấy, nhờ bạn, giúp mình, đúng rồi, cảm ơn, không, khong, không cần, khong can, thôi, để sau, chưa, chưa cần, lúc khác, khỏi,
		ya, iya, iya dong, boleh, boleh banget, tentu, tentu saja, pasti, silakan, oke, baik, baiklah, setuju, lanjut, lanjutkan, lakukan, tolong, tolong ya, tolong lakukan, ide bagus, mantap, sip, siap, terima kasih, makasih, tidak, nggak, enggak, gak, ga usah, tidak usah, nggak usah, gak usah, jangan, nanti, nanti saja, belum, tidak perlu, lain kali, biarkan saja,
		ใช่, ครับ, ค่ะ, คะ, ได้, ได้เลย, ได้ครับ, ได้ค่ะ, เอา, เอาเลย, เอาสิ, โอเค, ตกลง, ดี, ดีเลย, ดีครับ, ดีค่ะ, ทำเลย, จัดไป, จัดเลย, แน่นอน, ขอบคุณ, ช่วยด้วย, รบกวนด้วย, ไม่, ไม่ต้อง, ไม่เอา, ไม่เป็นไร, ยังไม่ต้อง, ไว้ก่อน, ทีหลัง, อย่า, ยัง,
		כן, כן בבקשה, בטח, ברור, בוודאי, בהחלט, כמובן, אוקיי, אוקי, בסדר, סבבה, יאללה, קדימה, תעשה, תעשי, תעשה את זה, בבקשה, מעולה, רעיון טוב, תודה, לא, לא תודה, לא עכשיו, עוד לא, אחר כך, מאוחר יותר, עזוב, עזבי, אין צורך, לא צריך,
		بله, آره, اره, حتما, حتماً, البته, باشه, اوکی, خوبه, خوب است, عالیه, انجام بده, بکن, لطفا, لطفاً, بله لطفا, موافقم, چرا که نه, مرسی, ممنون, نه, نه ممنون, نه مرسی, الان نه, فعلا نه, هنوز نه, بعدا, بعداً, لازم نیست, نمیخواد, نمی خواد, ولش کن, نکن,
		так, ага, звісно, звичайно, авжеж, певна річ, давай, давайте, добре, гаразд, ок, окей, зроби, зробіть, зроби це, будь ласка, так будь ласка, додай, чудово, дякую, чому ні, ні, ні дякую, не треба, не потрібно, не зараз, ще ні, поки ні, потім, пізніше, краще не треба, залиш, облиш,
		most ne, majd kesobb, kosz nem, nem kosz, igen kerem,
		ναι ευχαριστώ, άστο καλύτερα, μπα,
		краще ні, можна,
		de sau, thoi khoi, co nhe, duoc do, u lam di,
		tidak terima kasih, iya tolong, jangan dulu,
		עדיף שלא,
		آره لطفا, بهتره نه`)

	// thanksOnly are words of answers that also thank: alone they answer nothing.
	thanksOnly = wordingsOf(`thanks, thank you, thx, ta, cheers, danke, danke dir, gracias, merci, 谢谢, ありがとう, 助かる, 助かります, obrigado, obrigada, grazie, спасибо, tşk, teşekkürler, شكرا, धन्यवाद, 고마워, 감사합니다, dank je, bedankt, dzięki, dziekuje, dziękuję, tack, tak, takk, kiitos, díky, děkuji, mulțumesc, multumesc, köszönöm, köszi, ευχαριστώ, cảm ơn, terima kasih, makasih, ขอบคุณ, תודה, مرسی, ممنون, дякую`)

	// reactions are whole messages that react to what was said, and answer nothing.
	reactions = wordingsOf(`
		lol, lmao, lmfao, rofl, haha, hahaha, hahahaha, hehe, hehehe, heh, omg, omfg, wow, woah, whoa, aww, aw, oof, ouch, yikes, phew, nice, neat, interesting, wtf, xd, xdd, jaja, jajaja, jajaj, jeje, mdr, ptdr, ahah, ahaha, ahahah, kkk, kkkk, rsrs, ахах, ахаха, хаха, хахаха, ого, ничего себе, лол, 哈哈, 哈哈哈, 哈哈哈哈, 呵呵, 嘿嘿, 笑死, 哇, うける, ウケる, 笑, 草, わろた, へえ, へー, ㅋㅋ, ㅋㅋㅋ, ㅋㅋㅋㅋ, ㅎㅎ, ㅎㅎㅎ, 헐, 와, ههه, هههه, ههههه, واو, वाह, हाहा, krass, boah, na ja, tja, ups, oops, ula, vaya, oh la la, dis donc, caspita, accidenti, uau, nossa, vay, vay be, oha, wauw, rety, ojej, ожого, wkwk, wkwkwk, 555, 5555`)

	// offersNothing are words of a question that offers nothing in particular, or asks
	// for a detail in the words of an offer.
	offersNothing = wordingsOf(`いつ, どこ, だれ, 誰, 何時, 何日, 何を, 什么时候, 几点, 哪里, 谁, 언제, 몇 시, 어디, anything else, something else, what else, help you with, how can i help, how may i help, sonst noch, noch etwas, wie kann ich, algo más, alguna otra cosa, en qué puedo, autre chose, comment puis je, 还有什么, 还需要什么, 还有别的, 有什么可以, 其他需要, 他に何か, ほかに何か, mais alguma coisa, algo mais, qualcos'altro, altro, что нибудь еще, что нибудь ещё, чем могу, чем я могу, başka bir şey, شيء آخر, شي ثاني, कुछ और, 더 필요한, 다른 도움, nog iets, coś jeszcze, något annat, noget andet, noe annet, jotain muuta, něco dalšího, altceva, valami mást, κάτι άλλο, gì nữa không, ada lagi, משהו נוסף, چیز دیگری, щось ще`)

	// boths choose all of what is offered.
	boths = wordingsOf(`both, both of them, all of them, all of it, all three, everything, beide, beides, alles, alle drei, ambos, ambas, ambas cosas, los dos, las dos, todo, todas, les deux, tous les deux, toutes les deux, tout, tous, entrambi, entrambe, tutti e due, tutte e due, tutto, os dois, as duas, todos, tudo, оба, обе, и то и другое, все, всё, ikisi de, ikisini de, her ikisi, hepsi, كلاهما, الاثنين, كلها, दोनों, सब, dono, 都要, 都, 两个都, 全部, 両方, どっちも, どちらも, 全部, 둘다, 둘 다, 모두, 다, allebei, alle twee, oba, obie, obydwa, båda, bägge, begge, molemmat, obojí, oboje, ambele, amândouă, mindkettő, mindkettőt, και τα δύο, cả hai, keduanya, dua duanya, ทั้งสอง, ทั้งคู่, שניהם, שתיהן, هر دو, обидва, обидві`)

	// ordinals choose by place: from first to fourth.
	ordinals = [...]wordings{
		wordingsOf(`1, first, 1st, the former, former, option 1, option one, option a, number one, number 1, a,
			erste, ersten, erster, erstes, ersteres, das erste, nummer eins, primera, primero, lo primero, la primera, el primero, premier, premiere, le premier, la première, prima, primo, la prima, il primo, primeira, primeiro,
			первое, первый, первую, первая, первого, birinci, birincisi, birincisini, ilki, ilkini, الاول, الأول, الاولى, الأولى, पहला, पहली, पहले, pehla, pehli, 第一, 第一个, 前者, 一つ目, ひとつ目, 1番, 一番目, 最初, 첫번째, 첫 번째, 전자, 1번,
			eerste, de eerste, pierwszy, pierwsza, pierwsze, pierwszą, första, det första, første, den første, ensimmäinen, ensimmäisen, první, primul, primele, első, az elsőt, πρώτο, πρώτη, το πρώτο, đầu tiên, thứ nhất, pertama, yang pertama, อันแรก, ข้อแรก, הראשון, הראשונה, اولی, اول, перше, перший, першу`),
		wordingsOf(`2, second, 2nd, the latter, latter, option 2, option two, option b, number two, number 2, b,
			zweite, zweiten, zweiter, zweites, letzteres, das zweite, nummer zwei, segunda, segundo, lo segundo, la segunda, el segundo, deuxième, second, seconde, le deuxième, la deuxième, seconda, secondo, la seconda, il secondo,
			второе, второй, вторую, вторая, второго, ikinci, ikincisi, ikincisini, ikinciyi, الثاني, الثانية, दूसरा, दूसरी, दूसरे, doosra, dusra, doosri, 第二, 第二个, 后者, 二つ目, ふたつ目, 2番, 二番目, 後者, 두번째, 두 번째, 후자, 2번,
			tweede, de tweede, drugi, druga, drugie, drugą, andra, det andra, anden, den anden, andre, den andre, toinen, toisen, druhý, druhou, druhé, al doilea, a doua, második, a másodikat, δεύτερο, δεύτερη, το δεύτερο, thứ hai, cái thứ hai, kedua, yang kedua, อันที่สอง, ข้อสอง, השני, השנייה, دومی, دوم, друге, другий, другу`),
		wordingsOf(`3, third, 3rd, option 3, option three, option c, number three, number 3, c, dritte, dritten, drittes, das dritte, tercera, tercero, la tercera, el tercero, troisième, le troisième, la troisième, terza, terzo, la terza, il terzo, terceira, terceiro,
			третье, третий, третью, üçüncü, üçüncüsü, الثالث, الثالثة, तीसरा, तीसरी, teesra, 第三, 第三个, 三つ目, 3番, 세번째, 세 번째, 3번, derde, trzeci, trzecia, trzecie, tredje, kolmas, třetí, al treilea, a treia, harmadik, τρίτο, thứ ba, ketiga, อันที่สาม, השלישי, سومی, سوم, третє, третій`),
		wordingsOf(`4, fourth, 4th, option 4, option four, option d, vierte, vierten, cuarta, cuarto, quatrième, quarta, quarto, четвертый, четвёртый, dördüncü, الرابع, चौथा, 第四, 第四个, 四つ目, 4番, 네 번째, 4번, vierde, czwarty, fjärde, fjerde, neljäs, čtvrtý, al patrulea, negyedik, τέταρτο, thứ tư, keempat, הרביעי, چهارم, четверте`),
	}
	// lasts choose the last.
	lasts = wordingsOf(`last, last one, letzte, letzten, letztes, última, último, dernier, dernière, ultima, ultimo, последнее, последний, последнюю, sonuncu, sonuncusu, الاخير, الأخير, आखिरी, 最后, 最后一个, 最後, 最後の, 마지막, laatste, ostatni, ostatnia, sista, sidste, siste, viimeinen, poslední, ultimul, utolsó, τελευταίο, cuối, cuối cùng, terakhir, สุดท้าย, האחרון, آخری, останнє, останній`)

	// orWords stand between two things that are offered.
	orWords = []string{
		" or ", " oder ", " o ", " ou ", " или ", " veya ", " ya da ", " yoksa ", " أو ", " او ", " या ", " 또는 ", " 아니면 ", "거나 ", " lub ", " albo ", " czy ", " eller ", " tai ", " vai ", " nebo ", " anebo ", " sau ", " vagy ", " ή ", " hoặc ", " atau ", "หรือ", " או ", " یا ", " або ", " чи ", " oppure ", " ovvero ",
		"或者", "还是", "或是", "、或", "，或", "或", "それとも", "または", "あるいは", "か、",
	}

	// questionWords begin a question.
	questionWords = wordingsOf(`
		what, whats, who, whos, whose, whom, where, wheres, when, whens, why, which, how, hows, is it true, is there, are there, is, are, do, does, did, can you tell me, do you know, tell me, define, explain,
		was, wer, wen, wem, wessen, wo, woher, wohin, wann, warum, wieso, weshalb, welche, welcher, welches, welchen, wie, wieviel, stimmt es, gibt es, weisst du, weißt du,
		que, qué es, cuál, cuáles, quién, quiénes, dónde, cuándo, cuánto, cuánta, cuántos, cuántas, cómo, por qué, es verdad, sabes, hay,
		qui, quel, quelle, quels, quelles, où, quand, comment, combien, pourquoi, qu'est ce que, qu'est ce qui, est ce que, c'est quoi, que signifie, que veut dire, sais tu,
		qual, quais, quem, onde, quando, quanto, quanta, quantos, quantas, como, por que, o que, o que é, é verdade, sabe,
		chi, che cosa, che, cosa, cos'è, quale, quali, dove, quanti, quante, perché, come, è vero,
		кто, что, что такое, где, куда, откуда, когда, почему, зачем, какой, какая, какое, какие, каков, какова, сколько, как, чей, правда ли,
		ما, ماذا, ما هو, ما هي, من, من هو, اين, أين, متى, لماذا, كيف, كم, أي, هل,
		wat, wie, waar, wanneer, waarom, welke, welk, hoe, hoeveel, klopt het, co, kto, gdzie, kiedy, dlaczego, czemu, który, która, które, jaki, jaka, jakie, ile, jak, czy,
		vad, vem, var, när, varför, vilken, vilket, vilka, hur, hvad, hvem, hvor, hvornår, hvorfor, hvilken, hvilket, hvordan, hva, når, hvilke, mikä, kuka, missä, milloin, miksi, miten, kuinka, paljonko, montako,
		kdo, kde, kdy, proč, jaký, jaká, jaké, kolik, který, ce, cine, unde, când, de ce, care, cum, cât, câți, câte, mi, ki, hol, mikor, miért, melyik, milyen, hogyan, hány, mennyi,
		τι, ποιος, ποια, ποιο, πού, πότε, γιατί, πώς, πόσο, πόσα, ai, tại sao, vì sao, apa, siapa, di mana, dimana, kapan, mengapa, kenapa, berapa, bagaimana,
		מה, מי, איפה, מתי, למה, מדוע, איך, כמה, איזה, чому, хто, що, де, коли, який, яка, яке, які, скільки, як`)

	// questionWordsInside stand anywhere in a question.
	questionWordsInside = wordingsOf(`
		什么, 什麼, 谁, 哪里, 哪儿, 哪个, 哪年, 哪一年, 何时, 为什么, 为何, 怎么, 怎样, 如何, 多少, 多大, 多高, 多久, 多远, 多长, 多深, 几,
		何, 誰, だれ, どこ, いつ, なぜ, なんで, どうして, どうやって, どれくらい, どのくらい, いくつ, どんな, どの,
		뭐, 무엇, 누구, 누가, 어디, 언제, 왜, 어떻게, 얼마, 몇, 어느, 어떤, 무슨,
		nedir, kim, kimdir, nerede, neresi, nereye, ne zaman, neden, niye, niçin, hangi, kaç, nasıl, nelerdir,
		क्या, कौन, कहाँ, कहां, कब, क्यों, कैसे, कितना, कितने, कितनी, किसने, किस, kya, kaun, kahan, kab, kyun, kaise, kitna, kitne,
		cái gì, là gì, ở đâu, khi nào, bao nhiêu, như thế nào, อะไร, ใคร, ที่ไหน, เมื่อไหร่, ทำไม, เท่าไหร่, อย่างไร, กี่, چه, چی, کی, چه کسی, کجا, چرا, چطور, چگونه, چند`)
)
