package netaddr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true, "LocalHost": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "192.168.1.1": false, "example.org": false, "localhost.example.org": false, "127.0.0.1:80": false, "[::1]": false,
	} {
		t.Run(host, func(t *testing.T) { require.Equal(t, want, IsLoopback(host)) })
	}
}
