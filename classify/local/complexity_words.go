//nolint:misspell // the words are of many languages
package local

import "strings"

// effort is what a word says about the work that is asked for.
type effort int

const (
	effortNone   effort = iota
	effortLarge         // something that takes many steps to make
	effortHard          // work that takes thought
	effortReason        // a question for reasons
	effortStep          // puts one thing after another
	effortFact          // begins a question of fact
)

// effortOf holds words, and pairs of characters; effortOfStart beginnings of words.
var effortOf, effortOfStart = readEfforts(map[effort]string{
	effortLarge: largeWords, effortHard: hardWords, effortReason: reasonWords, effortStep: stepWords, effortFact: factWords,
})

// readEfforts reads lists of words; one that ends in a hyphen is the beginning of words.
func readEfforts(lists map[effort]string) (words, starts map[uint64]effort) {
	words, starts = map[uint64]effort{}, map[uint64]effort{}
	for of, list := range lists {
		for word := range strings.FieldsSeq(list) {
			if start, ok := strings.CutSuffix(word, "-"); ok {
				starts[hashWord(folded(start))] = of
			} else {
				words[hashWord(folded(word))] = of
			}
		}
	}
	return words, starts
}

// Chinese and Japanese words are two characters long, in simplified form (see compared).
const (
	largeWords = `
	whole entire complete completely everything scratch comprehensive thorough thoroughly detailed indepth
	app apps application website platform backend frontend monolith microservices tenancy downtime dashboard dashboards runbook runbooks
	dissertation thesis novel chapters curriculum course dossier literature roadmap strategy tender itinerary handbook manual
	retire retirement honeymoon renovation
	komplett- vollständig- gesamt- ganzheitlich- umfassend- ausführlich- konzept- geschäftsplan- businessplan- dissertation- doktorarbeit- roman kapitel ausschreibung- förderantrag- gutachten-
	schulungs- rundreise hochzeitsreise altersvorsorge lagerverwaltung- webseite webanwendung plattform
	completo completa entero entera detallad- exhaustiv-  inventario plataforma tesis novela capítulos oposiciones temario jubilación
	complet complète entier entière détaillé- approfondi- exhaustif dossier roman chapitres plateforme retraite
	completa completo intero intera dettagliat- approfondit- tesi romanzo capitoli piattaforma nozze pensione
	completo completa inteiro inteira detalhad- aprofundad- tese romance capítulos plataforma aposentadoria
	volledig- compleet complete uitgebreid- scriptie proefschrift roman hoofdstukken subsidieaanvraag begroting platform pensioen
	полностью полный полную полного целиком подробн- всесторонн- диссертаци- диплом роман глав платформ- приложени- сайт бота бот обзор рынка админк-
	kapsamlı ayrıntılı baştan komple bütün tez roman platform uygulama emeklilik fizibilite
	pełny pełną cały całą kompletn- szczegółow- rozpraw- powieść rozdział- platform- aplikacj- regulamin emerytur-
	كاملة كامل شاملة شامل مفصلة مفصل دراسة جدوى أطروحة رواية تطبيق منصة
	पूरा पूरी संपूर्ण विस्तृत कार्यक्रम उपन्यास अध्याय ऐप वेबसाइट शोध
	toàn đầy hoàn luận
	komplett hela hel fullständig- detaljerad- avhandling roman kapitel affärsplan app webbplats
	完整 全面 详细 整套 全套 系统 平台 小程 程序 网站 架构 论文 小说 章节 报告 方案 招标 投标 标书 创业 商业 行程 教程 课程 微服 全部 大纲
	網站 報告 論文 小說 詳細 行程 課程 企画 計画書 全部 小説 論文 詳細 一式 本格 七泊 旅程 卒論
	전체 처음 완전 상세 사업 논문 소설 플랫 쇼핑 백엔 마이 로드 커리 사이`

	// Long times are here, too: what takes three weeks is planned.
	hardWords = `
	design redesign architect architecture architectural refactor refactoring implement implementing implementation
	analyze analyse analysis analyzing evaluate evaluation assess compare comparison comparing contrast
	migrate migration migrating optimize optimise optimization diagnose troubleshoot investigate
	research plan planning proposal integrate integration derive simulate essay debug debugging
	tradeoff tradeoffs scalable benchmark audit develop build rewrite split automate organise organize prepare weigh forecast forecasts budget recommendation monitoring
	weeks months
	planen geplant planung entwirf entwerfen entwickl- konzipier- analys- vergleich- migrier- optimier- recherchier- untersuch- überarbeit- umbauen aufbauen refaktor- implementier- auswert- erstelle organisier- wochen monate kosten
	diseñ- planific- planea analiz- compar- investig- desarroll- migr- optimiz- organiz- reescrib- semanas meses presupuesto plan
	conçois concevoir planifi- analys- compar- développ- optimis- organis- élabor- étudie réécri- propose semaines mois budget
	progett- pianific- confront- svilupp- ottimizz- organizz- riscriv- settimane mesi
	planej- desenvolv- projet- otimiz- reescrev- monta semanas orçamento
	ontwerp- ontwikkel- analyseer- vergelijk- onderzoek- herschrijf- plannen weken maanden planning
	спроектир- разработ- проанализ- сравни- исследу- спланир- подготов- оптимиз- перепиш- сделай недел- месяц-
	tasarla- geliştir- planla- planı karşılaştır- analiz araştır- hazırla hafta bütçe-
	zaprojekt- zaplan- przeanaliz- porówn- opracuj- przygotuj- tygodni miesięcy
	صمم خطط حلل قارن طور أعد ابحث خطة
	योजना विश्लेषण तुलना डिज़ाइन तैयार बनाओ महीने
	lập phân thiết
	planera utveckla analysera jämför designa veckor
	设计 重构 实作 实现 分析 评估 比较 对比 迁移 优化 除错 调试 诊断 排查 研究 规划 策略 整合 推导 证明 深入 开发 重写 统整 调研 搭建 安排 预算 制定 自动
	設計 重構 實現 評估 比較 遷移 優化 除錯 診斷 規劃 調查 架構 開發 実装 検討 最適 改善 計画 分析 構築 企画 予算 比較 調査 開発 自動
	설계 분석 비교 계획 개발 구축 조사 최적 자동 예산`

	reasonWords = `
	why explain explained difference reasons cause causes prove should worth mean
	warum wieso weshalb erkläre erklär unterschied lohnt sollte
	porque explica explícame diferencia vale debería conviene
	pourquoi explique différence vaut devrais
	perché spiega spiegami differenza conviene
	porquê explica explique diferença compensa
	waarom uitleg verschil почему объясни разница стоит neden açıkla fark dlaczego wyjaśnij różnica lepiej لماذا اشرح الفرق क्यों समझाओ अंतर
	为什 什麼 解释 区别 原理 怎么 要不 なぜ 説明 違い 理由 설명 차이 이유 어째`

	stepWords = `
	then afterwards afterward finally next lastly secondly thirdly additionally furthermore moreover followed subsequently meanwhile
	然后 然後 接着 接著 最后 最後 并且 並且 另外 同时 同時 再来 再來 其次 此外 之后 之後 次に`

	factWords = `
	what whats who whos when whens where wheres where which whose many much long old far big tall is are did any
	was wer wann wo wieviel welche welcher hauptstadt qué que quién cuándo dónde cuánto cuántos cuál quel quelle qui quand où combien chi quando dove quanto quanti quale
	quem onde qual quantos wat wie wanneer waar hoeveel сколько кто когда где какой kaç kim nerede hangi ile kto kiedy gdzie jaki من متى أين كم क्या कौन कब कहाँ कितना
	多少 意思 几个 几只 几天 出自 谁说 哪个 哪里 什么 几点 谁写 看一 何時 どこ どち いつ 誰が 高さ いくら 몇시 누가 언제 어디 얼마`
)
