//nolint:misspell // the words are of many languages
package conversation

import (
	"cmp"
	"slices"
	"strings"
)

// ownMarks are brackets that people, and gateways in front of texts that are no
// person's, begin a text with; in lower case.
var ownMarks = setOf(`
	draft, urgent, todo, bug, question, note, idea, feature, feature request, fix, fixed, solved, update, test, testing, help, info, help wanted, meta, ot, off topic,
	link, image, audio, photo, video, sticker, voice message, translation, title, subject, placeholder, your name, name, company, date, spoiler, edit, edited, warning, error, debug, important,
	chorus, verse, intro, outro, bridge, laughs, optional, required, question 1, task, task 1, part 1, step 1,
	entwurf, dringend, frage, notiz, idee, wichtig, aufgabe, brouillon, borrador, urgente, pregunta, nota, bozza, domanda, rascunho, pergunta, concept, vraag, taslak, acil, soru,
	черновик, срочно, вопрос, заметка, задача, важно, مسودة, عاجل, سؤال,
	草稿, 紧急, 緊急, 问题, 問題, 质问, 質問, 备注, 備註, 重要, 下書き, 至急, 图片, 圖片, 链接, 連結, 表情, 微笑, 笑, 语音, 視頻, 视频, 任务, 任務, 초안, 긴급, 질문, 중요,
	system, system message, subagent context, subagent task, startup context, bootstrap pending, internal task completion event, inter-session message`)

// htmlTags are the elements that people paste: HTML, SVG and the heads of feeds
// and build files.
var htmlTags = setOf(`
	html, head, body, title, base, link, meta, style, script, noscript, template, slot, main, section, nav, article, aside, h1, h2, h3, h4, h5, h6, header, footer, address,
	p, hr, pre, blockquote, ol, ul, li, dl, dt, dd, figure, figcaption, div, a, em, strong, small, s, cite, q, dfn, abbr, ruby, rt, rp, data, time, code, var, samp, kbd, sub, sup,
	i, b, u, mark, bdi, bdo, span, br, wbr, ins, del, picture, source, img, iframe, embed, object, param, video, audio, track, map, area, table, caption, colgroup, col, tbody,
	thead, tfoot, tr, td, th, form, label, input, button, select, datalist, optgroup, option, textarea, output, progress, meter, fieldset, legend, details, summary, dialog, menu,
	canvas, center, font, big, strike, tt, svg, g, path, rect, circle, ellipse, line, polyline, polygon, text, tspan, defs, use, symbol, marker, mask, pattern, image, filter, math,
	project, dependency, dependencies, configuration, config, settings, beans, bean, rss, feed, channel, item, entry, urlset, soap:envelope, plist, manifest, resources, root, xml, note, user, users, person, order, orders, book, catalog, data-set, row, rows`)

// subjectWords are in labels that name a subject and no person; in lower case.
var subjectWords = setOf(`
	the, of, for, and, in, on, to, my, our, new, old, next, last, this, project, report, weekly, daily, monthly, meeting, minutes, notes, agenda, update, status, plan, roadmap, release, version, sprint, ticket, issue,
	team, group, channel, room, chat, thread, topic, support, sales, marketing, engineering, design, finance, legal, office, home, house, kitchen, garden, bedroom, bathroom, garage, car, school, work, family, holiday, trip, travel, flight, hotel, recipe,
	shopping, list, todo, invoice, contract, order, offer, customer, server, cluster, database, backend, frontend, api, app, website, site, build, deploy, pipeline, test, tests, bug, feature, docs, documentation, config, security, backup, log, logs, error, alert, news, weather, music,
	kubernetes, docker, linux, windows, macos, android, iphone, ipad, python, java, javascript, typescript, golang, rust, react, node, github, gitlab, jira, slack, notion, excel, word, outlook, gmail, spotify, netflix, youtube, whatsapp, telegram, discord,
	postgres, mysql, redis, nginx, grafana, prometheus, terraform, ansible, jenkins, aws, azure, openclaw, english, german, french, spanish, italian, portuguese, russian, turkish, arabic, hindi, korean, chinese, japanese, math, physics, chemistry, biology, history,
	assistant, bot, city, street, north, south, east, west, saint, san, santa, los, las, monday, tuesday, wednesday, thursday, friday, saturday, sunday, january, february, march, april, may, june, july, august, september, october, november, december,
	projekt, bericht, besprechung, protokoll, einkauf, liste, wohnung, haus, küche, garten, schule, arbeit, urlaub, reise, rechnung, vertrag, angebot, kunde, proyecto, informe, reunión, lista, casa, cocina, viaje, factura, projet, rapport, réunion, liste, maison, cuisine, voyage, facture,
	projeto, relatório, reunião, viagem, progetto, rapporto, riunione, viaggio, проект, отчёт, отчет, встреча, список, дом, кухня, поездка, счёт, proje, rapor, toplantı, alışveriş`)

// places are written like a person's name; in lower case.
var places = setOf(`
	berlin, hamburg, munich, münchen, cologne, köln, frankfurt, stuttgart, leipzig, dresden, vienna, wien, graz, salzburg, zurich, zürich, geneva, genf, genève, basel, bern, paris, lyon, marseille, bordeaux, toulouse, nice, lille, strasbourg, brussels, bruxelles, brüssel, antwerp,
	amsterdam, rotterdam, utrecht, london, manchester, liverpool, birmingham, leeds, bristol, edinburgh, glasgow, cardiff, belfast, dublin, cork, madrid, barcelona, valencia, seville, sevilla, malaga, málaga, bilbao, lisbon, lisboa, lissabon, porto, rome, roma, rom, milan, milano, mailand,
	naples, napoli, turin, torino, florence, firenze, florenz, venice, venezia, venedig, bologna, palermo, athens, athen, istanbul, ankara, izmir, antalya, warsaw, warszawa, krakow, kraków, prague, praha, prag, brno, bratislava, budapest, bucharest, sofia, belgrade, zagreb, ljubljana, sarajevo,
	copenhagen, københavn, stockholm, gothenburg, oslo, bergen, helsinki, tallinn, riga, vilnius, kyiv, kiev, lviv, odessa, minsk, moscow, moskau, москва, петербург, казань, новосибирск, сочи, киев, минск, tbilisi, yerevan, baku, tashkent, almaty, dubai, doha, riyadh, jeddah, kuwait, beirut, amman,
	jerusalem, haifa, cairo, kairo, casablanca, marrakesh, tunis, algiers, lagos, accra, nairobi, kampala, johannesburg, pretoria, durban, delhi, mumbai, bangalore, bengaluru, chennai, kolkata, hyderabad, pune, karachi, lahore, islamabad, dhaka, colombo, kathmandu, bangkok, phuket, hanoi, saigon,
	singapore, jakarta, bali, manila, tokyo, osaka, kyoto, nagoya, sapporo, fukuoka, seoul, busan, taipei, kaohsiung, beijing, shanghai, shenzhen, guangzhou, chengdu, wuhan, hangzhou, macau, sydney, melbourne, brisbane, perth, adelaide, auckland, wellington, toronto, montreal, vancouver, ottawa,
	calgary, quebec, boston, chicago, seattle, portland, denver, dallas, houston, austin, phoenix, miami, orlando, atlanta, philadelphia, washington, detroit, nashville, honolulu, hawaii, california, texas, florida, havana, lima, bogota, bogotá, medellin, medellín, quito, caracas, santiago, montevideo,
	brasilia, brasília, salvador, recife, fortaleza, curitiba, germany, deutschland, austria, österreich, switzerland, schweiz, france, frankreich, spain, españa, spanien, portugal, italy, italia, italien, greece, griechenland, turkey, türkei, poland, polen, czechia, hungary, romania, bulgaria, croatia,
	kroatien, serbia, slovenia, ukraine, russia, россия, england, scotland, schottland, wales, ireland, irland, iceland, island, norway, norwegen, sweden, schweden, finland, finnland, denmark, dänemark, belgium, belgien, netherlands, niederlande, luxembourg, israel, egypt, ägypten, morocco, marokko,
	nigeria, kenya, india, indien, pakistan, china, japan, korea, taiwan, vietnam, thailand, malaysia, indonesia, philippines, australia, australien, canada, kanada, mexico, méxico, brazil, brasil, brasilien, argentina, chile, peru, perú, colombia, cuba, usa, uk, eu, europe, europa, asia, africa, america, mallorca,
	new york, hong kong, buenos aires, rio de janeiro, são paulo, sao paulo, mexico city, kuala lumpur, tel aviv, abu dhabi, cape town, costa rica, sri lanka, puerto rico, el salvador, côte d'azur, palma de mallorca, baden baden,
	frankfurt am main, tierra del fuego, nova scotia, british columbia, silicon valley, central park, times square, great britain, united kingdom, united states, saudi arabia, sierra leone, cabo verde, burkina faso, papua nova,
	高雄, 江苏, 江蘇, 金门, 金門, 金山, 徐州, 郑州, 鄭州, 温州, 温泉, 石家庄, 葫芦岛, 马来西亚, 马德里, 林芝, 田园, 方案, 白板, 任务, 于是, 余额, 范围, 钱包, 高铁, 高考, 马上, 黄金, 黄山, 何时, 严重, 万圣节, 安全, 安排, 金融, 程序, 武汉, 石油, 夏天, 夏威夷, 宋朝, 唐朝, 曼谷, 韩国, 韓國, 泰国, 汤, 戴尔, 康复,
	서울, 한국, 강원도, 강릉, 김포, 김해, 이탈리아, 이집트, 이메일, 이슈, 이벤트, 정리, 정보, 조사, 최신, 신규, 오류, 오늘, 한글, 안내, 권한, 전화, 홍콩, 황사, 유럽, 양식, 고양, 문제, 문서, 배포, 백업, 남산, 노트, 하노이, 성능`)

// surnames begin names in Chinese, Japanese and Korean.
var surnames = func() map[string]bool {
	out := setOf(`
	佐藤, 鈴木, 高橋, 田中, 伊藤, 渡辺, 山本, 中村, 小林, 加藤, 吉田, 山田, 佐々木, 山口, 松本, 井上, 木村, 林, 斎藤, 清水, 山崎, 森, 池田, 橋本, 阿部, 石川, 山下, 中島, 石井, 小川, 前田, 岡田, 長谷川, 藤田, 後藤, 近藤, 村上, 遠藤, 青木, 坂本, 福田, 太田, 西村, 藤井, 藤原, 岡本, 三浦, 中野, 原田, 松田,
	欧阳, 歐陽, 司马, 司馬, 诸葛, 上官, 夏侯`)
	for _, r := range "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅高郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾萧蕭田董潘袁蔡蒋蔣余于杜叶葉程魏苏蘇吕呂丁任卢盧姚沈钟鍾姜崔谭譚陆陸范汪廖石金韦韋贾賈夏付方邹鄒熊白孟秦邱侯江尹薛闫阎雷龙龍段郝孔邵史毛常万萬顾顧赖賴武康贺賀严嚴钱錢洪龚龔" +
		"김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국" {
		out[string(r)] = true
	}
	return out
}()

// honorifics end names in Japanese, Korean and Chinese.
var honorifics = listOf(`さん, くん, ちゃん, 様, 先生, 님, 씨, 小姐, 女士, 老师, 老師`)

// courtesies are thanks, assent and greetings in lower case, the longest first.
var courtesies = func() []string {
	list := listOf(`
	thank you very much, thank you so much, thank you all, thank you, thanks a lot, thanks so much, thanks a million, thanks again, many thanks, thanks, thx, ty, tysm, cheers, much appreciated, appreciated, no worries, no problem, sounds good, got it, understood, noted, perfect, great, nice, cool, okay, ok, k,
	you are the best, you're the best, well done, good job, great job, excellent, brilliant, lovely, amazing, good, fine, all good, no rush, take your time, take care, have a nice day,
	hello, hi there, hi, hey, good morning, good afternoon, good evening, good night, bye, see you, see you later, please, sorry, lol, haha, sure, yes, yep, yeah, wonderful, awesome, for your help, for that, for everything, so much, very much, in advance,
	vielen lieben dank, vielen dank, herzlichen dank, besten dank, tausend dank, danke schön, dankeschön, danke sehr, danke dir, danke, dank dir, super, prima, toll, klasse, perfekt, alles klar, alles gut, verstanden, guten morgen, guten tag, guten abend, gute nacht, hallo, tschüss, bis später, bitte, ja, gut, sehr gut, für deine hilfe, im voraus, merci vielmals,
	merci beaucoup, merci bien, merci infiniment, mille mercis, merci d'avance, merci, parfait, génial, super, d'accord, très bien, entendu, bonjour, bonsoir, salut, au revoir, oui, pour ton aide, pour votre aide,
	muchísimas gracias, muchas gracias, mil gracias, gracias de antemano, gracias, te lo agradezco, perfecto, genial, estupendo, vale, de acuerdo, entendido, hola, buenos días, buenas tardes, buenas noches, sí, adiós, por tu ayuda, por todo, de nada,
	grazie mille, mille grazie, tante grazie, molte grazie, grazie infinite, grazie, ti ringrazio, perfetto, ottimo, benissimo, ciao, buongiorno, buonasera, va bene, d'accordo, sì, prego, per l'aiuto,
	muito obrigado, muito obrigada, obrigadão, obrigadinho, obrigado, obrigada, valeu, perfeito, ótimo, beleza, tá bom, está bem, olá, oi, bom dia, boa tarde, boa noite, sim, tchau, pela ajuda,
	hartelijk dank, heel erg bedankt, dank je wel, dankjewel, dank u wel, bedankt, dank je, dank u, top, prima, goed, tack så mycket, tusen tack, tack, mange tak, tusind tak, tak, takk, kiitos, dziękuję bardzo, dziękuję, dzięki, děkuji, díky, ďakujem, köszönöm, mulțumesc, hvala, ευχαριστώ πολύ, ευχαριστώ, дякую, cảm ơn, terima kasih, makasih, salamat, ขอบคุณ, תודה רבה, תודה,
	hoi, goedemorgen, cześć, dzień dobry, hej, kiitos paljon, moikka, ahoj, mersi, bună ziua,
	çok teşekkür ederim, çok teşekkürler, teşekkür ederim, teşekkürler, çok sağ ol, sağ ol, sağol, eyvallah, harika, süper, tamam, tamamdır, merhaba, selam, günaydın, evet, görüşürüz,
	большое спасибо, спасибо большое, огромное спасибо, спасибо, благодарю, отлично, хорошо, понял, поняла, понятно, супер, здравствуйте, привет, доброе утро, пока, ладно, да, за помощь,
	شكرا جزيلا, شكراً جزيلاً, شكرا لك, شكراً لك, شكرا, شكراً, ألف شكر, مشكور, ممتاز, رائع, تمام, حسنا, مرحبا, أهلا, صباح الخير, مع السلامة, نعم, جزاك الله خيرا, جزيلا, لك,
	बहुत बहुत धन्यवाद, बहुत धन्यवाद, आपका धन्यवाद, धन्यवाद, बहुत शुक्रिया, शुक्रिया, नमस्ते, ठीक है, बढ़िया, अच्छा, हाँ, dhanyavaad, dhanyavad, shukriya,
	非常感谢, 万分感谢, 十分感谢, 太感谢了, 感谢你, 感谢您, 谢谢你, 谢谢您, 谢谢啦, 谢谢, 多谢, 谢啦, 谢了, 感谢, 辛苦了, 太好了, 太棒了, 不错, 明白了, 明白, 知道了, 好的, 好吧, 好哒, 收到, 你好, 您好, 早上好, 晚安, 再见, 非常感謝, 謝謝你, 謝謝您, 謝謝, 多謝, 感謝, 收到了, 嗯嗯, 嗯, 好, 了, 啦, 呀, 啊, 的,
	どうもありがとうございます, ありがとうございました, ありがとうございます, どうもありがとう, 本当にありがとう, ありがとう, ありがと, サンキュー, 助かりました, 助かります, 助かる, 感謝します, 感謝です, お疲れ様です, お疲れ様, わかりました, 分かりました, 承知しました, 了解しました, 了解です, 了解, こんにちは, おはようございます, おはよう, お願いします, はい, うん, どうも, 本当に, です, ね, よ,
	정말 감사합니다, 감사합니다, 감사해요, 감사, 고맙습니다, 고마워요, 고마워, 땡큐, 수고하셨습니다, 수고했어요, 수고, 알겠습니다, 알겠어요, 알았어, 네네, 네, 넵, 좋아요, 좋아, 최고, 안녕하세요, 안녕, 정말, 너무, 진짜`)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return list
}()

// maxCourtesyChars bounds what can be only a courtesy.
const maxCourtesyChars = 80

func listOf(list string) []string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

func setOf(list string) map[string]bool {
	out := map[string]bool{}
	for _, entry := range listOf(list) {
		out[entry] = true
	}
	return out
}
