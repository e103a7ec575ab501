package redact_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

// secrets are found wherever white space stands around them.
var secrets = []string{
	"alice.smith@example.com", "用户@例子.公司", "+886 912 345 678", "090-1234-5678", "(415) 555-2671",
	"4111 1111 1111 1111", "378282246310005", "ghp_0123456789abcdef0123456789abcdefabcd",
	"sk-ant-api03-AbCdEf_123-4567890123456789-AA", "AKIAIOSFODNN7EXAMPLE", "AKIAABCDEFGHIJKLMNOP",
	"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "4111/1111/1111/1111",
	"SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
	"070-123 45 67", "0470/12.34.56", "phc_0123456789abcdef0123456789abcdef", "ops_eyJzaWduSW5BZGRyZXNzIjoibXku",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
}

var pieces = []string{
	"password=", "token: ", "api_key=\"", "Bearer ", "://", "user:pw@host", "/home/alice/", `C:\Users\bob\`,
	"-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
	"[EMAIL]", "[API_KEY]", "[PHONE]", "[", "]", "@", "a@b.com", "0912-345-678", "+1", "415 555 2671", "-", " ", ".",
	"\\n", "\"", "'", "密码是", "谢谢", "１２３", "＠", "\u200b", "\xff", "eyJ", "sk-", "4111111111111111", "01 23 45 67 89",
	"tel ", "mobile: ", ",", "cookie: a=", "mysql -p", "AKIAABCDEFGHIJKLMNOP", "044 668 18 00", "_", "/",
	"-u ", "key", "secret key is ", "%40", "%2F", "(", ")", "\n", "_", "x", "1", "@b.co", "/Users/", "123456789:",
	"C:/USERS/", "&", "'", " (", "A_KEY=", "abc123def456ghi", "PASS=", "phone=", "tlf ", "contact: ", "sms to ", "0755 0644 0600", "0470/12.34.56", "070-123 45 67", "пароль: ", "senha=",
}

// texts made of pieces, by the bytes of a seed.
func made(seed []byte) string {
	var b strings.Builder
	for _, c := range seed {
		b.WriteString(pieces[int(c)%len(pieces)])
	}
	return b.String()
}

func FuzzText(f *testing.F) {
	for _, s := range append(slices.Clone(secrets), pieces...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, s := range []string{s, made([]byte(s))} {
			got := redact.Text(s)
			require.Equal(t, got, redact.Text(got), "the second time")
			if utf8.ValidString(s) {
				require.True(t, utf8.ValidString(got))
			}
		}
	})
}

func FuzzSecret(f *testing.F) {
	for i := range secrets {
		f.Add("before", byte(i), "behind")
	}
	f.Fuzz(func(t *testing.T, before string, i byte, behind string) {
		secret := secrets[int(i)%len(secrets)]
		if strings.Contains(before+behind, secret) {
			return
		}
		// A line of its own: what stands on other lines does not matter.
		got := redact.Text(before + "\n\n" + secret + "\n\n" + behind)
		require.NotContains(t, got, secret)
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range secrets {
		raw, _ := json.Marshal(map[string]any{"a": s, "b": []any{1, s, nil, true, map[string]any{s: s}}, "password": "x"})
		f.Add(raw)
	}
	f.Add([]byte(`{"a":"\u0061@b.com","b":"\ud83d\ude00 \/home\/alice\/x","c":[],"d":{}}`))
	f.Add([]byte(`{"a@b.com":1,"c@d.com":2,"[EMAIL]":3,"[EMAIL\u005d":4,"/home/a/x":{},"/home/b/x":[]}`))
	f.Add([]byte(`"C:\\Users\\alice"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkJSON(t, raw)
		object := map[string]string{}
		for seed := range slices.Chunk(raw[:min(len(raw), 64)], 4) {
			object[made(seed)] = made(seed[1:])
		}
		raw, _ = json.Marshal(object)
		checkJSON(t, raw)
	})
}

func checkJSON(t *testing.T, raw []byte) {
	before := bytes.Clone(raw)
	got := redact.JSON(raw)
	require.Equal(t, before, raw, "the input")
	require.Equal(t, string(got), string(redact.JSON(got)), "the second time")
	if !json.Valid(raw) {
		return
	}
	require.True(t, json.Valid(got), "%s", got)
	want, names := skeleton(raw)
	after, namesAfter := skeleton(got)
	require.Equal(t, want, after)
	require.GreaterOrEqual(t, namesAfter, names, "names of objects that became the same")
}

// skeleton is a JSON document without its strings, and how many names its objects
// have, counting those that are the same once.
func skeleton(raw []byte) (string, int) {
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var objects []map[string]bool // the names of the objects around, nil for an array
	key, names := false, 0
	for {
		token, err := d.Token()
		if err != nil {
			return b.String(), names
		}
		switch v := token.(type) {
		case json.Delim:
			b.WriteString(v.String())
			if v == '{' || v == '[' {
				var object map[string]bool
				if v == '{' {
					object = map[string]bool{}
				}
				objects = append(objects, object)
			} else {
				objects = objects[:len(objects)-1]
			}
			key = len(objects) > 0 && objects[len(objects)-1] != nil
			continue
		case string:
			if key && !objects[len(objects)-1][v] {
				objects[len(objects)-1][v] = true
				names++
			}
			b.WriteString("string")
		case json.Number:
			b.WriteString(v.String())
		default:
			b.WriteString("literal")
		}
		b.WriteByte(' ')
		if len(objects) > 0 && objects[len(objects)-1] != nil {
			key = !key
		}
	}
}
