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
		{"behind a colon", "host:10.0.3.7 地址:10.0.3.7 inet addr:192.168.1.5 Bcast:192.168.1.255 remote_addr:203.0.113.9", "host:[IP] 地址:[IP] inet addr:[IP] Bcast:[IP] remote_addr:[IP]"},
		{"in front of a colon", "10.0.0.5:8080:80 10.0.0.5:data/y 10.0.0.1:ssh", "[IP]:8080:80 [IP]:data/y [IP]:ssh"},
		{"prefixes of IPv6", "2001:db8::/32 fe80::/10 fd12:3456:789a:1::", "[IP]/32 [IP]/10 [IP]"},
		{"ranges", "10.0.0.1-10.0.0.9 10.0.0.1..10.0.0.9 2001:db8::1-2001:db8::9", "[IP]-[IP] [IP]..[IP] [IP]-[IP]"},
		{"escapes", `\n10.0.3.7\n`, `\n[IP]\n`},
		{"Chinese around", "地址192.168.1.1失败", "地址[IP]失败"},
		{"of nobody", "127.0.0.1 ::1 0.0.0.0 ::", same},
		{"no address", "v1.2.3 1.2.3 1.2.3.4.5 256.1.1.1 12:30:45 aa:bb:cc:dd:ee:ff std::vector a::b a::b:c 1::2:3 00:11:22:33:44:55:66:77 x1.2.3.4 1.2.3.4a 2026-11-26T05:12:33.123", same},
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
