package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

// same marks a text that is left as it is.
const same = "\x00same"

type row struct{ name, in, want string }

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			want := r.want
			if want == same {
				want = r.in
			}
			got := redact.Text(r.in)
			require.Equal(t, want, got)
			require.Equal(t, got, redact.Text(got), "the second time")
			around := redact.Text("See " + r.in + " there.")
			require.Equal(t, "See "+want+" there.", around, "inside a sentence")
		})
	}
}

func TestEmail(t *testing.T) {
	check(t, []row{
		{"plain", "alice@example.com", "[EMAIL]"},
		{"subdomain", "alice@mail.example.co.uk", "[EMAIL]"},
		{"plus and dots", "first.last+tag@example.com", "[EMAIL]"},
		{"capitals", "ALICE@EXAMPLE.COM", "[EMAIL]"},
		{"numbers before the @", "13800138000@qq.com", "[EMAIL]"},
		{"domain of numbers", "someone@163.com", "[EMAIL]"},
		{"apostrophe", "o'brien@example.ie", "[EMAIL]"},
		{"quoted local part", `"alice smith"@example.com`, "[EMAIL]"},
		{"quoted local part with an @", `"a@b"@example.com`, "[EMAIL]"},
		{"address literal", "alice@[192.0.2.1]", "[EMAIL]"},
		{"angle brackets", "Alice <alice@example.com>", "Alice <[EMAIL]>"},
		{"mailto", "mailto:alice@example.com?subject=x", "mailto:[EMAIL]?subject=x"},
		{"quotes", `'alice@example.com', "bob@example.com"`, `'[EMAIL]', "[EMAIL]"`},
		{"list", "a@b.com,c@d.org;e@f.net", "[EMAIL],[EMAIL];[EMAIL]"},
		{"end of sentence", "a@b.com.", "[EMAIL]."},
		{"Chinese around", "我的邮箱是a@b.com谢谢", "我的邮箱是[EMAIL]谢谢"},
		{"Chinese sentence end", "联系alice@example.com。谢谢", "联系[EMAIL]。谢谢"},
		{"Japanese around", "メールはtaro.yamada@example.co.jpまで", "メールは[EMAIL]まで"},
		{"wide", "ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "[EMAIL]"},
		{"wide at sign", "alice＠example.com", "[EMAIL]"},
		{"mathematical letters", "𝐚𝐥𝐢𝐜𝐞@𝐞𝐱𝐚𝐦𝐩𝐥𝐞.𝐜𝐨𝐦", "[EMAIL]"},
		{"invisible characters", "ali\u200bce@exam\u00adple.com", "[EMAIL]"},
		{"international domain", "info@münchen.de", "[EMAIL]"},
		{"Chinese address", "用户@例子.公司", "[EMAIL]"},
		{"Chinese domain", "info@例子.中国", "[EMAIL]"},
		{"punycode", "info@xn--fsqu00a.xn--0zwm56d", "[EMAIL]"},
		{"Cyrillic", "иван@пример.рф", "[EMAIL]"},
		{"percent encoded", "https://x.io/?to=alice%40example.com&y", "https://x.io/?to=[EMAIL]&y"},
		{"escaped end of line", `x\nalice@example.com\nbob@example.com`, `x\n[EMAIL]\n[EMAIL]`},
		{"server of a person", "scp alice@server.example.com:/srv/x .", "scp [EMAIL]:/srv/x ."},
		{"Message-ID", "<abc.123@mail.example.com>", "<[EMAIL]>"},

		{"git remote", "git@github.com:org/repo.git", same},
		{"ssh remote", "ssh://git@github.com/org/repo.git", same},
		{"host without dot", "root@localhost:~#", same},
		{"host address", "ssh root@192.168.1.10", same},
		{"decorator", "@app.route('/x')", same},
		{"decorator behind code", "class A:\n    @property.setter\n    def b", same},
		{"mention", "ask @alice.b about it", same},
		{"npm version", "npm i react@18.2.0 next@14.0.0-rc.beta @types/node@20.x", same},
		{"Go version", "golang.org/x/text@v0.43.0", same},
		{"action", "uses: actions/checkout@v4", same},
		{"image of double size", "icon@2x.png logo@3x.webp", same},
		{"systemd unit", "user@1000.service getty@tty1.service", same},
		{"CSS", "@media (max-width: 10px) { @font-face.x }", same},
		{"digest", "image@sha256:0123456789abcdef", same},
		{"call", "x@y.transpose()", same},
		{"operator", "a @ b.T", same},
		{"format", "%s@example.com", same},
		{"only an @", "me@ @ @home @", same},
		{"YouTube", "https://www.youtube.com/@some.name", same},
		{"Twitter in Chinese", "关注@张三", same},
	})
}

func TestPhone(t *testing.T) {
	check(t, []row{
		{"E.164", "+14155552671", "[PHONE]"},
		{"United States", "+1 (415) 555-2671", "[PHONE]"},
		{"Taiwan, international", "+886 912 345 678", "[PHONE]"},
		{"Japan, international", "+81-90-1234-5678", "[PHONE]"},
		{"China, international", "+86 138 0013 8000", "[PHONE]"},
		{"China, code in parentheses", "(+86)13800138000", "[PHONE]"},
		{"United Kingdom with (0)", "+44 (0)20 7946 0958", "[PHONE]"},
		{"Germany, international", "+49 30 901820", "[PHONE]"},
		{"exit code", "0086 138 0013 8000", "[PHONE]"},
		{"American exit code", "011 44 20 7946 0958", "[PHONE]"},
		{"area in parentheses", "(415) 555-2671", "[PHONE]"},
		{"hyphens", "415-555-2671", "[PHONE]"},
		{"example number", "123-456-7890", "[PHONE]"},
		{"dots", "415.555.2671", "[PHONE]"},
		{"blanks", "415 555 2671", "[PHONE]"},
		{"with 1", "1-800-555-0199", "[PHONE]"},
		{"with 1 and parentheses", "1 (415) 555-2671", "[PHONE]"},
		{"extension", "415-555-2671x123", "[PHONE]x123"},
		{"Japan, mobile", "090-1234-5678", "[PHONE]"},
		{"Japan, Tokyo", "03-1234-5678", "[PHONE]"},
		{"Japan, in one piece", "09012345678", "[PHONE]"},
		{"China, mobile", "138 0013 8000", "[PHONE]"},
		{"China, mobile with hyphens", "138-0013-8000", "[PHONE]"},
		{"China, mobile in one piece", "13800138000", "[PHONE]"},
		{"China, line", "021-12345678", "[PHONE]"},
		{"China, code without plus", "8613800138000, 86-13800138000", "[PHONE], [PHONE]"},
		{"Taiwan, code without plus", "886912345678", "[PHONE]"},
		{"China, long line", "0755-12345678", "[PHONE]"},
		{"Taiwan, mobile", "0912-345-678", "[PHONE]"},
		{"Taiwan, in one piece", "0912345678", "[PHONE]"},
		{"Taiwan, line", "(02) 2345-6789", "[PHONE]"},
		{"Korea", "010-1234-5678", "[PHONE]"},
		{"London", "020 7946 0958", "[PHONE]"},
		{"United Kingdom, mobile", "07700 900123", "[PHONE]"},
		{"France", "01 23 45 67 89", "[PHONE]"},
		{"France with dots", "01.23.45.67.89", "[PHONE]"},
		{"Germany with a slash", "0171/1234567", "[PHONE]"},
		{"Brazil", "(11) 91234-5678", "[PHONE]"},
		{"India", "98765 43210", "[PHONE]"},
		{"Russia", "8 (495) 123-45-67", "[PHONE]"},
		{"tel", "tel:4155552671", "tel:[PHONE]"},
		{"WhatsApp", "https://wa.me/14155552671", "https://wa.me/[PHONE]"},
		{"Chinese word", "电话：0212345678", "电话：[PHONE]"},
		{"Chinese word, is", "我的手机号码是4155552671", "我的手机号码是[PHONE]"},
		{"Japan, area in front of parentheses", "03(3456)7890", "[PHONE]"},
		{"wide", "０９０－１２３４－５６７８", "[PHONE]"},
		{"wide, plus", "＋８１　９０　１２３４　５６７８", "[PHONE]"},
		{"other dashes", "090‐1234–5678", "[PHONE]"},
		{"Arabic digits", "+٩٦٦ ٥٠ ١٢٣ ٤٥٦٧", "[PHONE]"},
		{"invisible characters", "138\u200b0013\u200b8000", "[PHONE]"},
		{"Chinese around", "手机13800138000谢谢", "手机[PHONE]谢谢"},
		{"Japanese around", "電話は090-1234-5678です", "電話は[PHONE]です"},
		{"two", "415-555-2671, 415-555-2672", "[PHONE], [PHONE]"},
		{"two with a slash", "0912-345-678 / 0913-345-678", "[PHONE] / [PHONE]"},
		{"a number beside it", "room 5 0912-345-678 24 hours", "room 5 [PHONE] 24 hours"},
		{"in JSON", `{"a":"0912-345-678"}`, `{"a":"[PHONE]"}`},

		{"version", "1.2.3, v10.20.30.40, 2024.01.15", same},
		{"date", "2024-01-02 and 02/01/2024 and 01.02.2024", same},
		{"date and time", "2024-01-02 03:04:05, 01-02-2024 10:30", same},
		{"ISO timestamp", "2024-01-02T03:04:05.123456Z +0800 +08:00", same},
		{"compact timestamp", "20240102030405 20240102-030405", same},
		{"Unix seconds", "1700000000", same},
		{"Unix milliseconds", "1700000000000", same},
		{"UUID", "123e4567-e89b-12d3-a456-426614174000", same},
		{"UUID of digits", "12345678-1234-1234-1234-123456789012", same},
		{"git hash", "9fceb02d0ae598e95dc970b74767f19372d61af8 1234567 0912345678abcdef", same},
		{"IP", "192.168.100.200 10.0.0.1:8080", same},
		{"IPv6", "2001:0db8:85a3:0000:0000:8a2e:0370:7334", same},
		{"MAC", "01-23-45-67-89-01 00:1B:44:11:3A:B7", same},
		{"order number", "order 123-4567890-1234567 SO-2024-000123 4155552671", same},
		{"price", "$1,234,567.89 €1.234.567,89 NT$ 12,345 1 234 567", same},
		{"ISBN", "978-3-16-148410-0 0-306-40615-2 0306406152", same},
		{"ISSN and ranges", "1234-5678 100-2000 2019-2020", same},
		{"SSN", "123-45-6789", same},
		{"years", "2019 2020 2021 2022", same},
		{"line numbers", "main.go:123:45 L10-L20", same},
		{"zip", "94103-1234", same},
		{"hex dump with letters", "52 d7 02 03 01 00 01 a3", same},
		{"hex dump", "00 01 02 03 04 05 06 07 08 09", same},
		{"pi", "3.14159265358979 0.1234567890", same},
		{"sum", "3+1234567890", same},
		{"hunk", "@@ -120,7 +120,11 @@", same},
		{"identifier", "id_0912345678 x09012345678", same},
		{"long number", "09012345678901234567890", same},
		{"size", "width: 1024px; margin: 10 20 30 40", same},
		{"ratio", "16:9 1920x1080", same},
		{"IP range", "10.0.0.0/24 172.16.254.1", same},
		{"percent", "100.000.0000%", same},
		{"count", "17179869184 bytes", same},
		{"version with a time", "v1.0.0-20240115091234-abcdef123456", same},
	})
}

func TestCard(t *testing.T) {
	check(t, []row{
		{"Visa", "4111111111111111", "[CARD]"},
		{"Visa with blanks", "4111 1111 1111 1111", "[CARD]"},
		{"Visa with hyphens", "4111-1111-1111-1111", "[CARD]"},
		{"Visa of 13", "4222222222222", "[CARD]"},
		{"Visa of 19", "4000000000000000006", "[CARD]"},
		{"Mastercard", "5555 5555 5555 4444", "[CARD]"},
		{"Mastercard, new", "2223003122003222", "[CARD]"},
		{"American Express", "378282246310005", "[CARD]"},
		{"American Express with blanks", "3782 822463 10005", "[CARD]"},
		{"Diners", "3056 930902 5904", "[CARD]"},
		{"Discover", "6011111111111117", "[CARD]"},
		{"JCB", "3530111333300000", "[CARD]"},
		{"UnionPay", "6200000000000005", "[CARD]"},
		{"behind a hyphen", "order-4111111111111111-x", "order-[CARD]-x"},
		{"one by one", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "[CARD]"},
		{"with date and code", "4111 1111 1111 1111 12/27 123", "[CARD] 12/27 123"},
		{"uneven fours", "4242 4242 42424242", "[CARD]"},
		{"dots", "4242.4242.4242.4242", "[CARD]"},
		{"two", "4111 1111 1111 1111 4111 1111 1111 1111", "[CARD] [CARD]"},
		{"wide", "４１１１　１１１１　１１１１　１１１１", "[CARD]"},
		{"Chinese around", "卡号4111111111111111谢谢", "卡号[CARD]谢谢"},
		{"invisible characters", "4111\u200b1111\u200b1111\u200b1111", "[CARD]"},

		{"wrong check digit", "4111 1111 1111 1112", same},
		{"other issuer", "1234 5678 9012 3452", same},
		{"milliseconds with a check digit", "1700000000006", same},
		{"nanoseconds", "1700000000000000003", same},
		{"beside letters", "a4111111111111111 4111111111111111f", same},
		{"fraction", "0.4111111111111111", same},
		{"too long", "41111111111111111111111111", same},
		{"in a UUID", "a1b2c3d4-4111-1111-1111-111111111111", same},
		{"uneven groups", "41 11111111 111111", same},
		{"years", "2221 2222 2223 2225", same},
	})
}

func TestUserName(t *testing.T) {
	check(t, []row{
		{"macOS", "/Users/alice/project/main.go", "/Users/[REDACTED]/project/main.go"},
		{"Linux", "/home/alice/.ssh/id_rsa", "/home/[REDACTED]/.ssh/id_rsa"},
		{"Windows", `C:\Users\alice\Documents`, `C:\Users\[REDACTED]\Documents`},
		{"Windows, small letters", `c:\users\alice\x`, `c:\users\[REDACTED]\x`},
		{"Windows, escaped", `C:\\Users\\alice\\Documents`, `C:\\Users\\[REDACTED]\\Documents`},
		{"Windows, slashes", "C:/Users/alice/x", "C:/Users/[REDACTED]/x"},
		{"Windows, blank in the name", `C:\Users\John Smith\Desktop`, `C:\Users\[REDACTED]\Desktop`},
		{"Windows, twice", `C:\Users\alice and C:\Users\bob`, `C:\Users\[REDACTED] and C:\Users\[REDACTED]`},
		{"macOS, blank in the name", `/Users/john\ smith/x`, `/Users/[REDACTED]/x`},
		{"alone", "/home/alice", "/home/[REDACTED]"},
		{"end of sentence", "It is in /home/alice.", "It is in /home/[REDACTED]."},
		{"dots in the name", "/home/alice.smith/x", "/home/[REDACTED]/x"},
		{"Chinese name", "/Users/王小明/桌面", "/Users/[REDACTED]/桌面"},
		{"Chinese behind", "在/home/alice目录下", "在/home/[REDACTED]目录下"},
		{"file URL", "file:///home/alice/x", "file:///home/[REDACTED]/x"},
		{"URL without a host", "x:///home/alice/x", "x:///home/[REDACTED]/x"},
		{"file URL, macOS", "file:///Users/alice/x", "file:///Users/[REDACTED]/x"},
		{"WSL", "/mnt/c/Users/alice/x", "/mnt/c/Users/[REDACTED]/x"},
		{"WSL share", `\\wsl$\Debian\home\alice\x`, `\\wsl$\Debian\home\[REDACTED]\x`},
		{"MSYS", "/c/Users/alice/x", "/c/Users/[REDACTED]/x"},
		{"volume", "/Volumes/Disk/Users/alice/x", "/Volumes/Disk/Users/[REDACTED]/x"},
		{"Silverblue", "/var/home/alice/x", "/var/home/[REDACTED]/x"},
		{"mount of a container", "-v /home/alice/a:/home/node/b", "-v /home/[REDACTED]/a:/home/[REDACTED]/b"},
		{"scp", "scp host:/home/alice/x .", "scp host:/home/[REDACTED]/x ."},
		{"escaped slashes", `"\/home\/alice\/x"`, `"\/home\/[REDACTED]\/x"`},
		{"escaped end of line", `a\n/home/alice/x`, `a\n/home/[REDACTED]/x`},
		{"percent encoded", "x?f=%2Fhome%2Falice%2Fx", "x?f=%2Fhome%2F[REDACTED]%2Fx"},
		{"environment", "HOME=/home/alice PWD=/home/alice/x", "HOME=/home/[REDACTED] PWD=/home/[REDACTED]/x"},
		{"wide", "／ｈｏｍｅ／ａｌｉｃｅ／ｘ", "／ｈｏｍｅ／[REDACTED]／ｘ"},
		{"stack trace", "at f (/Users/alice/a.js:10:5)", "at f (/Users/[REDACTED]/a.js:10:5)"},
		{"short name of Windows", `C:\Users\ALICE~1\x`, `C:\Users\[REDACTED]\x`},
		{"two slashes", "/home//alice/x", "/home//[REDACTED]/x"},
		{"bold", "**/home/alice/x**", "**/home/[REDACTED]/x**"},
		{"editor", "vscode://file/Users/alice/x", "vscode://file/Users/[REDACTED]/x"},
		{"sftp", "sftp://host/home/alice/x", "sftp://host/home/[REDACTED]/x"},

		{"home itself", "ls /home /home/ /Users /Users/", same},
		{"Shared", "/Users/Shared/x", same},
		{"Public", `C:\Users\Public\x C:\Users\Default\x`, same},
		{"linuxbrew", "/home/linuxbrew/.linuxbrew/bin", same},
		{"variable", "/home/$USER/x /home/${USER}/x /Users/<name>/x /home/{id} /home/*/x", same},
		{"redacted before", "/home/[REDACTED]/x", same},
		{"sources", "src/home/index.ts ./home/x app/Users/list.tsx", same},
		{"URL", "https://example.com/home/page http://localhost:3000/home/dashboard", same},
		{"API", "GET /api/home/summary /users/42", same},
		{"other words", "/homes/alice /Userspace/alice /homepage/x", same},
	})
}

func TestKeys(t *testing.T) {
	hex32 := "0123456789abcdef0123456789abcdef"
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	seed := "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
	check(t, []row{
		{"OpenAI", "sk-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV", "[API_KEY]"},
		{"OpenAI, project", "sk-proj-AbC_dEf-123456789012345678901234567890", "[API_KEY]"},
		{"Anthropic", "sk-ant-api03-AbCdEf_123-4567890123456789-AA", "[API_KEY]"},
		{"OpenRouter", "sk-or-v1-" + hex32 + hex32, "[API_KEY]"},
		{"DeepSeek", "sk-" + hex32, "[API_KEY]"},
		{"short", "sk-1234567890abcdef", "[API_KEY]"},
		{"GitHub", "ghp_" + hex32 + "abcd", "[API_KEY]"},
		{"GitHub, fine-grained", "github_pat_11ABCDEFG0123456789_abcdefghijklmnopqrstuvwxyz", "[API_KEY]"},
		{"GitLab", "glpat-abcDEF123456-_7890xy", "[API_KEY]"},
		{"Slack", "xoxb-123456789012-1234567890123-AbCdEfGhIjKl", "[API_KEY]"},
		{"AWS", "AKIAIOSFODNN7EXAMPLE", "[API_KEY]"},
		{"Google", "AIzaSyA-1234567890abcdefghijklmnopqrstu", "[API_KEY]"},
		{"Stripe", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "[API_KEY]"},
		{"npm", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "[API_KEY]"},
		{"Hugging Face", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "[API_KEY]"},
		{"SendGrid", "SG.abcdefghijklmnopqrstuv.0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", "[API_KEY]"},
		{"Telegram", "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc", "[API_KEY]"},
		{"Telegram in a URL", "https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/getMe", "https://api.telegram.org/bot[API_KEY]/getMe"},
		{"Discord", "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs-abcd", "[API_KEY]"},
		{"Slack webhook", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/[API_KEY]"},
		{"JWT", jwt, "[API_KEY]"},
		{"JWT, cut", jwt[:60], "[API_KEY]"},
		{"NATS seed", seed, "[API_KEY]"},
		{"NATS credentials", "-----BEGIN NATS USER JWT-----\n" + jwt + "\n------END NATS USER JWT------\n-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------", "-----BEGIN NATS USER JWT-----\n[API_KEY]\n------END NATS USER JWT------\n-----BEGIN USER NKEY SEED-----\n[API_KEY]\n------END USER NKEY SEED------"},
		{"behind a letter escape", `x\nghp_` + hex32 + `abcd\ny`, `x\n[API_KEY]\ny`},
		{"Chinese around", "密钥ghp_" + hex32 + "abcd谢谢", "密钥[API_KEY]谢谢"},
		{"wide", "ｇｈｐ＿０１２３４５６７８９ａｂｃｄｅｆ０１２３４５６７８９ａｂｃｄｅｆ", "[API_KEY]"},
		{"end of sentence", "sk-" + hex32 + ".", "[API_KEY]."},
		{"Bearer", "Authorization: Bearer abc123DEF456ghi789", "Authorization: Bearer [API_KEY]"},
		{"bearer, words", "authorization: bearer mytoken", "authorization: bearer [API_KEY]"},
		{"Basic", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [API_KEY]"},
		{"URL", "postgres://bob:hunter2@db.example.com:5432/x", "postgres://[API_KEY]@db.example.com:5432/x"},
		{"URL, @ in the password", "mysql://root:p@ss@db/x", "mysql://[API_KEY]@db/x"},
		{"URL, no name", "redis://:hunter2@localhost:6379", "redis://[API_KEY]@localhost:6379"},
		{"URL, token alone", "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1", "https://[API_KEY]@o1.ingest.sentry.io/1"},
		{"URL, address as a name", "https://alice@example.com:pw@host.example.com/x", "https://[API_KEY]@host.example.com/x"},
		{"URL, / in the password", "https://user:pa/ss@host.com/x", "https://[API_KEY]@host.com/x"},
		{"URL, NATS token", "nats://mytoken@localhost:4222", "nats://[API_KEY]@localhost:4222"},
		{"curl", "curl -u alice:hunter2 https://x.io", "curl -u [API_KEY] https://x.io"},

		{"password", "password=hunter2", "password=[API_KEY]"},
		{"password, colon", "Password: hunter2", "Password: [API_KEY]"},
		{"password, quoted", `password = "correct horse"`, `password = "[API_KEY]"`},
		{"password, JSON", `{"password":"hunter2","user":"x"}`, `{"password":"[API_KEY]","user":"x"}`},
		{"password, escaped JSON", `{\"password\": \"hunter2\", \"user\": \"x\"}`, `{\"password\": \"[API_KEY]\", \"user\": \"x\"}`},
		{"environment", "export DB_PASSWORD=s3cr3t! OTHER=1", "export DB_PASSWORD=[API_KEY] OTHER=1"},
		{"number in the name", "OPENAI_API_KEY_2=abcd1234efgh", "OPENAI_API_KEY_2=[API_KEY]"},
		{"api_key", "api_key: abcd1234efgh", "api_key: [API_KEY]"},
		{"header", "X-API-Key: abcd1234efgh", "X-API-Key: [API_KEY]"},
		{"API key", "API key: abcd1234efgh", "API key: [API_KEY]"},
		{"query", "https://x.io/?token=abcd1234efgh&a=b", "https://x.io/?token=[API_KEY]&a=b"},
		{"AWS secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [API_KEY]"},
		{"Azure", "AccountKey=abcd+/1234567890==;EndpointSuffix=core", "AccountKey=[API_KEY];EndpointSuffix=core"},
		{"connection string", "Server=x;Password=abc;User Id=y", "Server=x;Password=[API_KEY];User Id=y"},
		{"option", "run --password hunter2 --token=abcd1234efgh", "run --password [API_KEY] --token=[API_KEY]"},
		{"XML", "<password>hunter2</password>", "<password>[API_KEY]</password>"},
		{"Ruby", `:password => "hunter2"`, `:password => "[API_KEY]"`},
		{"comparison", `if password == "hunter2" {`, `if password == "[API_KEY]" {`},
		{"prose", "my password is hunter2, ok", "my password is [API_KEY], ok"},
		{"short names", "pass: hunter2 pw=hunter2", "pass: [API_KEY] pw=[API_KEY]"},
		{"ampersand in a password", "Password: Tr0ub4dor&3", "Password: [API_KEY]"},
		{"query with two", "?password=abc&user=x", "?password=[API_KEY]&user=x"},
		{"password that begins with =", "token: =abcd1234efgh", "token: [API_KEY]"},
		{"in a list of fields", "{user: x, password: secret}, {y: z}", same},
		{"short secret", "secret=short1", "secret=[API_KEY]"},
		{"Chinese", "我的密码是hunter2谢谢", "我的密码是[API_KEY]谢谢"},
		{"Chinese, colon", "密码：hunter2", "密码：[API_KEY]"},
		{"Japanese", "パスワードはhunter2です", "パスワードは[API_KEY]です"},

		{"sk- in words", "task-force-of-the-year risk-management-framework-2024 sk-learn-based-classification", same},
		{"sk- in a URL", "https://example.com/sk-2024-summer-collection-item", same},
		{"test that passed", "--- PASS: TestFoo1 (0.00s) pass: 12 fail: 3", same},
		{"token, a number", "The token is 12345678 bytes", same},
		{"prefix alone", "keys begin with sk-ant- or ghp_ or AKIA", same},
		{"npm variables", "npm_config_registry npm_lifecycle_event npm_package_version", same},
		{"names", "hf_transfer_enabled_by_default secret_santa_list key-value-store-implementation", same},
		{"words in capitals", "ASIAPACIFICREGION AKIACOMPANY", same},
		{"base64 image", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", same},
		{"git hash", "9fceb02d0ae598e95dc970b74767f19372d61af8", same},
		{"SHA-256", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", same},
		{"UUID", "123e4567-e89b-12d3-a456-426614174000", same},
		{"bearer in prose", "the bearer of bad news, bearer authentication", same},
		{"basic in prose", "basic understanding, Basic JavaScript", same},
		{"URL with a port", "http://localhost:8080/x@y https://example.com:443/", same},
		{"URL with a name", "ssh://deploy@host/x", same},
		{"tokens", "max_tokens=4096 tokens: 12000 tokenizer: gpt2", same},
		{"token in prose", "token: the smallest unit; secret: nothing here", same},
		{"password in prose", "The password: must be long. Your password is required. password reset", same},
		{"variable", "password=$DB_PASSWORD token=${TOKEN} api_key=<your-key> secret={{ secret }}", same},
		{"code", "password = os.environ['X']; token = getToken(); apiKey = config.apiKey", same},
		{"types", "password: string; token?: string; secret: str", same},
		{"null", `{"password":null,"token":""}`, same},
		{"hidden", "password=****** password: ...", same},
		{"working directory", "PWD=/srv/x OLDPWD=/srv", same},
		{"uid", "docker run -u 1000:1000 x", same},
		{"comparison of variables", "if password == other {", same},
	})
}

func TestPrivateKey(t *testing.T) {
	line := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 2)
	block := "-----BEGIN RSA PRIVATE KEY-----\n" + line + "\n" + line + "\nabc=\n-----END RSA PRIVATE KEY-----"
	check(t, []row{
		{"PEM", block, "[PRIVATE_KEY]"},
		{"with text", "key:\n" + block + "\nend", "key:\n[PRIVATE_KEY]\nend"},
		{"two", block + "\n" + block, "[PRIVATE_KEY]\n[PRIVATE_KEY]"},
		{"escaped", strings.ReplaceAll(block, "\n", `\n`), "[PRIVATE_KEY]"},
		{"escaped twice", strings.ReplaceAll(block, "\n", `\\n`), "[PRIVATE_KEY]"},
		{"CRLF", strings.ReplaceAll(block, "\n", "\r\n"), "[PRIVATE_KEY]"},
		{"in one line", strings.ReplaceAll(block, "\n", " "), "[PRIVATE_KEY]"},
		{"PKCS 8", strings.ReplaceAll(block, "RSA ", ""), "[PRIVATE_KEY]"},
		{"OpenSSH", strings.ReplaceAll(block, "RSA", "OPENSSH"), "[PRIVATE_KEY]"},
		{"OpenPGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n" + line + "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", "[PRIVATE_KEY]"},
		{"encrypted", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,ABC\n\n" + line + "\n-----END RSA PRIVATE KEY-----", "[PRIVATE_KEY]"},
		{"in JSON", `{"private_key":"` + strings.ReplaceAll(block, "\n", `\n`) + `"}`, `{"private_key":"[PRIVATE_KEY]"}`},
		{"in a program", `"-----BEGIN PRIVATE KEY-----\n" +` + "\n" + `"` + line + `\n"`, `"[PRIVATE_KEY]\n"`},
		{"cut", "-----BEGIN PRIVATE KEY-----\n" + line + "\n" + line[:40], "[PRIVATE_KEY]"},
		{"cut, escaped", `-----BEGIN PRIVATE KEY-----\n` + line + `\n` + line[:40], "[PRIVATE_KEY]"},
		{"cut, then text", "-----BEGIN PRIVATE KEY-----\n" + line + "\n\nThanks, Bob", "[PRIVATE_KEY]\n\nThanks, Bob"},
		{"BEGIN missing", line + "\n" + line + "\n-----END PRIVATE KEY-----", "[PRIVATE_KEY]"},

		{"public key", strings.ReplaceAll(block, "RSA PRIVATE", "PUBLIC"), same},
		{"certificate", strings.ReplaceAll(block, "RSA PRIVATE KEY", "CERTIFICATE"), same},
		{"words", "a PRIVATE KEY is private", same},
	})
}

func TestHead(t *testing.T) {
	address := "alice@example.com"
	for _, row := range []struct {
		name, in string
		n        int
		want     string
	}{
		{"shorter", "mail " + address, 100, "mail [EMAIL]"},
		{"a secret at the cut", strings.Repeat("x", 9) + " " + address, 13, "xxxxxxxxx [EM"},
		{"characters", strings.Repeat("語", 10), 3, strings.Repeat("語", 3)},
		{"nothing", address, 0, ""},
		{"longer than what is looked at", strings.Repeat("語", 100_000), 2, "語語"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, redact.Head(row.in, row.n)) })
	}
}

func TestMarked(t *testing.T) {
	for _, mark := range []string{"[REDACTED]", "[EMAIL]", "[PHONE]", "[API_KEY]", "[CARD]", "[PRIVATE_KEY]"} {
		require.True(t, redact.Marked("before "+mark+" after"), mark)
	}
	require.True(t, redact.Marked(redact.Text("write to ada@example.org")))
	require.False(t, redact.Marked("a list [x], [email], [ EMAIL ]"))
}
