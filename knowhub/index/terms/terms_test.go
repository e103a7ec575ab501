package terms_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/internal/text/stem"
	"intenthint/knowhub/index/terms"
)

func TestEach(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"words", "The pods were deleted", "pod delet"},
		{"hyphen", "kubectl-apply", "kubectl-apply kubectlappli kubectl appli"},
		{"camel case", "fooBar", "foobar foo bar"},
		{"many parts", "getUserProfileById", "getuserprofilebyid get user profil id"},
		{"acronym", "HTTPServer URLs", "httpserver http server url"},
		{"capital after a digit", "S3BucketPolicy ec2Instance", "s3bucketpolicy s3 bucketpolici bucket polici ec2instance ec2 instanc"},
		{"word with a number before a capital", "HTTP2Server", "http2server http2 http 2 server"},
		{"acronym after a digit", "S3URL EC2DB", "s3url s3 url ec2db ec2 db"},
		{"capitals after a number alone", "2FA 5XX 512MB", "2fa 5xx 512mb"},
		{"single capital after a digit", "K8S W3CValidator E2ETest", "k8s w3cvalidator w3c valid e2etest e2e test"},
		{"underscore", "HTTP_PROXY", "http_proxy httpproxi http proxi"},
		{"capital in the middle", "iOS", "io os"},
		{"Greek with accents", "Πρόβλημα", "προβλημα"},
		{"path", "/etc/nginx.conf", "etc/nginx.conf etc nginx.conf nginxconf nginx conf"},
		{"flag", "--dry-run", "dry-run dryrun dry run"},
		{"error code", "E11000 0x80070005", "e11000 0x80070005"},
		{"version", "python3", "python3 python 3"},
		{"plus signs", "C++ and F#", "c++ c f# f"},
		{"apostrophe", "the user's can't won't", "user"},
		{"elision", "l'imprimante d'eau qu'il dell'azienda", "imprimant eau il dell azienda"},
		{"elision with a typographic apostrophe", "L’imprimante dell’azienda", "imprimant dell azienda"},
		{"modifier letter as an apostrophe", "Lʼimprimante комп\u02bcютер", "imprimant комп ютер"},
		{"typographic apostrophe in a path", "a/Jo’s/b", "a/jo's/b jo b"},
		{"name with an apostrophe", "O'Reilly rock'n'roll", "reilli rock roll"},
		{"two letters for one", "Straße Strasse nœud", "strass strass noeud"},
		{"Thai", "ตั้งค่า", "ตั้ง งค่ ค่า า"},
		{"Lao", "ຕັ້ງ", "ຕັ້ງ ງ"},
		{"Khmer", "ការ", "ការ រ"},
		{"Burmese", "မြန်", "မြန် န်"},
		{"accent", "Café", "cafe"},
		{"Chinese", "查询很慢", "查询 询很 很慢 慢"},
		{"Japanese", "文字化け", "文字 字化 化け け"},
		{"half width", "ﾌｧｲﾙ", "ファ ァイ イル ル"},
		{"mixed", "用git提交", "用 git 提交 交"},
		{"Russian", "Ошибка сервера", "ошибка сервера"},
		{"punctuation", "... -- / '", ""},
		{"not UTF-8", "\xffa\xfe log", "log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			terms.Each(tt.text, func(term string, function bool) {
				require.Equal(t, function, strings.HasPrefix(term, " "))
				if !function {
					got = append(got, term)
				}
			})
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

func TestQuestion(t *testing.T) {
	words := terms.Question("Please delete delete the fooBar")
	require.Len(t, words, 5) // please, delete, foobar, foo, bar
	require.Less(t, words[0].Weight, words[1].Weight)
	require.Equal(t, "delet", words[1].Terms[0].Text)
	require.Contains(t, words[1].Terms, terms.Term{Text: "remov", Weight: words[1].Terms[1].Weight})
	require.True(t, words[2].Extra)
	require.LessOrEqual(t, len(terms.Question(strings.Repeat("one2 two3 ", 1000)+"\xff")), 96)
	require.Len(t, terms.Question("锁"), 1)
	only := terms.Question("IT and it")
	require.Len(t, only, 2, "nothing else is left")
	require.Equal(t, []terms.Term{{Text: " it", Weight: 1}}, only[0].Terms)
	for _, written := range []string{"wasn't", "Wasn’t", "wasn‘t", "wasnʼt", "wasn＇t", "‘wasn’t’"} {
		only = terms.Question(written)
		require.Len(t, only, 1, written)
		require.True(t, only[0].Function, written)
		require.Equal(t, []terms.Term{{Text: " wasn't", Weight: 1}}, only[0].Terms, written)
	}
	require.Len(t, terms.Question("It wasn’t mounted"), 1)
	require.Empty(t, terms.Question("..."))
}

func TestSynonyms(t *testing.T) {
	for _, tt := range []struct{ name, asked, found string }{
		{"Kubernetes", "k8s", "kubernetes"},
		{"database", "db", "database"},
		{"authentication", "auth", "authentication"},
		{"single sign-on", "sso", "auth"},
		{"repository", "repo", "repositories"},
		{"environment", "env", "environment"},
		{"documentation", "docs", "documentation"},
		{"production", "prod", "production"},
		{"configuration", "config", "configurations"},
		{"endpoint", "endpoints", "route"},
		{"outage", "outage", "unavailable"},
		{"broker", "rabbitmq", "queue"},
		{"household", "fridge", "refrigerator"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, pair := range [][2]string{{tt.asked, tt.found}, {tt.found, tt.asked}} {
				var stems []string
				for _, other := range terms.Question(pair[0])[0].Terms {
					stems = append(stems, other.Text)
				}
				require.Contains(t, stems, stem.English(pair[1]), pair[0])
			}
		})
	}
}

func FuzzEach(f *testing.F) {
	for _, s := range []string{"fooBar", "a/b:c=d", "死锁", "C++", "it's", "00'#", "S3B2C4DbEX", "#'s", "ตั้งค่า", "\xff", "ⅷ", "ﬀ", "\u0365"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		terms.Each(text, func(term string, _ bool) {
			n++
			require.NotEmpty(t, term)
			require.True(t, utf8.ValidString(term))
			require.LessOrEqual(t, len(term), 200)
		})
		require.LessOrEqual(t, n, 40*len(text)+40)
		terms.Question(text)
	})
}
