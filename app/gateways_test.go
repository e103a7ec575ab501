package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/hook"
	"intenthint/payload"
)

func TestGatewaysClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		name          string
		ts            int64
		ahead, behind float64
		line          string
	}{
		{"the same", now.UnixMilli(), 0, 0, ""},
		{"no time", 0, 0, 0, ""},
		{"almost a minute ahead", now.Add(59 * time.Second).UnixMilli(), 0, 0, ""},
		{"almost a minute behind", now.Add(-59 * time.Second).UnixMilli(), 0, 0, ""},
		{"more than a minute ahead", now.Add(90500 * time.Millisecond).UnixMilli(), 3, 0, `direction=ahead seconds=90`},
		{"an hour behind", now.Add(-time.Hour).UnixMilli(), 0, 3, `direction=behind seconds=3600`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			m := NewMetrics("1.2.0", "")
			g := newGateways("1.2.0", m.clockOff, slog.New(slog.NewTextHandler(&log, nil)))
			for _, caller := range []string{"_INBOX.a", "_INBOX.a", "_INBOX.b"} {
				g.asked(&hook.Request{Envelope: payload.Envelope{TS: tt.ts}, Received: now, Caller: caller})
			}
			require.InDelta(t, tt.ahead, testutil.ToFloat64(m.clockOff.WithLabelValues("ahead")), 0)
			require.InDelta(t, tt.behind, testutil.ToFloat64(m.clockOff.WithLabelValues("behind")), 0)
			want := 0
			if tt.line != "" {
				want = 2 // one a gateway
				require.Contains(t, log.String(), tt.line)
				require.Contains(t, log.String(), "gateway=_INBOX.b agent=main")
			}
			require.Equal(t, want, strings.Count(log.String(), "gateway's clock is off"), log.String())
		})
	}
}

func TestGatewaysVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		own, plugin string
		named       bool
	}{
		{"1.2.0", "1.2.0", false},
		{"1.2.0", "1.2.7", false},
		{"1.2.0", "v1.2.7-rc1", false},
		{"1.2.0", "1.3.0", true},
		{"1.2.0", "1.20.0", true},
		{"1.2.0", "2.2.0", true},
		{"1.2.0", "1.3", true},
		{"1.2.0", "", false},
		{"1.2.0", "next", false},
		{"1.2.0", "1", false},
		{"1.2.0", "1.3x", false},
		{"dev", "1.3.0", false},
	} {
		t.Run(fmt.Sprintf("%s and %q", tt.own, tt.plugin), func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			g := newGateways(tt.own, NewMetrics("", "").clockOff, slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				g.asked(&hook.Request{Version: tt.plugin, Received: time.Now(), Caller: "_INBOX.a"})
			}
			if !tt.named {
				require.Empty(t, log.String())
				return
			}
			require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
			require.Contains(t, log.String(), "plugin="+tt.plugin+" consumer="+tt.own)
		})
	}
}

// What is remembered is bounded: a gateway that is forgotten is named again.
func TestGatewaysAreForgotten(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGateways("1.2.0", prometheus.NewCounterVec(prometheus.CounterOpts{Name: "x"}, []string{"direction"}), slog.New(slog.NewTextHandler(&log, nil)))
	ask := func(caller string) {
		g.asked(&hook.Request{Version: "1.1.0", Received: time.Now(), Caller: caller})
	}
	for i := range maxGateways + 1 {
		ask(strconv.Itoa(i))
	}
	require.Equal(t, maxGateways, g.named.Len())
	log.Reset()
	ask("0")
	require.Contains(t, log.String(), "gateway=0 ")
}
