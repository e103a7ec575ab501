//go:build unix

package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

const prose = `We moved the release to Thursday, since the tests of 2024-01-15 took 45 minutes: the build (version 1.24.3) was slow.
Please look at src/home/index.ts, line 120, and tell me whether "retry: 3" is enough. It is well-known that e.g. 10,000 requests
per second need more than one process - see https://example.com/docs/scaling?page=2#limits for the details. Thank you!
`

const chinese = `我们把发布时间改到了星期四，因为2024年1月15日的测试花了45分钟：构建（版本1.24.3）太慢了。请看一下第120行，告诉我“重试：3”够不够。众所周知，每秒一万次请求需要不止一个进程。谢谢！
`

const code = `func (s *Server) handle(ctx context.Context, req *http.Request) (int64, error) {
	if err := s.limit.Wait(ctx); err != nil { // token bucket: 100 per second
		return 0, fmt.Errorf("waiting for %d: %w", 0x7fffffff, err)
	}
	return s.store.Put(ctx, req.Header.Get("X-Request-Id"), time.Now().UnixMilli()-1700000000000)
}
`

// hostile are texts that make rules look far, or at every byte.
var hostile = map[string]string{
	"-u in paths": "/-ux", "-u after dots": ".-u", "--user=": "--user=", "curl -u": "curl -u", "curl arguments": "curl x ", "docker login": "docker login x ", "unzip": "unzip ",
	"authorization": "authorization: ", "authorization token": "authorization=token ", "Digest": "Digest ", "session cookies": "sessionid=", "client-key-data": "client-key-data: ", "private key": "private key ",
	"Private-Lines": "Private-Lines: 1 ", "documents and settings": "\\documents and settings\\",
	"local parts":         "a.b-c_d",
	"at signs":            "@",
	"addresses cut":       "a@",
	"domains":             "a@b.c.",
	"quoted local parts":  `"@`,
	"digits":              "1",
	"digits apart":        "4 ",
	"cards that fail":     "4111 ",
	"phones that fail":    "09-12-",
	"plus":                "+1",
	"parentheses":         "(1)",
	"pairs":               "01 23 ",
	"sk-":                 "sk-a-",
	"eyJ":                 "eyJ_",
	"eyJ with dots":       "eyJ.",
	"re_":                 "re_",
	"SG.":                 "SG.",
	"ghp_":                "ghp_a",
	"SU":                  "SUAA",
	"names":               "password=",
	"names, colon":        "token: ",
	"names, quotes":       `password="`,
	"names, all quotes":   "password=\"password='password=`",
	"names, escapes":      `token=\"\\`,
	"names, short values": "token=a ",
	"names, one value":    "token=a,",
	"names, capitals":     "A_KEY=",
	"names, not random":   "A_KEY=1a2b-",
	"said":                "password is ",
	"names, calls":        "token=f(",
	"names, options":      "--a-",
	"names, tags":         "<a.",
	"keys, short":         "-hf_a",
	"eyJ in a word":       "_eyJa",
	"number rows":         "2001 150 42 ",
	"Chinese names":       "密码是",
	"bearer":              "bearer ",
	"bearer, joined":      "bearer:",
	"basic":               "basic aaaa",
	"-u":                  "-u a",
	"-u, joined":          "-u -u=",
	"URLs":                "a://",
	"URLs with names":     "a://b@",
	"BEGIN":               "-----BEGIN PRIVATE KEY-----",
	"BEGIN, cut":          "BEGIN PRIVATE KEY",
	"END":                 "-----END PRIVATE KEY-----",
	"END behind words":    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa PRIVATE KEY",
	"headers":             "-----BEGIN PRIVATE KEY-----\nProc-Type:",
	"home":                "/home/",
	"homes in a path":     ":/home/home/home/home/home/home/home/home/home/home/home",
	"homes in a mount":    " /mnt/home/home/home/home/home/home/home/home/home/home/home",
	"homes, one letter":   " /a/home",
	"Digest, answered":    "Digest Digest Digest Digest Digest response=",
	"Users":               `\Users\`,
	"blanks of Windows":   `C:\Users\a b c d`,
	"backslashes":         `\`,
	"percent":             "%40",
	"percent, slash":      "%2Fhome",
	"marks":               "[EMAIL]",
	"brackets":            "[",
	"invisible":           "\u200b",
	"not UTF-8":           "\xff",
	"wide digits":         "１２３ ",
	"rare letters":        "𝐚𞤀",
	"words of phones":     "tel ",
	"phones with a word":  "tel 912 34 ",
	"words of phones, =":  "tel=",
	"words in a word":     "atel 912345678 ",
	"contacts":            "contact: 1 ",
	"phones, mixed":       "070-123 45 ",
	"modes of files":      "0755 ",
	"Cyrillic":            "пароль",
	"passwords, Cyrillic": "пароль: ",
	"users of Windows":    `C:\Users\a&b (c) `,
	"users, slashes":      "C:/Users/A B",
	"Bedrock":             "-ABSKa1+/",
	"1Password":           "-ops_eyJ=",
	"one phone, a word":   "phone: 1 2",
	"cards in a table":    "0,4111111111111112,",
	"cards, low lines":    "4111_1111_1111_1112_",
	"cards, slashes":      "4111/1111/1111/1111/",
	"four groups":         "044 668 18 00 ",
	"Discord":             "MTk4NjIyNDgzNDcxOTI1MjQ4.",
	"Discord, beginnings": "-M",
	"Doppler":             "dp.st.a",
	"EAAA":                "-EAAA",
	"cookies":             "cookie: a=",
	"cookies, short":      "cookie: a=b; ",
	"one cookie":          "cookie a=b;cookie=cookie;",
	"cookies of servers":  "set-cookie:a=0123456789abcdef",
	"mysql":               "mysql -a ",
	"mysql, joined":       "-mysql",
	"mysql, options":      "mysql -amysql --mysql ",
	"telegram":            "123456789:",
	"webhook":             "discord.com/",
	"secrets":             "a@b.com ",
	"phones":              "0912-345-678 ",
	"keys":                "password=hunter2 ",
}

func repeat(s string, size int) string { return strings.Repeat(s, size/len(s)+1)[:size] }

// processor returns the processor time of this process in nanoseconds, which
// other processes do not change.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// Eight times the text takes about eight times as long; a quadratic rule would take
// 64 times.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const small, large = 8 << 10, 64 << 10
	for name, s := range hostile {
		t.Run(name, func(t *testing.T) {
			short, long := repeat(s, small), repeat(s, large)
			require.Less(t, growth(func() { redact.Text(short) }, func() { redact.Text(long) }, large/small), 24.0, "64 KiB to 8 KiB")
		})
	}
	for name, s := range map[string]string{"addresses": "10.0.0.1 ", "dots": "1.", "colons": "::", "groups": "abc:", "digits": "1"} {
		t.Run("Addresses, "+name, func(t *testing.T) {
			// Package regexp takes another way for short texts.
			short, long := repeat(s, large), repeat(s, 8*large)
			require.Less(t, growth(func() { redact.Addresses(short) }, func() { redact.Addresses(long) }, 8), 24.0, "512 KiB to 64 KiB")
		})
	}
	t.Run("names of fields", func(t *testing.T) {
		short, long := names(500), names(4000)
		require.Less(t, growth(func() { redact.JSON(short) }, func() { redact.JSON(long) }, 8), 24.0, "4,000 names to 500")
	})
}

// A text built to be slow costs at most so many times as much as prose, and twice as
// much of it about twice as much. Homes in one path once cost 45 times as much.
func TestHostileTextsCostLittleMore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size, most = 64 << 10, 30
	plain := repeat(prose, size)
	least := took(func() { redact.Text(plain) }, 1, 1e8)
	for name, s := range hostile {
		t.Run(name, func(t *testing.T) {
			s := repeat(s, size)
			times := took(func() { redact.Text(s) }, 1, 1e7) / least
			if times > most/2 {
				times = took(func() { redact.Text(s) }, 1, 1e8) / took(func() { redact.Text(plain) }, 1, 1e8)
			}
			require.Less(t, times, float64(most), "times the cost of prose")
		})
	}
	for _, name := range []string{"home", "homes in a path", "Digest", "users, slashes"} {
		t.Run(name+", a megabyte", func(t *testing.T) {
			short, long := repeat(hostile[name], 1<<20), repeat(hostile[name], 2<<20)
			require.Less(t, growth(func() { redact.Text(short) }, func() { redact.Text(long) }, 2), 3.0, "2 MiB to 1 MiB")
		})
	}
}

// growth is how many times as long as short a call of long takes, which has so many
// times the text. What a short look does not find clearly linear gets a longer one.
func growth(short, long func(), times int) (ratio float64) {
	for _, least := range []float64{1e7, 3e7} {
		ratio = took(long, 1, least) / took(short, times, least)
		if ratio < 1.5*float64(times) {
			break
		}
	}
	return ratio
}

// took is how long f takes, in nanoseconds of processor time: the mean of as many
// rounds of some calls as last for least, well above the steps of the clock.
func took(f func(), times int, least float64) float64 {
	start, rounds := processor(), 0
	for rounds == 0 || processor()-start < least {
		for range times {
			f()
		}
		rounds++
	}
	return (processor() - start) / float64(rounds*times)
}

// names is an object with n addresses as the names of its fields.
func names(n int) []byte {
	object := map[string]int{}
	for i := range n {
		object[fmt.Sprintf("a%d@b.com", i)] = i
	}
	raw, _ := json.Marshal(object)
	return raw
}

// raceDetector is set where sync.Pool forgets on purpose.
var raceDetector bool

func TestNoAllocations(t *testing.T) {
	for name, s := range map[string]string{"prose": prose, "Chinese": chinese, "code": code} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, s, redact.Text(s))
			raw, _ := json.Marshal(map[string]string{"text": s})
			require.Equal(t, string(raw), string(redact.JSON(raw)))
			if raceDetector {
				return
			}
			// The pool may be emptied in between.
			require.Less(t, testing.AllocsPerRun(100, func() { redact.Text(s) }), 1.0)
		})
	}
}

// measure reports megabytes a second of processor time beside those of the clock.
func measure(b *testing.B, size int, f func()) {
	b.SetBytes(int64(size))
	start := processor()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(size)*float64(b.N)*1e3/(processor()-start), "cpu-MB/s")
}

func BenchmarkText(b *testing.B) {
	for _, r := range []struct{ name, text string }{
		{"prose", prose},
		{"Chinese", chinese},
		{"code", code},
		{"one address in 64 KiB", repeat(prose, 64<<10-8) + " a@b.com"},
	} {
		b.Run(r.name, func(b *testing.B) {
			s := r.text
			if len(s) < 4096 {
				s = strings.Repeat(s, 4096/len(s)+1)
			}
			b.ReportAllocs()
			measure(b, len(s), func() { redact.Text(s) })
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, s := range hostile {
		b.Run(name, func(b *testing.B) {
			s := repeat(s, 64<<10)
			measure(b, len(s), func() { redact.Text(s) })
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	turn := map[string]any{"prompt": prose, "reply": chinese, "tools": []any{map[string]any{"name": "exec", "result": code}}, "at": 1700000000000}
	raw, _ := json.Marshal(map[string]any{"version": 1, "history": []any{turn, turn, turn, turn, turn}})
	b.ReportAllocs()
	measure(b, len(raw), func() { redact.JSON(raw) })
}
