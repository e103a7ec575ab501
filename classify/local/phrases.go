//nolint:misspell // the words are of many languages
package local

import "strings"

// phrases are the words that show how a message relates to earlier ones, by the
// hash of their folded form, with single spaces between words.
var phrases = phraseTable(map[role]string{
	roleSmall: `
		a, an, the, their, he, him, his, she, her, we, us, our, you, your, yours, i, me, my, mine,
		who, whom, whose, which, what, where, when, why, how,
		am, is, are, was, were, be, been, being, do, does, did, have, has, had, can, could, will, would, shall, should, may, might, must,
		im, ive, id, ill, youre, lets, let, whats,
		if, because, as, than, while, though, and, or, but, so, then, not,
		of, to, in, on, at, by, for, from, with, into, onto, about, up, down, out, off, over,
		there, here, also, too, just, only, very, really, please, well, now,
		want, like, go, make, get, give, take, use, tell, show, say, need, ah, oh, hm, hmm, uh, um, eh, no no,

		der, die, das, den, dem, des, ein, eine, einen, einem, einer, ich, du, er, wir, ihr, mich, mir, dich, dir, uns, euch, mein, meine, dein, deine,
		wer, wie, wo, wann, warum, wieso, was, welche, welcher, welches, ist, sind, war, bin, bist, hat, habe, haben, kann, kannst, koennen, konnen, soll, will, wird, wurde, werden, machen, mach, mache, geht,
		in, im, an, am, auf, aus, bei, bis, fur, mit, nach, um, von, vor, zu, zum, zur, und, oder, aber, wenn, dass, auch, nur, noch, mal, ach, na, tja, halt, bitte, sehr, so, dann, jetzt, man, es, da, hier,

		el, los, las, un, una, unos, unas, yo, tu, ella, nosotros, me, te, nos, mi, mis, su, sus, que, quien, como, donde, cuando, cuanto, cuantos, cuantas, cual, por que, porque,
		es, son, esta, estan, hay, he, has, ha, puedo, puedes, puede, quiero, haz, hacer, hazlo, a, al, de, del, en, con, por, para, y, e, o, pero, si, tambien, solo, muy, ya, ahora, pues, bueno, por favor,

		le, les, une, des, du, je, il, elle, nous, vous, mon, ma, mes, ton, ta, tes, son, sa, ses, qui, quoi, ou, quand, comment, combien, pourquoi, quel, quelle, quels, quelles, est ce que, quest ce que,
		est, suis, sont, ai, as, avez, avons, peux, peut, peux tu, veux, fais, faire, dans, sur, avec, pour, par, et, mais, au, aux, aussi, seulement, tres, maintenant, bah, ben, sil te plait, sil vous plait, cest,

		的, 了, 吧, 啊, 呀, 哦, 喔, 嘛, 吗, 么, 我, 你, 您, 他, 她, 是, 在, 有, 和, 跟, 给, 把, 请, 帮我, 也, 都, 就, 要, 想, 什么, 怎么, 怎么样, 为什么, 几, 多少, 哪, 如何, 能, 可以吗, 做, 用,
		は, が, を, に, で, と, も, の, へ, から, まで, です, ます, ですか, ますか, か, ね, よ, な, ください, 下さい, して, したい, する, ある, いる, 何, いつ, どこ, なぜ, どうして, どう, いくら, 教えて,

		as, um, uma, uns, umas, eu, ele, ela, nos, voce, voces, meu, minha, meus, minhas, seu, sua, quem, que, qual, quais, onde, quando, quanto, quantos, por que, porque,
		e, sao, esta, estao, foi, posso, pode, podes, quero, faz, fazer, da, na, em, com, para, pra, mas, se, tambem, so, muito, ja, agora, entao, bom, por favor, ta, ne, ai, aqui,

		il, lo, gli, uno, io, lui, lei, noi, voi, mio, mia, miei, tuo, tua, chi, che, cosa, dove, quando, quanto, quanti, quanta, perche, quale, quali,
		siamo, hai, posso, puoi, puo, voglio, fammi, di, da, del, della, nel, nella, ma, se, anche, solo, molto, gia, adesso, ora, allora, per favore, mi, ti, si, ne, tra, fra,

		я, ты, вы, мы, он, она, они, мне, меня, тебе, тебя, мой, моя, мое, твой, кто, что, где, когда, как, сколько, почему, зачем, какой, какая, какие,
		есть, был, была, будет, можно, можешь, могу, надо, нужно, хочу, сделай, в, на, с, со, к, у, о, об, по, из, за, для, от, до, и, или, но, а, если, тоже, только, очень, уже, сейчас, теперь, пожалуйста, ну, ли, же, бы, не,

		bir, ben, sen, biz, siz, bana, beni, sana, benim, senin, ne, nerede, ne zaman, nasil, kac, neden, niye, hangi,
		yok, mi, mu, misin, musun, olur, lazim, istiyorum, yap, et, icin, ile, ve, veya, ama, eger, da, cok, simdi, lutfen, ki, gibi, kadar,

		انا, أنا, انت, أنت, هو, هي, نحن, لي, من, ما, ماذا, اين, أين, متى, كيف, كم, لماذا, ليش, شو, ايش, وش, هل, في, على, الى, إلى, عن, مع, ل, ب, و, او, أو, لكن, بس, اذا, إذا, لو, جدا, الان, الآن, فضلك, من فضلك, لو سمحت, ممكن, ابغى, أبغى, اريد, أريد, بدي, يا,

		मैं, मुझे, मेरा, मेरी, मेरे, तुम, आप, हम, कौन, क्या, कहाँ, कहां, कब, कैसे, कितना, कितने, कितनी, क्यों, है, हैं, था, थी, हो, कर, करो, करना, करें, दो, में, से, को, का, की, के, पर, तक, और, या, लेकिन, अगर, तो, भी, बहुत, अब, कृपया, ना, जी,
		mai, mujhe, mera, meri, mere, tum, aap, kaun, kya, kahan, kab, kaise, kitna, kitne, kyun, hai, hain, tha, thi, kar, karo, karna, mein, se, ko, ka, ki, ke, aur, ya, lekin, agar, toh, bhi, bahut, ab, na, ji,

		은, 는, 이, 가, 을, 를, 에, 에서, 으로, 로, 와, 과, 도, 의, 나, 내, 너, 저, 제, 뭐, 무엇, 어디, 언제, 어떻게, 얼마, 왜, 몇, 좀, 요, 해, 해줘, 해주세요, 하고, 있어, 있어요, 돼, 되나요, 싶어, 지금, 너무, 아주, 만,

		het, een, jij, hij, zij, wij, jullie, mijn, jouw, onze, wie, wat, waar, wanneer, waarom, hoe, welke, welk, zijn, hebben, heeft, kun, kunt, kunnen, wilt, doe, zet, voor, naar, van, maar, omdat, ook, alleen, heel, graag, alsjeblieft, aub,
		ja chcę, jest, są, był, była, moje, mój, mnie, ci, kto, gdzie, kiedy, jak, ile, dlaczego, czemu, który, która, czy, możesz, chcę, proszę, zrób, dla, się, oraz, lub, ale, jeśli, tylko, bardzo, teraz,
		jag, mig, dig, mitt, mina, ditt, vad, vem, hur, när, varför, vilken, vilket, är, kunde, vill, gör, på, från, för, och, eller, om, också, väldigt, snälla,
		jeg, dere, meg, deg, mitt, hva, hvad, hvem, hvor, hvordan, hvornår, hvorfor, hvilken, hvilket, skal, gjør, gør, på, og, eller, hvis, også, kun, veldig, meget, nå,
		minä, sinä, minun, sinun, minulle, mikä, mitä, kuka, missä, milloin, miten, miksi, kuinka, montako, paljonko, ovat, oli, voitko, haluan, tai, mutta, jos, myös, vain, hyvin, nyt, voisitko,
		já, ty, můj, moje, mě, kdo, kde, kdy, jak, kolik, proč, který, která, je, jsou, byl, může, můžeš, chci, udělej, pro, nebo, ale, pokud, taky, jen, velmi, teď,
		mea, meu, cine, unde, când, cum, cât, câte, este, poți, vreau, fă, pentru, și, sau, dar, dacă, doar, foarte, acum, te rog`,
	roleAnswer: `
		yes, yeah, yep, yup, ya, sure, right, correct, exactly, absolutely, definitely, indeed, affirmative, no, nope, nah, neither, none, either, both, all,
		first, second, third, fourth, fifth, last, latter, former, one, two, three, four, five, 1st, 2nd, 3rd, 4th, 5th, option, choice, number,
		yes please, go ahead, do it, do that, proceed, continue, go on, please do, sounds good, of course,
		ja, doch, klar, genau, nein, nee, gerne, ja gerne, ja bitte, mach das, mach weiter, weiter, naturlich, erste, ersten, zweite, zweiten, dritte, dritten, letzte, letzten, beide, eins, zwei, drei, keine, keins,
		si, claro, no, adelante, hazlo, sigue, continua, primero, primera, segundo, segunda, tercero, tercera, ultimo, ultima, ambos, dos, tres, por supuesto,
		oui, non, vas y, allez y, continue, bien sur, premier, premiere, deuxieme, troisieme, dernier, derniere, les deux, deux, trois,
		对, 对的, 是的, 没错, 不, 不是, 不要, 要, 当然, 继续, 接着, 请继续, 可以, 好啊, 好呀, 好的请, 行啊, 来吧, 第一, 第二, 第三, 第一个, 第二个, 第三个, 一, 二, 三, 四, 五, 两个都要, 拜托,
		はい, うん, ええ, いいえ, いや, お願い, お願いします, 続けて, つづけて, どうぞ, もちろん, 一番, 二番, 三番, 最初, 最後, 一つ目, 二つ目, 三つ目, 両方, はいお願いします, そう, そうです,

		sim, nao, claro, isso, isso mesmo, pode, pode ser, pode sim, primeiro, primeira, segundo, segunda, terceiro, ultimo, ultima, os dois, dois, duas, tres, nenhum, vai em frente,
		va bene, certo, esatto, procedi, fallo, primo, prima, secondo, seconda, terzo, ultimo, entrambi, tre, nessuno, certamente,
		да, нет, ага, конечно, давай, верно, точно, первый, первую, первая, второй, вторую, вторая, третий, последний, последнюю, оба, один, два, три, продолжай, давайте,
		evet, hayir, hayır, tabii, tabi, olur, olsun, tamamdir, tamamdır, birinci, birincisi, ikinci, ikincisi, ucuncu, sonuncu, ikisi de, iki, uc, devam, devam et, yapalim, yapalım,
		نعم, اي, أي, ايوه, أيوه, لا, اكيد, أكيد, طبعا, صح, تمام كذا, الاول, الأول, الثاني, الثالث, الاخير, الأخير, كلاهما, واحد, اثنين, كمل, استمر,
		हाँ, हां, नहीं, ज़रूर, जरूर, सही, पहला, पहली, दूसरा, दूसरी, तीसरा, आखिरी, दोनों, एक, haan, han, nahi, nahin, zaroor, sahi, pehla, pehli, doosra, doosri, dusra, dusri, teesra, dono, ek,
		네, 예, 응, 아니, 아니요, 아니오, 그래, 맞아, 맞아요, 첫번째, 첫 번째, 두번째, 두 번째, 세번째, 세 번째, 마지막, 둘다, 둘 다, 하나, 둘, 셋, 계속, 계속해,

		ja graag, doe maar, ga door, eerste, tweede, derde, beide, natuurlijk, pierwszy, pierwsza, drugi, druga, trzeci, oczywiście, jasne, kontynuuj, dalej,
		javisst, gärna, första, andra, tredje, båda, fortsätt, fortsett, fortsæt, selvfølgelig, gerne, første, andre, tredje, begge, nei,
		joo, kyllä, toki, ensimmäinen, kolmas, molemmat, jatka, první, druhý, druhá, třetí, pokračuj, samozřejmě, sigur, primul, al doilea, a doua, ambele, continuă`,
	roleAssent: `
		ok, okay, okey, alright, all right, fine, got it, gotcha, okey dokey, sweet, cool cool, omg, lol, lmao, haha, hahaha, love it, love that, i see, understood, makes sense, that makes sense, noted, good to know, cool, k, kk, fair enough, roger, i understand, great,
		alles klar, verstehe, verstanden, jo, jup, nice, supi, passt, gut, ok passt, ach so, aha, in ordnung, einverstanden, gut zu wissen, geht klar,
		vale, de acuerdo, entendido, ya entiendo, entiendo, ya veo, muy bien, esta bien, bien, comprendo,
		daccord, compris, je comprends, je vois, ca marche, cest note, note, entendu, tres bien, bien, bon, ca roule,
		好, 好的, 行, 嗯, 嗯嗯, 可以, 知道了, 明白, 明白了, 了解, 收到, 懂了, 原来如此, 这样啊, 好吧, 没问题, 哦哦,
		了解, 了解です, りょうかい, わかった, わかりました, 分かった, 分かりました, 承知しました, 承知です, なるほど, そうなんだ, そうか, そうですか, 大丈夫, 大丈夫です, オッケー, いいね,
		perfect, awesome, amazing, wonderful, legend, spot on, neat, excellent, brilliant, fantastic, wow, nice, nice one, lovely, very helpful, helpful,
		super, prima, perfekt, klasse, toll, spitze, genial, wunderbar, ausgezeichnet, hervorragend, sehr gut, wow, sehr hilfreich,
		perfecto, genial, estupendo, jaja, jajaja, jajaj, que risa, qué risa, excelente, fantastico, maravilloso, guay, que bien,
		muy util,
		parfait, genial, super, excellent, nickel, impec, mdr, ptdr, magnifique, formidable, chouette,
		trop bien, trop fort, tres utile,
		太好了, 太棒了, 真棒, 好喔, 好哦, 好滴, 好呀, 好啦, 哈哈, 哈哈哈, 棒, 完美, 厉害, 真厉害, 好厉害, 不错, 很好, 很有帮助,
		赞, 牛,
		すごい, さすが, 素晴らしい, うける, ウケる, すばらしい, 完璧, 最高, よかった, 良かった, いいですね,

		beleza, entendi, certo, kkk, ta bom, esta bem, tudo bem, combinado, perfeito, otimo, otima, excelente, maravilha, bacana, fixe,
		capito, ho capito, ahah, ahaha, daccordo, ricevuto, benissimo, perfetto, ottimo, fantastico, eccellente, stupendo, bello,
		понятно, понял, поняла, ого, ахах, ахаха, хаха, огонь, ясно, ок, окей, хорошо, ладно, принято, отлично, супер, прекрасно, класс, здорово, круто, идеально,
		tamam, anladim, anladım, peki, oldu, guzel, harika, mukemmel, sahane, cok guzel, cok iyi,
		تمام, حسنا, طيب, ههه, هههه, فهمت, مفهوم, ماشي, اوكي, أوكي, ممتاز, رائع, جميل, حلو,
		ठीक, ठीक है, अच्छा, समझ गया, ओके, समझ गई, बढ़िया, बहुत बढ़िया, शानदार, वाह, thik hai, theek hai, accha, acha, samajh gaya, samajh gayi, badhiya, bahut badhiya,
		알겠어, 알겠어요, 넵, 넹, 네네, ㅇㅋ, ㅋㅋ, ㅎㅎ, 알겠습니다, 오케이, 좋아, 좋아요, 좋네, 좋네요, 그렇구나, 그렇군요, 완벽해, 완벽해요, 최고, 최고야, 대박, 굿,

		oké, begrepen, snap ik, goed zo, is goed, rozumiem, w porządku, dobra, dobrze, świetnie, fajnie,
		okej, förstår, uppfattat, toppen, jättebra, det är bra, forstået, forstått, skjønner, flott, fint, fedt, det er fint, selvklart,
		selvä, selvä homma, ymmärrän, hienoa, kiva, mahtavaa, rozumím, dobře, jasně, výborně, fajn, am înțeles, e ok, grozav`,
	roleThanks: `
		thanks, thank you, thank, thx, ty, ta, tysm, thanks so much, thanks a bunch, cheers, thanks a lot, thanks a million, thank you so much, many thanks, much appreciated, appreciate it, appreciated, well done, good job, great job, good work,
		youre the best, youre great, you rock, youre a legend, youre a lifesaver, youre a star, lifesaver, life saver, that helped, that helps,
		thats all, thats it, that will be all, thats me, thats me for today, thats me for tonight, thats all i needed, thatll be all, that is all, thats all for today, thats all for now, nothing else, all good, im done, were done, done for today,
		never mind, nevermind, nvm, forget it, forget about it, no need, leave it, dont bother, drop it,
		danke, dankeschon, danke schon, danke sehr, danke dir, vielen dank, tausend dank, herzlichen dank, besten dank, merci, hat geholfen, gut gemacht, du bist der beste, du bist die beste, du bist toll,
		das wars, das war es, das war alles, mehr brauche ich nicht, fur heute, sonst nichts, nichts weiter, vergiss es, egal, ach egal, lass mal, lass gut sein, schon gut, nicht notig,
		gracias, muchas gracias, mil gracias, muchisimas gracias, te lo agradezco, buen trabajo, bravo, eres un crack, eres genial, eres el mejor, eres la mejor,
		eso es todo, nada mas, es todo, por hoy, dejalo, olvidalo, da igual, no importa, no hace falta, no pasa nada,
		merci beaucoup, merci bien, mille mercis, merci mille fois, bravo, tu es le meilleur, tu es genial, bon travail, beau travail,
		cest tout, ce sera tout, rien dautre, cest bon, laisse tomber, oublie, oublie ca, tant pis, peu importe, pas grave, pas besoin, pour aujourdhui,
		谢谢, 谢谢你, 谢谢您, 感恩, 下班了, 多谢, 感谢, 非常感谢, 感谢你, 谢啦, 谢了, 谢, 辛苦了, 辛苦, 帮大忙了, 你真棒, 你最棒了,
		就这些, 就这样, 就这样吧, 没事了, 没别的事了, 没了, 没有了, 不用了, 不必了, 算了, 没关系, 当我没说, 今天就到这,
		ありがとう, ありがとうございます, ありがと, ありがとうございました, どうもありがとう, どうも, サンキュー, 感謝します, 助かる, 助かります, 助かりました, 助かった, お疲れ様, お疲れさま, お疲れ様でした,
		以上です, これで終わり, これで終わりです, 終わりにします, 終わり, もう大丈夫, もう大丈夫です, 結構です, もういい, もういいや, もういいです, やっぱりいい, やっぱりいいや, いいや, 気にしないで, なんでもない, 何でもないです, 忘れて,

		obrigado, obrigada, muito obrigado, muito obrigada, valeu, brigado, brigada, agradeco, bom trabalho, ajudou muito,
		so isso, e so isso, e isso, por hoje e so, mais nada, deixa pra la, deixa, esquece, nao precisa, tanto faz,
		grazie, grazie mille, mille grazie, molte grazie, ti ringrazio, ottimo lavoro, sei il migliore, sei un grande,
		e tutto, basta cosi, per oggi basta, nientaltro, lascia stare, lascia perdere, non importa, fa niente, non serve,
		спасибо, большое спасибо, спасибо большое, огромное спасибо, благодарю, спс, молодец, выручил, выручила, ты лучший,
		это все, это всё, на этом все, на этом всё, больше ничего, не надо, не нужно, забудь, неважно, ничего страшного,
		tesekkurler, tesekkur ederim, cok tesekkurler, cok tesekkur ederim, sagol, sag ol, sagolun, eyvallah, eline saglik, ellerine saglik,
		bu kadar, hepsi bu, baska bir sey yok, bosver, gerek yok, onemli degil, vazgectim, unut gitsin,
		شكرا, شكراً, شكرا لك, شكرا جزيلا, الف شكر, ألف شكر, مشكور, تسلم, يعطيك العافية, جزاك الله خيرا, احسنت, أحسنت,
		هذا كل شيء, هذا كل شي, بس كذا, خلاص, لا داعي, ما عليك, انسى, لا يهم, مو مهم,
		धन्यवाद, शुक्रिया, बहुत धन्यवाद, बहुत शुक्रिया, बहुत बहुत धन्यवाद, dhanyavad, dhanyawad, shukriya, bahut shukriya, bohot shukriya,
		बस इतना ही, बस, रहने दो, छोड़ो, कोई बात नहीं, bas itna hi, bas, rehne do, chodo, chhodo, koi baat nahi,
		고마워, 고마워요, 고맙습니다, 감사, 감사해요, 감사합니다, 정말 고마워, 땡큐, 수고했어, 수고하셨습니다, 수고,
		됐어, 됐어요, 됐습니다, 괜찮아, 괜찮아요, 그게 다야, 그만, 이제 됐어, 신경 쓰지 마, 잊어버려,

		bedankt, dank je, dank je wel, dankjewel, dank u, dank u wel, heel erg bedankt, laat maar, dat was het, dziękuję, dzięki, wielkie dzięki, dziękuję bardzo, to wszystko, nieważne,
		tack, tack så mycket, tusen tack, tackar, det var allt, strunt i det, mange tak, tusind tak, tak for hjælpen, takk, tusen takk, mange takk, det var alt, glem det,
		kiitos, kiitti, kiitos paljon, suuri kiitos, siinä kaikki, antaa olla, děkuji, děkuju, díky, moc děkuju, díky moc, to je všechno, nech to být, mulțumesc, mersi, mulțumesc mult, mersi mult, asta e tot, las-o baltă`,
	roleBye: `
		bye, byebye, bye bye, goodbye, good bye, good night, goodnight, see you, see ya, see you later, see you tomorrow, see you soon, talk later, talk to you later, ttyl, take care, farewell, have a nice weekend, have a nice day, have a good day, have a good one, have a great day, have a good weekend, have a great weekend, until tomorrow, later,
		tschuss, tschuess, ciao, auf wiedersehen, bis morgen, bis dann, bis bald, bis spater, gute nacht, schonen tag, schonen tag noch, schonen abend, schones wochenende, schonen feierabend, machs gut,
		adios, hasta luego, hasta manana, hasta pronto, hasta la proxima, nos vemos, chao, buenas noches, buen dia, que tengas buen dia, buen fin de semana, feliz dia, cuidate,
		au revoir, salut, a demain, a bientot, a plus, a plus tard, bonne nuit, bonne journee, bonne soiree, bon week end, bonne fin de journee,
		再见, 拜拜, 拜, 晚安, 明天见, 回头见, 下次见, 回见, 先这样, 周末愉快, 祝你愉快, 再会,
		さようなら, さよなら, じゃあね, じゃあまた, またね, またあした, また明日, また今度, では失礼します, 失礼します, おやすみ, おやすみなさい, バイバイ, 良い週末を, よい週末を, 良い一日を,

		tchau, adeus, ate logo, ate mais, ate amanha, ate breve, boa noite, bom fim de semana, bom dia pra voce, abraco,
		arrivederci, a domani, a dopo, a presto, ci vediamo, buonanotte, buona notte, buona giornata, buon fine settimana, buona serata,
		пока, до свидания, до завтра, до встречи, увидимся, спокойной ночи, хорошего дня, хороших выходных,
		gorusuruz, hosca kal, hoscakal, iyi geceler, iyi gunler, iyi aksamlar, yarin gorusuruz, kendine iyi bak, iyi haftasonlari, bay bay,
		مع السلامة, الى اللقاء, إلى اللقاء, وداعا, تصبح على خير, اراك غدا, أراك غدا, باي,
		अलविदा, शुभ रात्रि, फिर मिलेंगे, कल मिलते हैं, बाय, alvida, phir milenge, kal milte hain, good night ji,
		안녕히 계세요, 안녕히계세요, 잘자, 잘 자, 잘자요, 안녕히 주무세요, 내일 봐, 내일봐, 또 봐, 나중에 봐, 바이바이, 좋은 하루, 좋은 주말,

		doei, tot ziens, tot morgen, tot later, welterusten, slaap lekker, fijne dag, fijne avond, pa pa, do widzenia, do jutra, na razie, dobranoc, miłego dnia, miłego wieczoru,
		hejdå, hej då, god natt, sov gott, vi ses, ha det bra, trevlig helg, farvel, godnat, vi ses i morgen, ha det, ha det bra, snakkes, god helg,
		näkemiin, hei hei, heippa, hyvää yötä, nähdään huomenna, mukavaa päivää, na shledanou, nashle, dobrou noc, zatím ahoj, hezký den, la revedere, pe mâine, noapte bună, o zi bună`,
	roleGreet: `
		hi, hello, hey, hiya, howdy, good morning, good afternoon, good evening, morning, hello there, hi there, hey there, whats up, sup,
		hallo, guten morgen, guten tag, guten abend, servus, moin, gruss gott, hola, buenos dias, buenas tardes, buenas, bonjour, bonsoir, coucou,
		你好, 您好, 早, 早上好, 早安, 下午好, 晚上好, 嗨, 哈喽, おはよう, おはようございます, こんにちは, こんばんは, やあ, もしもし,

		ola, oi, bom dia, boa tarde, e ai, ciao, salve, buongiorno, buon giorno, buonasera, buon pomeriggio,
		привет, здравствуй, здравствуйте, добрый день, доброе утро, добрый вечер, merhaba, selam, gunaydin, iyi sabahlar, selamlar,
		مرحبا, اهلا, أهلا, السلام عليكم, صباح الخير, مساء الخير, هلا, नमस्ते, नमस्कार, हेलो, हाय, namaste, namaskar, 안녕, 안녕하세요, 하이, 여보세요,

		hoi, goedemorgen, goedemiddag, goedenavond, cześć, dzień dobry, dobry wieczór, siema, god morgon, god kväll, hejsan, tjena, godmorgen, god morgen, goddag, god aften, heisann, hei,
		moikka, terve, huomenta, hyvää huomenta, ahoj, čau, dobrý den, dobré ráno, dobrý večer, bună, bună ziua, bună dimineața, bună seara, salutare`,
	roleGoesOn: `
		and, or, but, what about, how about, what if, and what about, so, then, or rather, except, without, also,
		und, oder, aber, wie siehts, wie sieht es, was ist mit, wie ware es mit, und was ist mit, und wenn, was wenn, ohne, ausser, sondern,
		y, e, o, pero, que tal, y si, y que tal, sin, sino, excepto,
		et, ou, mais, et si, quen est il, sans, sauf,
		那, 那么, 那如果, 如果, 要是, 呢, 还有, 或者, 但是, 但, 而且, 然后, 除了,
		じゃあ, じゃ, では, それなら, だったら, は, 場合は, でも, あと, それと, それから, もし, 以外,

		e, ou, mas, e se, e que tal, que tal, e quanto, sem, exceto, e a, e o, entao,
		e, o, ma, e se, e se invece, che ne dici di, e per, senza, tranne, e il, e la, oppure,
		а, и, или, но, а если, а что, а как насчет, как насчет, без, кроме,
		ve, ya, peki ya, veya, ama, ya da, haricinde, olmadan,
		و, او, أو, لكن, وماذا عن, ماذا عن, طيب و, بدون, ماعدا,
		और, या, लेकिन, और अगर, अगर, के बारे में, के बिना, aur, ya, lekin, aur agar, agar,
		그럼, 그러면, 그리고, 아니면, 그런데, 만약, 또는, 하지만, 말고,

		en wat als, en als, hoe zit het met, maar, zonder, a co z, a jeśli, a może, albo, och om, hur är det med, utan, hvad med, hva med, og hvis, uden, uten, entä, entä jos, mutta, ilman, co když, a když, nebo, dar dacă, dar, și dacă, ce zici de, fără`,
	roleRefers: `
		it, its, this, that, these, those, they, them, thats, the same, same, same for, again, once more, another, another one, other, others, instead, rather, else, more, less, ones, next, previous, still,
		shorter, longer, bigger, smaller, larger, worse, either, both, former, latter, cheaper, better, simpler, easier, faster, slower, louder, quieter, brighter, darker, warmer, colder, earlier, later, softer, stronger, clearer, nicer, funnier, fewer, higher, lower, older, newer, harder, half,
		shortest, longest, biggest, smallest, cheapest, simplest, easiest, fastest, slowest, loudest, quietest, earliest, latest, oldest, newest, nearest, closest, lightest,
		i meant, i mean, not that, make it, change it, redo, rephrase, rewrite it, try again, too long, too short, too formal, too much, now in, now as, now with,
		es, sie, ihn, dies, diese, dieser, dieses, diesen, damit, davon, dazu, daraus, dasselbe, das gleiche, das selbe, gleiche, gleichen, gleich, nochmal, noch mal, noch einmal, wieder, stattdessen, statt, lieber, doch lieber, anders, andere, anderen, anderer, anderes, ander, mehr, weniger, nachste, nachsten, immer noch, ich meinte, ich meine, nicht so, etwas, bisschen, ein bisschen, noch eins, noch ein, jetzt auf,
		kurzer, langer, grosser, kleiner, billiger, gunstiger, gunstigeres, besser, einfacher, schneller, langsamer, lauter, leiser, heller, dunkler, warmer, kalter, fruher, spater, lockerer, formeller, lustiger, hoflicher, genauer, zu lang, zu kurz, zu teuer,
		kurzeste, langste, grosste, kleinste, billigste, gunstigste, einfachste, schnellste, leiseste, fruheste, spateste, neueste, alteste, leichteste,
		lo, eso, esto, ese, esa, esos, esas, estos, estas, este, aquello, otra vez, de nuevo, otro, otra, otros, otras, el mismo, la misma, lo mismo, mismo, misma, en vez, en su lugar, mejor, mas, menos, siguiente, anterior, sigue dando, todavia, queria decir, me refiero, no tan, ahora en, ahora al, un poco, demasiado, hazlo mas, ponlo, cambialo,
		ca, cela, ceci, cette, lequel, laquelle, lesquels, dedans, dessus, ces, celui, celle, encore, encore une fois, de nouveau, un autre, une autre, autre, autres, le meme, la meme, meme, a la place, plutot, plus, moins, mieux, suivant, precedent, toujours, je voulais dire, pas si, un peu, trop, refais, refais le, change le, rends le, maintenant en,
		它, 这, 这个, 那个, 这些, 那些, 这样, 那样, 其他, 别的, 另一个, 另外一个, 另外, 再, 再来, 再来一个, 还, 还是, 也是, 同样, 一样, 换, 换成, 改, 改成, 改为, 重新, 重来, 更, 一点, 一些, 点儿, 下一个, 上一个, 继续, 刚才, 最早, 最晚, 最大, 最小, 最便宜, 最贵, 最近的, 最好, 我是说, 我的意思是, 短一点, 长一点, 简单点, 太长, 太短, 太贵, 里面, 其中,
		それ, これ, あれ, ほう, やつ, そっち, こっち, そちら, こちら, さっき, さっきの, その, この, あの, それの, これの, もっと, もう少し, もう一度, もう一回, もう一つ, また, 同じ, 同じく, 他, 他の, ほか, 別, 別の, 代わりに, かわりに, やっぱり, やはり, まだ, 次, 次は, 前の, 今度は, 短く, 長く, もっと安い, 変えて, 直して, にして, やり直して, じゃなくて, ではなく, もう少しだけ, 版,

		isso, isto, esse, essa, esses, essas, estes, nele, nela, nisso, disso, este, aquele, aquela, dele, dela, de novo, outra vez, outro, outra, outros, outras, o mesmo, a mesma, mesmo, mesma, em vez, melhor, mais, menos, proximo, proxima, anterior, ainda, quero dizer, quis dizer, um pouco, demais, refaz, muda, troca,
		questo, questa, quello, questi, queste, quei, quella, quelli, lo stesso, la stessa, stesso, stessa, di nuovo, ancora, unaltra volta, altro, altra, altri, altre, invece, meglio, piu, meno, prossimo, prossima, precedente, intendevo, volevo dire, un po, troppo, troppa, rifallo, cambialo, mandalo, mettilo,
		это, этот, эту, этого, эти, тот, та, те, его, ее, её, их, им, ему, ей, то же, так же, такой же, снова, еще раз, ещё раз, еще, ещё, другой, другую, другое, другие, вместо, лучше, больше, меньше, следующий, следующую, предыдущий, имел в виду, имела в виду, немного, чуть, слишком, короче, длиннее, дешевле, проще, быстрее, громче, тише, раньше, позже, переделай, измени,
		bunu, bu, sunu, bunda, bundan, onda, ondan, onlari, bunlari, su, onu, o, bunlar, onlar, onun, bunun, ayni, aynisi, aynisini, tekrar, bir daha, yine, baska, baskasi, digeri, digerini, yerine, daha, daha az, biraz, biraz daha, sonraki, onceki, hala, demek istedim, cok uzun, cok kisa, degistir,
		هذا, هذه, هذي, ذلك, تلك, هو نفسه, نفس, نفسه, نفسها, مرة ثانية, مرة اخرى, مرة أخرى, غير, غيره, غيرها, ثاني, اخر, آخر, اخرى, أخرى, بدل, بدلا, احسن, أحسن, افضل, أفضل, اكثر, أكثر, اقل, أقل, اقرب, أقرب, ارخص, أرخص, اقصر, أقصر, اطول, أطول, التالي, السابق, لسه, اقصد, أقصد, شوي, شوية, غيرها,
		यह, ये, वह, वो, इसे, उसे, इसको, उसको, इसका, उसका, इसमें, वही, फिर, फिर से, दोबारा, दूसरा वाला, कोई और, की जगह, बेहतर, ज़्यादा, ज्यादा, कम, थोड़ा, थोड़ी, अगला, पिछला, अभी भी, मतलब, छोटा, लंबा, सस्ता, बदल, yeh, ye, woh, wo, isse, isko, usko, iska, uska, wahi, phir se, fir se, dobara, koi aur, ki jagah, zyada, jyada, kam, thoda, thodi, agla, pichla, matlab, chota, lamba, sasta, badal,
		이거, 이것, 그거, 그것, 저거, 이건, 그건, 그게, 이게, 그걸, 이걸, 그, 이번엔, 같은, 똑같이, 똑같은, 다시, 한번 더, 한 번 더, 또, 다른, 다른 거, 다른거, 대신, 말고, 더, 덜, 조금, 좀더, 좀 더, 다음, 이전, 아직, 아직도, 내 말은, 바꿔, 바꿔줘, 고쳐줘, 짧게, 길게, 싸게,

		deze, hetzelfde, nog een keer, opnieuw, korter, langer, goedkoper, liever, toch, ander, andere, het volgende, tamten, to samo, jeszcze raz, znowu, krótszy, krócej, dłużej, taniej, inny, inna, inne, następny,
		den där, det där, en gång till, igen, kortare, längre, billigare, istället, hellre, annan, annat, nästa, det samme, en gang til, kortere, længere, lengre, billigere, i stedet, hellere, annen, næste,
		tämä, tuo, uudestaan, uudelleen, lyhyempi, lyhyemmin, pidempi, halvempi, mieluummin, seuraava, to samé, ještě jednou, znovu, kratší, kratčeji, delší, levnější, radši, jiný, jinou, další, la fel, încă o dată, din nou, mai scurt, mai lung, mai ieftin, mai bine, altul, următorul`,
	roleAside: `
		by the way, btw, another thing, something else, new topic, different topic, unrelated, on another note, different question, another question, off topic, apropos,
		ubrigens, nebenbei, was anderes, etwas anderes, anderes thema, andere frage, neues thema, themawechsel,
		por cierto, a proposito, otra cosa, otra pregunta, cambiando de tema, otro tema,
		au fait, a propos, autre chose, autre question, rien a voir, changement de sujet, sinon,
		对了, 顺便, 顺便问下, 顺便问一下, 另外问一下, 换个话题, 话说, 说起来, 题外话,
		ところで, ちなみに, そういえば, 話は変わるけど, 話は変わりますが, 別件, 別件ですが, 別の話,

		a proposito, por falar nisso, outra coisa, outra pergunta, mudando de assunto, a proposito, cambiando argomento, unaltra cosa, altra domanda,
		кстати, между прочим, другой вопрос, о другом, bu arada, baska bir konu, baska bir soru, konu degisti,
		بالمناسبة, على فكرة, موضوع ثاني, سؤال ثاني, سؤال اخر, سؤال آخر, वैसे, एक और बात, दूसरी बात, दूसरा सवाल, waise, ek aur baat,
		그나저나, 그건 그렇고, 근데 말이야, 다른 얘기인데, 다른 질문`,
}, phrasesFurther)

// phraseBits has a bit for each phrase, by its hash: most word sequences are
// not phrases, and the bits avoid a map look-up for them.
var phraseBits = func() (bits [1024]uint64) {
	for h := range phrases {
		i := phraseBit(h)
		bits[i/64] |= 1 << (i % 64)
	}
	return bits
}()

func phraseBit(h uint64) uint64 { return (h ^ h>>29) * 0xBF58476D1CE4E5B9 >> 48 }

// roleOf returns the role of the phrase with a hash, 0 for an unknown one.
func roleOf(h uint64) role {
	if i := phraseBit(h); phraseBits[i/64]>>(i%64)&1 == 0 {
		return 0
	}
	return phrases[h]
}

// phraseTable reads lists of phrases, separated by commas.
func phraseTable(languages ...map[role]string) map[uint64]role {
	table := make(map[uint64]role)
	for _, lists := range languages {
		for r, list := range lists {
			addPhrases(table, r, list)
		}
	}
	return table
}

func addPhrases(table map[uint64]role, r role, list string) {
	var t reading
	for phrase := range strings.SplitSeq(list, ",") {
		t.reset(phrase)
		h := uint64(hashSeed)
		for i, tok := range t.tokens {
			if i > 0 && tok.kind == tokenWord {
				h = hashStep(h, ' ')
			}
			for _, x := range t.runes[tok.start:tok.end] {
				h = hashStep(h, x)
			}
		}
		if len(t.tokens) > 0 {
			table[h] |= r
		}
	}
}

// wordSet reads a list of words into a set of their hashes.
func wordSet(words string) map[uint64]struct{} {
	set := make(map[uint64]struct{})
	for w := range strings.FieldsSeq(words) {
		set[hashWord(folded(w))] = struct{}{}
	}
	return set
}

// folded returns the characters of a word in the form that is compared.
func folded(word string) []rune {
	out := make([]rune, 0, len(word))
	for _, r := range word {
		if r = compared(r); r >= 0 {
			out = append(out, r)
		}
	}
	return out
}
