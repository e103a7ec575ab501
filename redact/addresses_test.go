package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, r := range []row{
		{"IPv4", "ping 192.168.1.1 and 8.8.8.8.", "ping [IP] and [IP]."},
		{"port and prefix", "http://10.0.3.7:8080/x 10.0.0.0/8 (10.1.2.3)", "http://[IP]:8080/x [IP]/8 ([IP])"},
		{"IPv6", "2001:db8::1 fe80::1%eth0 [2001:db8:0:0:0:0:0:1]:443", "[IP] [IP]%eth0 [[IP]]:443"},
		{"IPv4 in IPv6", "::ffff:10.0.0.1", "[IP]"},
		{"Chinese around", "地址192.168.1.1失败", "地址[IP]失败"},
		{"of nobody", "127.0.0.1 ::1 0.0.0.0 ::", same},
		{"no address", "v1.2.3 1.2.3 1.2.3.4.5 256.1.1.1 12:30:45 aa:bb:cc:dd:ee:ff std::vector a::b x1.2.3.4 1.2.3.4a", same},
		{"nothing", "", same},
		{"a mark", "[IP]", same},
	} {
		t.Run(r.name, func(t *testing.T) {
			want := r.want
			if want == same {
				want = r.in
			}
			require.Equal(t, want, redact.Addresses(r.in))
			require.Equal(t, want, redact.Addresses(want), "again")
		})
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("ping 192.168.1.1:80 2001:db8::1 ::ffff:1.2.3.4 a::b")
	f.Fuzz(func(t *testing.T, s string) {
		out := redact.Addresses(s)
		require.Equal(t, out, redact.Addresses(out))
		require.Equal(t, strings.Count(s, "\n"), strings.Count(out, "\n"))
	})
}
