//nolint:misspell // the words are of many languages
package local

// phrasesFurther adds Hungarian, Greek, Ukrainian, Vietnamese, Indonesian, Thai, Hebrew
// and Persian to phrases. Words that mean something else in a language of phrases are
// left out.
var phrasesFurther = map[role]string{
	roleSmall: `
		egy, ez, hogy, ki, mi, mit, mikor, hol, miert, hogyan, mennyi, hany, melyik, van, volt, lesz, nekem, kerlek, legyszi,
		ο, η, το, οι, τα, του, της, των, τον, την, ένας, μια, ένα, και, να, θα, με, σε, από, για, στο, στη, στην, στον, τι, ποιος, ποια, ποιο, πότε, πού, πώς, γιατί, πόσο, πόσα, είναι, έχω, έχει, θέλω, μου, μας, σου, παρακαλώ, τώρα,
		що, хто, де, коли, чому, скільки, який, яка, яке, які, мені, мене, моя, мій, моє, є, був, була, буде, від, для, про, до, будь ласка, зараз, хочу,
		cho minh, giup minh, lam on, cua minh, bao nhieu, the nao, tai sao, o dau,
		yang, apa, siapa, dimana, di mana, kapan, kenapa, mengapa, bagaimana, gimana, berapa, untuk, dengan, dari, saya, aku, kamu, tolong, mau, bisa, dong, sekarang,
		อะไร, ใคร, ที่ไหน, เมื่อไหร่, ทำไม, ยังไง, เท่าไหร่, กี่, ฉัน, ผม, เรา, คุณ, ของ, ที่, ให้, หน่อย, ครับ, ค่ะ, คะ, นะ, จ้า, ด้วย, ตอนนี้,
		את, של, מה, מי, איפה, מתי, למה, איך, כמה, איזה, איזו, אני, אתה, לי, לך, על, עם, זה, זאת, יש, אין, בבקשה, עכשיו,
		رو, را, از, به, با, در, که, چی, چه, کی, کجا, چرا, چطور, چجوری, چند, چقدر, کدوم, من, تو, برام, لطفا, الان, است, هست`,
	roleAnswer: `
		igen, nem, persze, naná, az első, a második, az utolsó, mindkettő, folytasd, hajrá, csináld,
		ναι, όχι, οχι, βέβαια, φυσικά, το πρώτο, το δεύτερο, το τελευταίο, και τα δύο, συνέχισε, κάν το, προχώρα,
		так, ні, авжеж, звісно, перший, другий, останній, обидва, продовжуй, давай, зроби це,
		vang, da vang, dong y, dung roi, khong, tiep tuc, lam di, cai dau, cai thu hai, ca hai,
		iya, tidak, enggak, nggak, gak usah, betul, benar, yang pertama, yang kedua, dua duanya, lanjut, lanjutkan, silakan, boleh,
		ใช่, ไม่, ไม่ใช่, ได้, ได้เลย, เอาเลย, อันแรก, อันที่สอง, ทั้งสอง, ต่อเลย, จัดไป, ทำเลย,
		כן, לא, בטח, כמובן, הראשון, השני, האחרון, שניהם, תמשיך, קדימה, תעשה את זה,
		بله, آره, نه, حتما, البته, اولی, دومی, آخری, هر دو, ادامه بده, انجام بده, بکن`,
	roleAssent: `
		rendben, oké, oke, értem, jól van, szuper, király, tökéletes, nagyszerű,
		εντάξει, οκ, κατάλαβα, τέλεια, ωραία, μάλιστα, σύμφωνοι, μπράβο,
		добре, гаразд, зрозуміло, зрозумів, зрозуміла, чудово, клас, супер, домовились,
		hieu roi, duoc roi, tuyet voi, hay qua, tot qua,
		baik, oke, siap, mengerti, paham, mantap, keren, bagus sekali, setuju,
		โอเค, เข้าใจแล้ว, ตกลง, เยี่ยม, สุดยอด, ดีมาก, เจ๋ง, รับทราบ,
		בסדר, הבנתי, אוקיי, סבבה, מעולה, מושלם, יופי, אחלה,
		باشه, اوکی, فهمیدم, عالی, خوبه, حله, چشم, ایول`,
	roleThanks: `
		köszi, köszönöm, köszönöm szépen, kösz, köszi szépen, hálás vagyok, ennyi, ez minden, ennyi volt, mindegy, hagyd, felejtsd el,
		ευχαριστώ, ευχαριστώ πολύ, σ ευχαριστώ, χίλια ευχαριστώ, αυτά, αυτό ήταν, τίποτα άλλο, άστο, άσ το, δεν πειράζει,
		дякую, дуже дякую, щиро дякую, спасибі, красно дякую, це все, більше нічого, забудь, не треба, неважливо,
		cam on, cam on ban, cam on nhieu, cam on nha, het roi, thoi khoi, khong can, khong sao,
		terima kasih, makasih, makasi, terimakasih, terima kasih banyak, trims, itu saja, sudah cukup, ga jadi, nggak jadi, lupakan saja,
		ขอบคุณ, ขอบคุณมาก, ขอบใจ, แต๊งกิ้ว, แค่นี้, แค่นี้แหละ, ไม่เป็นไร, ช่างเถอะ, ไม่ต้อง,
		תודה, תודה רבה, המון תודה, אלוף, זהו, זה הכל, עזוב, לא משנה, לא צריך,
		ممنون, مرسی, ممنونم, خیلی ممنون, متشکرم, سپاس, دستت درد نکنه, همین, همین بود, بیخیال, ولش کن, مهم نیست`,
	roleBye: `
		viszlát, szervusz, jó éjt, jó éjszakát, holnap találkozunk, minden jót, viszontlátásra,
		αντίο, καληνύχτα, τα λέμε, γεια χαρά, καλό βράδυ, καλό σαββατοκύριακο,
		до побачення, бувай, на добраніч, до завтра, па па, гарних вихідних, побачимось,
		tam biet, ngu ngon, hen gap lai, chuc ngu ngon, mai gap,
		sampai jumpa, selamat tinggal, selamat malam, selamat tidur, sampai besok, dadah,
		ลาก่อน, บาย, ราตรีสวัสดิ์, ฝันดี, แล้วเจอกัน, เจอกันพรุ่งนี้,
		להתראות, ביי, לילה טוב, נתראה מחר, סוף שבוע נעים, שבוע טוב,
		خداحافظ, خدافظ, شب بخیر, فردا میبینمت, بدرود`,
	roleGreet: `
		szia, sziasztok, helló, jó reggelt, jó napot, jó estét, szevasz, csá,
		γεια, γεια σου, καλημέρα, καλησπέρα, χαίρετε, γειά,
		вітаю, добрий ранок, доброго ранку, доброго дня, доброго вечора, здоров, вітання,
		xin chao, chao ban, chao buoi sang,
		halo, selamat pagi, selamat siang, selamat sore, assalamualaikum,
		สวัสดี, หวัดดี, ฮัลโหล, อรุณสวัสดิ์,
		שלום, היי, בוקר טוב, ערב טוב, אהלן, צהריים טובים,
		سلام, درود, صبح بخیر, عصر بخیر`,
	roleGoesOn: `
		és ha, és akkor, mi van ha, és mi van, vagy inkább, kivéve,
		και αν, αλλά, τι γίνεται με, ή, εκτός, χωρίς, κι αν,
		і, або, але, а якщо, а як щодо, крім, без,
		con neu, the con, hoac la, nhung ma,
		bagaimana kalau, gimana kalau, atau, tapi, kecuali, kalau,
		แล้ว, แล้วถ้า, หรือ, แต่, ยกเว้น, ถ้า,
		ואם, אבל, או, ומה עם, מה לגבי, חוץ,
		اگه, اگر, ولی, یا, بجز, پس`,
	roleRefers: `
		azt, ezt, arra, erre, ugyanaz, ugyanazt, megint, újra, másik, másikat, inkább, rövidebb, rövidebben, hosszabb, olcsóbb, jobban, kevésbé, következő, előző,
		αυτό, αυτά, αυτή, αυτόν, αυτήν, εκείνο, το ίδιο, ξανά, πάλι, άλλο, άλλη, πιο, λιγότερο, καλύτερα, επόμενο, προηγούμενο, φθηνότερο,
		це, цей, ця, те, той, його, її, їх, те саме, знову, ще раз, інший, інше, інша, краще, коротше, довше, дешевше, наступний, попередній,
		cai nay, cai do, cai kia, nhu vay, lan nua, cai khac, ngan hon, dai hon, re hon,
		ini, itu, yang itu, yang ini, sama, lagi, yang lain, lebih pendek, lebih panjang, lebih murah, sebelumnya, berikutnya,
		อันนี้, อันนั้น, นี้, นั้น, มัน, อีกครั้ง, อีกที, อันอื่น, กว่า, สั้นลง, ยาวขึ้น, เหมือนเดิม, ถัดไป,
		אותו, אותה, הזה, הזאת, ההוא, שוב, עוד פעם, אחר, אחרת, יותר, פחות, במקום, הבא, הקודם,
		این, اون, آن, همون, همین, دوباره, باز, یکی دیگه, دیگه, بیشتر, کمتر, بعدی, قبلی, کوتاه تر`,
	roleAside: `
		egyébként, amúgy, más téma, mellesleg, más kérdés,
		παρεμπιπτόντως, άλλο θέμα, κάτι άλλο,
		до речі, інше питання, інша тема,
		nhan tien, chuyen khac, cau hoi khac,
		ngomong ngomong, btw, topik lain, pertanyaan lain,
		ว่าแต่, อีกเรื่อง, เปลี่ยนเรื่อง,
		אגב, דרך אגב, נושא אחר, שאלה אחרת,
		راستی, یه چیز دیگه, موضوع دیگه`,
}
