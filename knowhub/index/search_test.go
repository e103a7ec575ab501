package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
	"intenthint/knowhub/index/terms"
)

// Each part of an identifier finds it, and so do its parts up to a number, and the
// whole.
func TestSearchFindsPartsAfterANumber(t *testing.T) {
	for identifier, asked := range map[string]string{
		"S3BucketPolicy": "bucket policy s3 s3bucketpolicy S3Bucket",
		"HTTP2Server":    "server http http2 HTTP2 http2server",
		"OAuth2Client":   "client oauth2 OAuth2 oauth2client",
		"Base64Encoder":  "encoder base64 base base64encoder",
		"Utf8Decoder":    "decoder utf8 utf8decoder",
		"IPv6Address":    "address ipv6 IPv6 ipv6address",
		"ec2Instance":    "instance ec2 EC2 ec2instance",
		"MP3Player":      "player mp3",
		"K8SCluster":     "cluster k8s",
		"W3CValidator":   "validator w3c",
	} {
		x := index.New()
		x.Apply([]experience.Change{change(1, approved("1", "configure "+identifier, "r", "done"))})
		for word := range strings.FieldsSeq(asked) {
			require.Equal(t, []string{"1"}, search(t, x, word), "%s in %s", word, identifier)
		}
	}
}

// A word is no typing error of a name with a number, but a number may be one.
func TestSearchCorrectsNumbersByNumbers(t *testing.T) {
	x := index.New()
	x.Apply([]experience.Change{change(1, approved("1", "code kub3ctl was refused", "r", "done"))})
	require.Empty(t, search(t, x, "kubectl"))
	require.Equal(t, []string{"1"}, search(t, x, "kub4ctl"))
}

// However many numbered names begin like a word, the word is corrected.
func TestSearchCorrectsBehindNumberedNames(t *testing.T) {
	x := index.New()
	var names strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&names, " sea%d", i)
	}
	x.Apply([]experience.Change{change(1, approved("names", "list the stores", "r", names.String())), change(2, approved("word", "count the segments", "r", "done"))})
	for _, tt := range []struct{ name, text, want string }{
		{"two letters swapped", "segmnet", "word"},
		{"a letter missing", "segmet", "word"},
		{"a name with another number", "sea3x", "names"},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, []string{tt.want}, search(t, x, tt.text)) })
	}
}

// A question of function words alone searches for these; otherwise they say nothing.
func TestSearchForFunctionWords(t *testing.T) {
	x := index.New()
	down, it := approved("down", "What to do when it is down", "phone", "call the operator"), approved("it", "Ask IT", "a form", "they own laptops")
	x.Apply([]experience.Change{change(1, down), change(2, it), change(3, approved("cans", "recycle cans", "r", "done"))})
	for text, want := range map[string]string{
		"what to do when it is down": "down", "down": "down", "IS DOWN?": "down", "IT": "down it", "they": "it", "own": "it",
		"who am i": "", "them": "", "a AND OR NOT *": "it", "can": "", "cans": "cans", "the operator": "down", "is it the laptop": "it",
	} {
		require.ElementsMatch(t, strings.Fields(want), search(t, x, text), text)
	}
	require.Equal(t, "down", search(t, x, "what to do when it is down")[0])
	hits := x.Search(index.Query{Text: "what to do when it is down", Prompt: true})
	require.Empty(t, hits, "a prompt like this has no subject")
	for text, n := range map[string]int{"the operator": 0, "is it the phone of the operator": 1} {
		hits = x.Search(index.Query{Text: text, Prompt: true})
		require.Len(t, hits, n, "two words name what both are about")
	}

	// They are no part of what experiences have in common.
	near := x.Near(approved("other", "What to do when it is up", "it", "do it"), false)
	require.Empty(t, near)
	down.Task = "Call the operator"
	x.Apply([]experience.Change{change(4, down)})
	require.Empty(t, search(t, x, "when down"), "a change removes them")
}

func TestApostrophes(t *testing.T) {
	texts := []string{"The disk wasn't mounted", "The disk wasn’t mounted", "The disk wasnʼt mounted"}
	for _, text := range texts {
		x := index.New()
		x.Apply([]experience.Change{change(1, approved("a", text, "mount", "It works")), change(2, approved("b", "The disk doesn’t spin", "hand", "It works"))})
		for _, asked := range append(texts, "wasn't", "wasn’t", "wasnʼt") {
			ids := search(t, x, asked)
			require.NotEmpty(t, ids, "%s in %s", asked, text)
			require.Equal(t, "a", ids[0], "%s in %s", asked, text)
		}
	}
}

func TestSearch(t *testing.T) {
	x := index.New()
	var changes []experience.Change
	for i, e := range []experience.Experience{
		approved("k8s", "Apply manifests", "kubectl-apply", "server-side configuration of deployments"),
		approved("proxy", "Requests skip the proxy", "HTTP_PROXY", "export fooBarBaz too, see /etc/nginx/nginx.conf and --dry-run, error E11000"),
		approved("zh", "查询订单很慢", "联合索引", "加索引后变快，注意死锁"),
		approved("ja", "文字化けを直す", "ファイル", "エンコーディングを指定する"),
		approved("cafe", "Book a table at the café", "phone", "They were broken into yesterday"),
		approved("cpp", "Undefined symbol", "C++", "link order"),
		approved("th", "การตั้งค่าเซิร์ฟเวอร์", "ระบบ", "เปิดใหม่"),
		approved("fr", "Réparer l'imprimante", "câble d’eau", "Straße"),
		approved("ko", "한국어 검색", "색인", "검색이 느리다"),
	} {
		changes = append(changes, change(i+1, e))
	}
	x.Apply(changes)
	for _, tt := range []struct{ name, text, want string }{
		{"part of a Thai text", "ตั้งค่า", "th"},
		{"last part of a Thai text", "เซิร์ฟเวอร์", "th"},
		{"word behind an apostrophe", "imprimante", "fr"},
		{"word behind a typographic apostrophe", "eau", "fr"},
		{"with another article", "d'imprimante", "fr"},
		{"two letters for one", "strasse", "fr"},
		{"word form", "configuring a deployed app", "k8s"},
		{"irregular form", "who breaks in", "cafe"},
		{"identifier whole", "kubectl-apply", "k8s"},
		{"identifier part", "kubectl", "k8s"},
		{"upper case with underscore", "http_proxy", "proxy"},
		{"camel case in parts", "bar", "proxy"},
		{"camel case joined", "foobarbaz", "proxy"},
		{"camel case as snake case", "foo_bar_baz", "proxy"},
		{"file of a path", "nginx.conf", "proxy"},
		{"path", "/etc/nginx/nginx.conf", "proxy"},
		{"flag", "--dry-run", "proxy"},
		{"error code", "e11000", "proxy"},
		{"two Chinese characters", "订单", "zh"},
		{"one Chinese character", "索", "zh"},
		{"the last Chinese character", "锁", "zh"},
		{"two Japanese characters", "文字", "ja"},
		{"katakana", "ファイル", "ja"},
		{"half-width katakana", "ﾌｧｲﾙ", "ja"},
		{"full-width letters", "ＨＴＴＰ_ＰＲＯＸＹ", "proxy"},
		{"Korean", "검색", "ko"},
		{"no accent", "cafe", "cafe"},
		{"C++", "c++", "cpp"},
		{"beginning of a word", "manif", "k8s"},
		{"typing error", "manifset", "k8s"},
		{"letter missing", "undefned", "cpp"},
		{"something after all", "what about deployments please", "k8s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ids := search(t, x, tt.text)
			require.NotEmpty(t, ids)
			require.Equal(t, tt.want, ids[0])
		})
	}
	for _, text := range []string{"", " \n", "zebra", "！？", "'", `"`, "\x00", "\xff\xfe", "NEAR(", "-", "日", strings.Repeat("x", 1<<20), strings.Repeat("word ", 1<<16)} {
		require.Empty(t, x.Search(index.Query{Text: text}), "%.20q", text)
	}
}

func TestSearchFilters(t *testing.T) {
	x := index.New()
	changes := some(600)
	for i := range changes {
		e := &changes[i].Experience
		e.AgentID = []string{"main", "other", ""}[i%3]
		e.Status = []experience.Status{experience.Approved, experience.Pending, experience.Rejected, experience.Approved}[i%4]
	}
	x.Apply(changes)
	for _, tt := range []struct {
		name string
		q    index.Query
		n    int
	}{
		{"usual limit", index.Query{}, 10},
		{"limit", index.Query{Limit: 3}, 3},
		{"greatest limit", index.Query{Limit: 1 << 30}, 201},
		{"agent", index.Query{AgentID: "main", Limit: 200}, 100},
		{"nobody's", index.Query{Unowned: true, Limit: 200}, 100},
		{"unknown agent", index.Query{AgentID: "nobody"}, 0},
		{"agent with the name of a status", index.Query{AgentID: "approved"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Text = "many tasks"
			hits := x.Search(tt.q)
			require.Equal(t, tt.n, len(hits)) //nolint:testifylint // hits are long
			for _, h := range hits {
				if tt.q.AgentID != "" || tt.q.Unowned {
					require.Equal(t, tt.q.AgentID, h.AgentID)
				}
			}
		})
	}
}

func TestRank(t *testing.T) {
	better := func(name string, change func(e *experience.Experience)) {
		t.Run(name, func(t *testing.T) {
			x := index.New()
			a, b := approved("a", "compile the kernel", "make", "takes an hour"), approved("b", "compile the kernel", "make", "takes an hour")
			a.Confidence, b.Confidence = 0.8, 0.8
			change(&b)
			x.Apply([]experience.Change{{ID: "a", Revision: 1, Experience: a}, {ID: "b", Revision: 2, Experience: b}})
			require.Equal(t, []string{"b", "a"}, search(t, x, "compile kernel"))
			more := approved("c", "compile the kernel with debug symbols", "make", "takes an hour")
			more.Confidence, more.CreatedAt = 0.1, created.AddDate(-3, 0, 0)
			x.Apply([]experience.Change{{ID: "c", Revision: 3, Experience: more}})
			require.Equal(t, "c", search(t, x, "compile kernel with debug symbols")[0], "the text counts most")
		})
	}
	better("confidence", func(e *experience.Experience) { e.Confidence = 1 })
	better("seen", func(e *experience.Experience) { e.Seen = 4 })
	better("younger", func(e *experience.Experience) { e.CreatedAt = created.Add(90 * 24 * time.Hour) })
	better("task before result", func(e *experience.Experience) { e.Result = "compile the kernel takes an hour" })
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{"docker", "死锁", "a\"b'c*", "Foo_Bar-baz/qux", "\xff", "ﾌｧｲﾙ", "'s"} {
		f.Add(s)
	}
	x, changes := index.New(), some(50)
	x.Apply(changes)
	revision := 50
	f.Fuzz(func(t *testing.T, text string) {
		x.Search(index.Query{Text: text})
		revision++
		x.Apply([]experience.Change{change(revision, approved("fuzz", text, text, text))})
		words := 0
		terms.Each(text, func(_ string, function bool) {
			if !function {
				words++
			}
		})
		near := x.Near(approved("other", text, text, text), false)
		found := slices.ContainsFunc(near, func(h index.Hit) bool { return h.ID == "fuzz" && h.Score > 0.999 })
		require.Equal(t, words > 0, found)
	})
}
