package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

func TestJSON(t *testing.T) {
	for _, r := range []row{
		{"string", `"a@b.com"`, `"[EMAIL]"`},
		{"object", `{ "text" : "mail a@b.com" , "n" : 1.50e3 }`, `{ "text" : "mail [EMAIL]" , "n" : 1.50e3 }`},
		{"names", `{"/home/keyname/x":"v","key.mail@example.com":1}`, `{"/home/[REDACTED]/x":"v","[EMAIL]":1}`},
		{"names that stay", `{"file_path":"x","a b":1,"1700000000":[],"[x]":{},"a\n":1,"a\n":2}`, same},
		{"names that would be the same", `{"a@b.com":1,"c@d.com":2,"x":3,"e@f.com":4}`, `{"[EMAIL]":1,"[EMAIL] #2":2,"x":3,"[EMAIL] #3":4}`},
		{"names of several objects", `[{"a@b.com":{"c@d.com":1}},{"e@f.com":2}]`, `[{"[EMAIL]":{"[EMAIL]":1}},{"[EMAIL]":2}]`},
		{"name of an object behind another", `{"a@b.com":{"x@y.com":[{}]},"c@d.com":2}`, `{"[EMAIL]":{"[EMAIL]":[{}]},"[EMAIL] #2":2}`},
		{"name with a mark", `{"a@b.com":1,"[EMAIL]":2,"[EMAIL\u005d":3}`, `{"[EMAIL]":1,"[EMAIL] #2":2,"[EMAIL\u005d #3":3}`},
		{"name with a mark and a number", `{"[EMAIL] #2":1,"a@b.com":2,"c@d.com":3}`, `{"[EMAIL] #2":1,"[EMAIL]":2,"[EMAIL] #3":3}`},
		{"names of the same file", `{"/home/a/x":1,"/home/b/\u0078":2}`, `{"/home/[REDACTED]/x":1,"/home/[REDACTED]/\u0078 #2":2}`},
		{"name that takes the number for a value", `{"a@b.com password= ":1,"c@d.com password= ":2,"e@f.com password= ":3}`, `{"[EMAIL] password= ":1,"[EMAIL] password=  [API_KEY]":2,"[EMAIL] password=  [API_KEY] #2":3}`},
		{"name of a secret with a mark", `{"a@b.com password":"hunter2"}`, `{"[EMAIL] password":"[API_KEY]"}`},
		{"arrays", `[["a@b.com"],{"x":["c@d.com",null,true]}]`, `[["[EMAIL]"],{"x":["[EMAIL]",null,true]}]`},
		{"name of a secret", `{"password":"hunter2","apiKey":"abcd-efgh-ijkl","user":"x"}`, `{"password":"[API_KEY]","apiKey":"[API_KEY]","user":"x"}`},
		{"name in capitals", `{"OPENAI_KEY":"abc123def456ghi","PASS":"hunter2x9","KEY":"abc123def456ghi","SORT_KEY":"name"}`, `{"OPENAI_KEY":"[API_KEY]","PASS":"[API_KEY]","KEY":"abc123def456ghi","SORT_KEY":"name"}`},
		{"name with other letters", `{"contraseña":"abc","\u043f\u0430\u0440\u043e\u043b\u044c":"hunter2","\u5bc6\u7801":"abc","resenha":"abc"}`, `{"contraseña":"[API_KEY]","\u043f\u0430\u0440\u043e\u043b\u044c":"[API_KEY]","\u5bc6\u7801":"[API_KEY]","resenha":"abc"}`},
		{"headers", `{"Authorization":"token 0123456789abcdef0123","proxy-authorization":"a1b2c3d4e5f6g7h8","Cookie":"theme=dark; sid=0123456789abcdefghij"}`, `{"Authorization":"[API_KEY]","proxy-authorization":"[API_KEY]","Cookie":"[API_KEY]"}`},
		{"docker config", `{"auths":{"r.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}`, `{"auths":{"r.io":{"auth":"[API_KEY]"}}}`},
		{"fields like headers, short", `{"auth":"oauth2-authorization-code","x":{"auth":"https://auth2.example.com/login","authorization":"role-based-access-v2","cookie":"consent-banner-2024"}}`, same},
		{"fields like headers", `{"authorization":"required for admins since version 2","cookie":"accepted in the banner of 2024","cookies":"a=b"}`, same},
		{"name of a list of secrets", `{"password":["hunter2","s"],"y":"z"}`, `{"password":["[API_KEY]","[API_KEY]"],"y":"z"}`},
		{"name of an object", `{"secret":{"name":"database-password"}}`, same},
		{"escapes around stay", `"\u4f60\/ \ud83d\ude00 a@b.com \u00e9\n"`, `"\u4f60\/ \ud83d\ude00 [EMAIL] \u00e9\n"`},
		{"escaped secret", `"\u0061\u0040b.com"`, `"[EMAIL]"`},
		{"ends of lines", `"x\na@b.com\ny"`, `"x\n[EMAIL]\ny"`},
		{"Windows path", `"C:\\Users\\alice\\x"`, `"C:\\Users\\[REDACTED]\\x"`},
		{"private key", `"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"`, `"[PRIVATE_KEY]\n"`},
		{"JSON in JSON", `"{\"password\":\"hunter2\",\"mail\":\"a@b.com\"}"`, `"{\"password\":\"[API_KEY]\",\"mail\":\"[EMAIL]\"}"`},
		{"across fields", `{"a":"090-1234","b":"5678"}`, same},
		{"numbers stay", `{"a":4111111111111111,"b":13800138000}`, same},
		{"nothing", `{"a":"b"}`, same},
		{"not JSON", `{"a":"a@b.com"`, `{"a":"[EMAIL]"`},
		{"empty", ``, same},
	} {
		t.Run(r.name, func(t *testing.T) {
			want := r.want
			if want == same {
				want = r.in
			}
			in := []byte(r.in)
			got := redact.JSON(in)
			require.Equal(t, want, string(got))
			require.Equal(t, r.in, string(in), "the input")
			require.Equal(t, want, string(redact.JSON(got)), "the second time")
			if want == r.in && len(in) > 0 {
				require.Same(t, &in[0], &got[0], "the same bytes")
			}
		})
	}
}
