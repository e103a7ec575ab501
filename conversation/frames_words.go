package conversation

import "strings"

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

// courtesies are thanks, assent and greetings, longest first where one holds the
// other; in lower case.
var courtesies = listOf(`
	thank you very much, thank you so much, thanks a lot, thanks so much, many thanks, thank you, thanks, thx, cheers, no worries, no problem, sounds good, got it, perfect, great, nice, cool, okay, ok,
	hello, hi, hey, good morning, good evening, good night, bye, see you, please, sorry, lol, haha, sure, yes, yep, wonderful, awesome,
	vielen dank, danke schön, danke, super, prima, alles klar, guten morgen, hallo, tschüss, bitte, ja, gut,
	merci beaucoup, merci, parfait, d'accord, bonjour, salut, super, oui, muchas gracias, gracias, perfecto, vale, hola, sí, adiós, grazie mille, grazie, perfetto, ciao, va bene,
	muito obrigado, muito obrigada, obrigado, obrigada, perfeito, olá, dank je wel, dankjewel, bedankt, dank je, top, teşekkür ederim, teşekkürler, sağ ol, tamam, merhaba,
	большое спасибо, спасибо, отлично, хорошо, привет, пока, ладно, да, شكرا جزيلا, شكرا, شكراً, تمام, مرحبا, धन्यवाद, शुक्रिया, नमस्ते, ठीक है,
	非常感谢, 谢谢你, 谢谢, 感谢, 好的, 好吧, 收到, 你好, 您好, 再见, 謝謝, 感謝, 收到了, 嗯嗯, 嗯, 好, ありがとうございます, ありがとう, 了解です, 了解, こんにちは, お願いします, はい, 감사합니다, 고마워요, 고마워, 네, 좋아요, 안녕하세요`)

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
