package subjects

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToken(t *testing.T) {
	for _, row := range []struct{ name, value, token string }{
		{"plain", "main-agent_1", "main-agent_1"},
		{"absent", "", "_"},
		{"a lone underscore", "_", "=5F"},
		{"two underscores", "__", "__"},
		{"colons", "agent:main:web1", "agent=3Amain=3Aweb1"},
		{"dots, wildcards and spaces", "a.*> b", "a=2E=2A=3E=20b"},
		{"an equals sign", "=41", "=3D41"},
		{"beyond ASCII", "é", "=C3=A9"},
		{"invalid UTF-8", "\xff\x00", "=FF=00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.token, EncodeToken(row.value))
			back, err := DecodeToken(row.token)
			require.NoError(t, err)
			require.Equal(t, row.value, back)
		})
	}
}

func TestDecodeTokenRefuses(t *testing.T) {
	for _, row := range []struct{ name, token string }{
		{"nothing", ""},
		{"a raw dot", "a.b"},
		{"a raw space beside an escape", "a =3A"},
		{"a cut escape", "a=3"},
		{"lower-case digits", "a=3a"},
		{"no digits", "a=ZZ"},
		{"a needless escape", "=41"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := DecodeToken(row.token)
			require.ErrorIs(t, err, ErrBadToken)
		})
	}
}

func TestNameShortensLongTokens(t *testing.T) {
	short := strings.Repeat("a", 200)
	require.Equal(t, short, Name(short))
	long := Name(strings.Repeat("a", 201))
	// printf 'a%.0s' {1..201} | sha256sum
	require.Equal(t, strings.Repeat("a", 180)+"a92efd82109373e5", long)
	require.Len(t, Name(strings.Repeat("ü", 90)), 196, "the bytes of the token count")
	require.NotEqual(t, Name(strings.Repeat("a", 300)), Name(strings.Repeat("a", 301)))
	require.True(t, MayBeShortened(long))
	require.False(t, MayBeShortened(short))
}

func TestSubjects(t *testing.T) {
	p := Prefix("acme.claw")
	require.Equal(t, "acme.claw.request.before_prompt_build.main", p.Request(HookBeforePromptBuild, "main"))
	require.Equal(t, "acme.claw.event.agent_end._.agent=3Amain=3Aweb1", p.Event(HookAgentEnd, "", "agent:main:web1"))
	require.Equal(t, "acme.claw.event.agent_end.main."+strings.Repeat("s", 1000), p.Event(HookAgentEnd, "main", strings.Repeat("s", 1000)))
	require.Less(t, len(p.Event(HookAgentEnd, "main", strings.Repeat("s", 10_000))), 300, "no server takes that line")
	require.Equal(t, "acme.claw.dlq._", p.DeadLetter(""))
	require.Equal(t, "agent_end", p.EventHook("acme.claw.event.agent_end.main.s"))
	require.Equal(t, "odd hook", p.EventHook("acme.claw.event.odd=20hook.main.s"))
	require.Empty(t, p.EventHook("acme.claw.event.=zz.main.s"))
	require.Empty(t, p.EventHook("acme.claw.request.agent_end.main"))
}

func TestCatalogueHoldsEveryHook(t *testing.T) {
	kinds := map[Kind]int{}
	for _, k := range hooks {
		kinds[k]++
	}
	// 42 of the gateway, 3 compatibility names, turn_begun, decided and feedback of our own.
	require.Len(t, hooks, 48)
	require.Equal(t, 48, kinds[Decision]+kinds[Observation])
	require.Equal(t, Decision, KindOf(HookBeforePromptBuild))
	require.Equal(t, Observation, KindOf(HookAgentEnd))
	require.Equal(t, Unknown, KindOf("no_such_hook"))
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "_", "=", "=5F", "agent:main:web1", "a.b", "\xff", "日本"} {
		f.Add(s)
	}
	token := regexp.MustCompile(`^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$`)
	f.Fuzz(func(t *testing.T, s string) {
		enc := EncodeToken(s)
		require.Regexp(t, token, enc)
		dec, err := DecodeToken(enc)
		require.NoError(t, err)
		require.Equal(t, s, dec)
		require.LessOrEqual(t, len(Name(s)), MaxNameBytes)
		// What decodes at all decodes to a value that encodes to the same.
		if v, err := DecodeToken(s); err == nil {
			require.Equal(t, s, EncodeToken(v))
		}
	})
}

func BenchmarkEncodeToken(b *testing.B) {
	for _, row := range []struct{ name, value string }{
		{"uuid", "a48f543a-27ba-47ee-a0e2-5d8e76ae815b"},
		{"key", "agent:main:telegram:group:-1001234567890"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				EncodeToken(row.value)
			}
		})
	}
}

func BenchmarkDecodeToken(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = DecodeToken("agent=3Amain=3Atelegram=3Agroup=3A-1001234567890")
	}
}

func TestEventID(t *testing.T) {
	for _, row := range []struct {
		name    string
		headers map[string][]string
		want    string
	}{
		{"none", nil, ""},
		{"an event", map[string][]string{HeaderMsgID: {"e1"}}, "e1"},
		{"replayed", map[string][]string{HeaderMsgID: {"replay-1"}, HeaderDLQMsgID: {"e1"}}, "e1"},
		{"replayed, without an id", map[string][]string{HeaderMsgID: {"replay-1"}, HeaderDLQMsgID: {""}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, EventID(row.headers)) })
	}
}
