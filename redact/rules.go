package redact

import (
	"regexp"
	"strings"
)

// A rule finds one form of personal data or secrets in a line.
//
// Its pattern begins with ^ and is tried at the positions that near returns.
// The last matching group is replaced; the rest of the pattern distinguishes it
// from other text. Lines include the end of the line before and their own, so
// that there is a character on either side.
type rule struct {
	name    string
	mark    mark
	near    finder
	pattern *regexp.Regexp
	check   func(match) (start, end int) // returns what is replaced, perhaps nothing; nil means the last group
}

// A match of a pattern in a line.
type match struct {
	pattern *regexp.Regexp
	line    []byte
	at      []int // positions in line, as from [regexp.Regexp.FindSubmatchIndex]
}

// last returns the position of the last matching group.
func (m match) last() (start, end int) {
	i := len(m.at) - 2
	for m.at[i] < 0 {
		i -= 2
	}
	return m.at[i], m.at[i+1]
}

// group returns the text of a group by its name, nil if it did not match.
func (m match) group(name string) []byte {
	i := m.pattern.SubexpIndex(name)
	if i < 0 || m.at[2*i] < 0 {
		return nil
	}
	return m.line[m.at[2*i]:m.at[2*i+1]]
}

// find returns the first match in line[from:].
func find(pattern *regexp.Regexp, line []byte, from int) (match, bool) {
	at := pattern.FindSubmatchIndex(line[from:])
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	return match{pattern, line, at}, at != nil
}

// pattern compiles a regular expression in which {W} stands for the letters of
// scripts without spaces, and {L} for other letters than Latin ones. Line ends
// and tabs in it are ignored.
func pattern(s string) *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer("{W}", wide, "{L}", letters, "\n", "", "\t", "").Replace(s))
}

// longest compiles a pattern that prefers long matches.
func longest(s string) *regexp.Regexp {
	p := pattern(s)
	p.Longest()
	return p
}

// rules are applied in this order to each line.
var rules = []rule{
	{"key of a known issuer", apiKey, atStart(beginnings(issuers)...), pattern(alternatives(issuers)), nil},
	{"key with a short beginning", apiKey, atStart(beginnings(shortIssuers)...), pattern(alternatives(shortIssuers)), checkOpaque},
	{"AWS", apiKey, atStart("AKIA"), pattern(`^(AKIA[A-Z0-9]{16})[^A-Za-z0-9]`), nil},
	{"Discord", apiKey, atStart("M", "N", "O"), pattern(`^([MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,})`), checkDiscord},
	{"sk- key", apiKey, atStart("sk-"), pattern(`^(sk-[\w-]+)`), checkOtherKey},
	{"JWT", apiKey, atWord("eyj"), pattern(`^(eyJ[\w-]{7,}\.[\w.-]{3,}[\w-])`), nil},
	{"Telegram bot", apiKey, at(":"), pattern(`^:[\w-]{30,46}([^\w-])`), checkTelegram},
	{"webhook", apiKey, at("hooks.slack.com", "discord"), pattern(`^(?:hooks\.slack\.com|discord(?:app)?\.com)/(?:services|api/webhooks|workflows|triggers)/([\w/-]{20,})`), nil},
	{"URL", apiKey, at("://"), pattern("^://(?:([^\\s\"<>`\\\\/?#]+)|([^\\s\"<>`\\\\/?#:@]*:[^\\d\\s\"<>`\\\\/?#@](?:[^\\s\"<>`\\\\:@]|:[^\\s\"<>`\\\\/@])*))@"), checkURL},
	{"Authorization", apiKey, at("authorization"), pattern(`^(?i)authorization.{0,16}?(?:bearer|basic)(?: {1,3}|\t|: ?)([\w.~+/=|-]{3,}[\w~+/=|-])`), nil},
	{"Authorization, another scheme", apiKey, at("authorization"), pattern(`^(?i)` + authorization + `(?:token|api-?key|key|bot|oauth|geniekey|splunk|negotiate|ntlm|sso-key|sharedkey|hmac)[ =]{1,2}\\?["']?([\w.~+/=:|-]{11,}[\w~+/=|-])`), checkBearer},
	{"Authorization, no scheme", apiKey, at("authorization"), pattern(`^(?i)` + authorization + `([\w~+=|-]{20,})`), checkRandom},
	{"Bearer", apiKey, atWord("bearer"), pattern(`^(?i)bearer(?:[ \t]{1,3}|:[ \t]{0,2})([\w.~+/=|-]{7,}[\w~+/=|-])`), checkBearer},
	{"Basic", apiKey, atWord("basic"), pattern(`^(?i)basic(?:[ \t]{1,3}|:[ \t]{0,2})([\w.~+/=|-]{7,}[\w~+/=|-])`), checkBasic},
	{"Set-Cookie", apiKey, at("set-cookie"), pattern(`^(?i:set-cookie)` + afterCookie + cookieName + `(` + cookieValue + `)`), checkCookie},
	{"Cookie", apiKey, at("cookie"), pattern(`^(?i:cookie)` + afterCookie + `(?:` + cookieName + `[^\s;"']{0,15}; ?)*` + cookieName + `(` + cookieValue + `(?:; ?` + cookieName + `[^\s;"']*)*)`), checkCookie},
	{"mysql -p", apiKey, atStart("mysql", "mariadb"), pattern(`^(?:mysql|mariadb)[a-z-]{0,16}(?: {1,3}-[^\s-]\S{0,63}(?: [^\s-]\S{0,63})?| {1,3}--\S{1,64}){0,8} {1,3}-p(?:"([^"]{1,64})"|'([^']{1,64})'|([^\s"'|;&<>]+))`), checkMySQL},
	{"SAS", apiKey, at("sig="), pattern(`^(?i:sig)=([\w%+/=-]{30,})`), nil}, // Azure
	{"JWK", apiKey, at(`"d"`), pattern(`^"[dD]" ?: ?"([\w-]{40,})"`), nil},
	{"netrc", apiKey, atWord("machine"), pattern(`^machine[ \t]{1,4}\S{1,128}[ \t]{1,4}login[ \t]{1,4}\S{1,64}[ \t]{1,4}password[ \t]{1,4}(\S+)`), checkValue},
	{"set NAME value", apiKey, atWord("set"), pattern(`^set(?: -[A-Za-z]{1,4}){0,3} [A-Z0-9_]{0,40}(?:KEY|TOKEN|SECRET|PASSWORD)[A-Z0-9_]{0,20} ["']?([^\s"'=][^\s"']{7,})`), checkValue}, // fish
	{"curl -u", apiKey, atStart("-u", "--user", "--proxy-user"), pattern(`^(?:-u|--user|--proxy-user)(?: ["']?|["'])((?P<name>[^\s"':]{1,64}):(?P<password>[^\s"']{1,128}))`), checkUser},
	{"curl -uNAME", apiKey, atWord("curl"), pattern(`^curl` + arguments + ` (?:-u|--(?:proxy-)?user=)["']?((?P<name>[^\s"':=-][^\s"':]{0,63}):(?P<password>[^\s"'/][^\s"']{0,127}))`), checkUser},
	{"docker login -p", apiKey, atWord("docker", "podman", "helm"), passwordOption(`(?:docker|podman|helm)(?: registry)? login`, "-p"), checkOption},
	{"redis-cli -a", apiKey, atWord("redis-cli"), passwordOption("redis-cli", "-a"), checkOption},
	{"unzip -P", apiKey, atWord("unzip"), passwordOption("unzip", "-P"), checkOption},
	{"sshpass -p", apiKey, atWord("sshpass"), passwordOption("sshpass", "-p"), checkOption},
	{"Digest", apiKey, after(atWord("digest "), "response="), pattern(`^response="?([0-9a-f]{32,64})\b`), nil},
	{"session cookie", apiKey, at("jsessionid", "phpsessid", "sessionid", "connect.sid"), pattern(`^(?:JSESSIONID|jsessionid|PHPSESSID|ASP\.NET_SessionId|sessionid|connect\.sid)=([^\s;,"'&:]{16,128})(?:[\s;,"'&]|$)`), checkBearer},
	{"docker config", apiKey, at(`"auth"`), pattern(`^"auth" ?: ?"([A-Za-z0-9+/]{8,}={0,2})"`), checkBasic},
	{"kubeconfig", apiKey, at("client-key-data"), pattern(`^client-key-data\\?["']?: ?\\?["']?([A-Za-z0-9+/=]{20,})`), nil},
	{"private key in hex", apiKey, atWord("private"), pattern(`^(?i:private[ _-]?key)\\?["']?(?: is|:|=|\s){1,3} ?\\?["']?((?:0x)?[0-9a-fA-F]{64})\b`), nil},

	{"name = value", apiKey, atName, pattern(`^` + secretName + afterName + `(?P<sep>[?!]?:[:=>]?=?|=[=>]?=?|!==?|[是为為は]:?)` + value), checkAssignment},
	{"name is value", apiKey, atName, pattern(`^` + secretName + ` (?i:is|was):? [ \t]{0,3}` + value), checkSaid},

	{"--name value", apiKey, beforeName("--"), pattern(`^--(?:[A-Za-z][\w.-]{0,40}?)?` + secretName + ` ` + value), checkAssignment},
	{"<name>value", apiKey, beforeName("<"), pattern(`^<(?:[A-Za-z][\w.-]{0,40}?)?` + secretName + `>` + value), checkAssignment},

	{"e-mail", email, at("@", "%40"), pattern(`^(?:@|%40)(\[[A-Za-z0-9.:]{3,46}\]|` + label + `(?:\.` + label + `)+)`), checkEmail},

	{"home on Windows", userName, behind(drive, driveOf, "users"), pattern(`^(?i:users)(?:
		\\{1,4}(?:(` + windowsUser + `)\\|(` + windowsWord + `))|
		\\{0,4}/{1,2}(` + windowsWord + capitals + note + `)\\{0,4}/|
		(?:\\{0,4}/{1,2}|%2[fF])(` + user + `))`), checkUserName},
	{"home on old Windows", userName, at("documents and settings"), pattern(`^(?i:documents and settings)\\{1,4}(?:(` + windowsUser + `)\\|(` + windowsWord + `))`), checkUserName},
	{"home", userName, behind(root, pathOf, "home"), pattern(`^home` + separator + `(` + user + `)`), checkUserName},
	{"home on macOS", userName, behind(anyRoot, pathOf, "users"), pattern(`^Users` + separator + `(` + user + `)`), checkUserName},

	{"card", card, atNumber(cardCanFollow), longest(`^\(?(?:(` + cards + `)(?:` + afterNumber + `|\.00[^\w.])|([2-9]\d{12,18})-)`), checkCard},
	{"phone", phone, atNumber(phoneCanFollow), longest(`^(?:(` + international + `|` + areaCoded + `)|\(?(?:(?P<zero>` + zeroArea + `)|(?P<pairs>` + pairs + `)|(?P<mobile>` + mobiles + `)|(?P<mixed>` + mixed + `)|(` + national + `)))` + afterNumber), checkPhone},
	{
		"phone with a name", phone,
		at("tel", "täl", "tlf", "тел", "Тел", "ТЕЛ", "phone", "mobil", "movil", "mävil", "portable", "handy", "cell", "celular", "gsm", "fax", "whatsapp", "call", "sms", "contact", "wa.me/",
			"电话", "電話", "手机", "手機", "携帯", "전화", "番号", "号码", "號碼", "번호"),
		pattern(`^(?:(?P<numbered>(?:番号|号码|號碼|번호)` + isNumber + `)(\d{7,18})|(?:
			` + phoneWord + `(?:(?P<colon>` + quote + colon + `)|[. ] {0,2}| (?i:is|ist|es|est) |` + quote + ` ?= ?` + quote + `(?:%2[bB])?)|
			(?P<sure>(?i:call|sms)` + quote + colon + `|wa\.me/|(?:电话|電話|手机|手機|携帯|전화)(?:番号|号码|號碼|번호)?` + isNumber + `)|
			(?P<contact>(?i:contact) ?: ?)|
			(?i:sms|fax|whatsapp) to )
			(\+?\(?\d(?:[ ()./-]{0,3}\d){6,17}))` + afterNumber), checkNamed,
	},
}

// arguments matches a few arguments of a command, not its end.
const arguments = `(?: [^\s;&|"']{0,79}[^\s;&|,"']){0,6}?`

// passwordOption compiles a pattern of a command with a password behind an option.
func passwordOption(command, option string) *regexp.Regexp {
	return pattern(`^` + command + arguments + ` ` + option + ` ?["']?([^\s"'$;&|][^\s"';&|]{0,127})`)
}

// An issuer's keys have one of a list of beginnings, followed by a match of
// more.
type issuer struct{ beginnings, more string }

// issuers have beginnings that no word has. Lengths are below those in use, so
// that cut keys are found as well, but above those of ordinary words.
var issuers = []issuer{
	{"sk-ant- sk-proj- sk-svcacct- sk-admin-", `[\w-]{12,}`}, // Anthropic, OpenAI
	{"sk-or-v1-", `\w{12,}`},                                 // OpenRouter
	{"github_pat_", `\w{16,}`},
	{"glpat- glrt-", `[\w.-]{11,}[\w-]`}, // GitLab
	{"gldt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-", `[\w-]{16,}`},
	{"xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xapp- xwfp-", `[A-Za-z0-9-]{10,}`}, // Slack
	{"xoxe. xoxe-", `[A-Za-z0-9.-]{9,}[A-Za-z0-9-]`},
	{"ya29. GOCSPX-", `[\w-]{16,}`},                                                      // Google
	{"sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_", `[A-Za-z0-9]{10,}`}, // Stripe
	{"api_org_", `[A-Za-z0-9]{20,}`},                                                     // Hugging Face
	{"pypi-", `[\w-]{40,}`},
	{"rubygems_ dop_v1_ doo_v1_ dor_v1_", `[A-Za-z0-9]{32,}`},                                     // DigitalOcean
	{"SG.", `[\w-]{16,}\.[\w.-]*[\w-]`},                                                           // SendGrid
	{"shpat_ shpss_ shpca_ shppa_", `[A-Za-z0-9]{24,}`},                                           // Shopify
	{"sq0atp- sq0csp- tskey-", `[\w-]{16,}`},                                                      // Square, Tailscale
	{"dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", `(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}`}, // Doppler
	{"pplx- nvapi-", `[\w-]{32,}`},                                                                // Perplexity, NVIDIA
	{"tvly- dckr_pat_", `[\w-]{20,}`},                                                             // Tavily, Docker
	{"lin_api_ vercel_ sntryu_ figd_ glsa_ sntrys_ ATATT3x ATCTT3x CFPAT- PMAK-", `[\w-]{24,}`},   // Linear, Vercel, Sentry, Figma, Grafana, Atlassian, Contentful, Postman
	{"AGE-SECRET-KEY-1", `[A-Za-z0-9]{20,}`},
	{"ops_eyJ", `[\w+/-]{20,}={0,3}`},                      // 1Password
	{"bedrock-api-key-YmVk", `[A-Za-z0-9+/%-]{20,}={0,2}`}, // AWS Bedrock, for hours
	{"secret_", `[A-Za-z0-9]{40,}`},                        // Notion
	{"AQ.Ab8", `[\w-]{20,}`},                               // Google
}

// shortIssuers have beginnings that words have as well: the rest must be
// opaque.
var shortIssuers = []issuer{
	{"ghp_ gho_ ghu_ ghs_ ghr_", `([A-Za-z0-9]{16,})`}, // GitHub
	{"AIza", `([\w-]{30,})`},                           // Google
	{"npm_ hf_", `([A-Za-z0-9]{20,})`},
	{"r8_ gsk_ ntn_", `([A-Za-z0-9]{30,})`}, // Replicate, Groq, Notion
	{"xai- EZAK", `([A-Za-z0-9]{40,})`},
	{"hvs. hvb.", `([\w-]{20,})`},                           // Vault
	{"phc_ phx_", `([A-Za-z0-9]{24,})`},                     // PostHog
	{"ABSK", `([A-Za-z0-9+/]{40,}={0,2})`},                  // AWS Bedrock, for longer
	{"sess-", `([A-Za-z0-9]{32,})`},                         // OpenAI
	{"sbp_", `([A-Za-z0-9]{32,})`},                          // Supabase
	{"re_", `(\w{24,})`},                                    // Resend
	{"rnd_", `([A-Za-z0-9]{24,})`},                          // Render
	{"sb_secret_", `([\w-]{16,})`},                          // Supabase
	{"fm1_ fm1r_ fm2_", `([A-Za-z0-9+/_=-]{20,})`},          // Fly
	{"SK key- fc- dapi", `([0-9a-fA-F]{32}[A-Za-z0-9-]*)`},  // Twilio, Mailgun, Firecrawl, Databricks
	{"LTAI", `([A-Za-z0-9]{16,})`},                          // Alibaba
	{"ASIA ABIA ACCA", `([A-Z0-9]{16})(?:[^A-Za-z0-9])`},    // AWS
	{"EAAA", `([\w-]{60})(?:[^\w+/=-])`},                    // Square
	{"SA SO SC SU SN SX", `([A-Z2-7]{56})(?:[^A-Za-z0-9])`}, // seeds of NATS
}

func beginnings(issuers []issuer) []string {
	var all []string
	for _, is := range issuers {
		all = append(all, strings.Fields(is.beginnings)...)
	}
	return all
}

func alternatives(issuers []issuer) string {
	var all []string
	for _, is := range issuers {
		all = append(all, `(?:`+strings.ReplaceAll(regexp.QuoteMeta(is.beginnings), " ", "|")+`)`+is.more)
	}
	return `^(` + strings.Join(all, "|") + `)`
}

// authorization is the header's name, and what stands between it and its value.
const authorization = `authorization\\?["']? ?[:=] ?\\?["']?`

// Parts of headers with cookies. A value that is a secret has 16 characters or more.
const (
	afterCookie = `\\?["']?(?: ?[:=] ?| )\\?["']?`
	cookieName  = `[^\s=;,"']{1,64}=`
	cookieValue = `[^\s;"'\x00]{16,}`
)

// Names of secrets; a prefix, as in db_password, is part of the name. Those with
// the same beginning stand together, which makes them cheap.
const secretName = `(?P<name>(?:(?i:
	pass(?:[-_.]?(?:word|wd|phrase|code|wort))?|pwd|pw|
	key(?:[-_.]?id)?|kennwort|
	secret(?:[-_.]?key[-_.]?base)?|senha|signature|
	credentials?|contrase[nä]a|
	token|mot[ _-]?de[ _-]?passe|пароль)|
	密码|密碼|密钥|密鑰|口令|金钥|金鑰|鍵|パスワード|비밀번호)[\d_]*)`

// Separators between a name and its value, and forms of values.
const (
	afterName = "[\\\\\"'`\\]*]{0,4}(?P<blanks>[ \\t]{0,4})"
	quoted    = `"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|` + "`([^`]*)`" + `|\\"(.*?)\\"|\\'(.*?)\\'|\\{2}"(.*?)\\{2}"|\\{3}"(.*?)\\{3}"`
	unquoted  = "(?P<open>\\\\{0,3}[\"'`])?(?P<plain>(?:[^\\s\"'`;<>|\\\\\\x{FFFD}{W}]|\\\\[^\\snrt\"'\\\\\\x{FFFD}{W}])+)"
	value     = `(?P<spaces>[ \t]{0,4})(?:` + quoted + `|` + unquoted + `)`
)

// atName finds positions where a name of a secret may begin.
var atName = at("pass", "pwd", "pw", "token", "secret", "key", "credential", "signature",
	"kennwort", "contrase", "senha", "mot de passe", "mot_de_passe", "mot-de-passe", "motdepasse", "пароль", "Пароль", "ПАРОЛЬ", "密", "口令", "パスワード", "비밀번호", "金", "鍵")

// A label of a domain.
const label = `(?:[A-Za-z0-9{L}](?:[A-Za-z0-9{L}-]*[A-Za-z0-9{L}])?|[{W}](?:[{W}A-Za-z0-9{L}-]*[{W}A-Za-z0-9{L}])?)`

// What precedes the home directories of a machine, as opposed to directories of
// a project or a site: a drive, the beginning of a path, a URL other than http
// or https, or a mount point. Users may have any path before it.
var (
	drive   = regexp.MustCompile(`(?:[A-Za-z]:(?:\\{0,4}/|%2[fF])|/mnt/[a-z]/)$`)
	root    = regexp.MustCompile(`(?:` + begin + `(?:` + mount + `)?|` + notHTTP + `|://|file:/)(?:\\{0,4}/|%2[fF])$`)
	anyRoot = regexp.MustCompile(`(?:` + begin + `(?:/[\w.-][\w./-]*)?|` + notHTTP + `|://|file:/)(?:\\{0,4}/|%2[fF])$`)
)

const (
	begin     = `(?:[^\w.\-)}/~]|\\[nrt]|[\s"'` + "`" + `]-[A-Za-z])` // the last as in docker run -v/home/…
	notHTTP   = `(?:[A-Za-oqrt-z]|[^t]p|[^t]tp|[^p]s)://[\w./-]*`
	mount     = `/(?:mnt|media|Volumes|System|var|export|srv|usr|host[\w.-]*|rootfs|nfs|net|private|data[\w.-]*|proc|run|vol[\w.-]*|storage)(?:/[\w./-]*)?|//localhost[\w./-]*|/[\w.-]`
	separator = `(?:\\{0,4}/{1,2}|\\{1,4}|%2[fF])`
)

// Names of users.
const (
	user = `[\w{L}.](?:[\w.+@~{L}-]|%(?:[^2\s]|2[^fF\s])|['&][A-Za-z0-9{L}]|\\ )*|[{W}](?:[\w.+@~{L}{W}-]|%(?:[^2\s]|2[^fF\s])|\\ )*`
	// In Windows names have blanks, up to the next separator: Ann Lee (work). In
	// front of a slash, more words have capitals, as src/main.go may be what follows.
	windowsWord = `[\w{L}.{W}]` + moreOfWord
	windowsUser = windowsWord + `(?: (?:& )?` + windowsWord + `){0,3}` + note
	capitals    = `(?: (?:& )?[A-Z{L}]` + moreOfWord + `){0,3}`
	moreOfWord  = `(?:[\w.+@~{L}{W}-]|['&!#$^][A-Za-z0-9{L}{W}])*`
	note        = `(?: ?\([^()\\/:*?"<>|\x00]+\))?`
)

// afterNumber is what can follow a number.
const afterNumber = `(?:[^\w@%{L}.:,-]|[.:-][^A-Za-z0-9]|,(?:\D|\d\D|\d\d\D|\d{4})|[xX]\d)`

// What precedes phone numbers. Latin letters with accents are ä here.
const (
	phoneWord = `(?i:(?:tel(?:ephone|efon[aoe]?|äfono)?|täl(?:äphone)?|tlf|тел(?:ефон)?|phone|mobil[ey]?|m[oä]vil|portable|handy|cell(?:phone)?|celular|gsm|fax|whatsapp)(?:[ _-]?(?:number|nummer|numero|no|nr))?)`
	isNumber  = `[是为為は]{0,2}[ :.]{0,3}`
	quote     = `(?:\\?["'])?`
	colon     = ` ?:[ :.]{0,3}` + quote + ` ?`
)

// separated repeats a pattern for each separator, which is written as S in it.
func separated(separators, s string) string {
	var all []string
	for _, b := range separators {
		all = append(all, strings.ReplaceAll(s, "S", regexp.QuoteMeta(string(b))))
	}
	return strings.Join(all, "|")
}

// Forms of numbers, by the sizes of their groups.
var (
	cards = `[2-9]\d{12,18}|` +
		separated("_/", `[2-9]\d{3}(?:S\d{4}){3}`) + `|` +
		separated(" -", `[2-9](?:S\d){12,18}|[2-9]\d(?:S\d\d){6,8}(?:S\d)?|[2-9]\d\d(?:S\d{3}){4,5}(?:S\d{1,3})?|[2-9]\d{4}(?:S\d{5}){2}(?:S\d{1,4})?|`+
			`[2-9]\d{5}(?:S\d{6}){1,2}(?:S\d{1,5})?|[2-9]\d{5}S\d{13}|[2-9]\d{7}S\d{4,8}`) + `|` +
		separated(" -.", `[2-9]\d{3}(?:S\d{4}){3}(?:S\d{1,3})?|[2-9]\d{3}(?:S\d{4}){2}S\d{1,3}|[2-9]\d{3}S\d{4}S\d{8}|[2-9]\d{3}S\d{6}S\d{4,5}`)

	international = `\(?\+` + countryNumber + `|00(?:1|7|[2-9]\d{1,2})[ ./-]` + digits("6,12") + `|011[ .-]` + countryNumber
	zeroArea      = separated(" .-", `0[1-9]\d{0,3}(?:S\d{2,9}){1,3}`)
	pairs         = separated(" .-", `0[1-9](?:S\d\d){4}`)
	mobiles       = `(?:86)?` + chineseMobile + `\d{8}|8869\d{8}|090?\d{8}|07\d{8,9}|080\d{8}|010\d{8}|0[46]\d{8}`
	mixed         = `0[1-9]\d{0,2}[/-]\d{2,3}(?:[. ]\d{2,3}){1,2}`
	areaCoded     = `\(0\d{1,4}\)[ -]?\d(?:[ .-]?\d){5,7}|\([1-9]\d\d\)[ -]?\d{3}[ .-]?\d{4}|\([1-9]\d\)[ -]?\d{3,5}[ .-]\d{4}`                                                      // (415) 555-2671, (02) 2345-6789, (11) 91234-5678
	national      = `[1-9]\d\d-\d{3}-\d{4}|[1-9]\d\d\.\d{3}\.\d{4}|[2-9]\d\d[ .]?[2-9]\d\d-\d{4}|[2-9]\d\d [2-9]\d\d \d{4}|1(?:[-. ]| ?\()[2-9]\d\d(?:\) ?|[-. ])\d{3}[-. ]\d{4}|` + // North America
		`[78](?:[-. ]| ?\()\d{3}(?:\) ?|[-. ])\d{3}[-. ]\d\d[-. ]\d\d|` + // Russia
		`86[ -]` + chineseMobile + `\d{8}|` + separated(" -", chineseMobile+`(?:S\d{4}S\d{4}|\dS\d{3}S\d{4}|S\d{8})`) + `|` +
		`[6-9]\d{4}[ -]\d{5}|` + // India
		`0[1-9]\d{0,2}\(\d{2,4}\)\d{3,4}|0[1-9]\d{1,3}/\d{5,8}` // 03(3456)7890, 0171/1234567
)

// countryNumber is a country calling code and a number of a possible length: 11
// digits for 1 and 7, else 8 to 15.
var countryNumber = `(?:1` + between + `[2-9]` + digits("9,9") + `|7` + digits("10,10") + `|[2-689]` + digits("7,14") + `)`

const (
	between       = `[ ()./-]{0,3}` // what can be between the digits of one number
	chineseMobile = `1(?:[38]\d|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|9[0-35-9])`
)

func digits(times string) string { return `(?:` + between + `\d){` + times + `}` }
