package loglimit

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFloodIsOneLineAMinuteAndKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			text bytes.Buffer
			l    Limit
			log  = slog.New(slog.NewTextHandler(&text, nil))
		)
		for range 200 { // two hundred seconds
			for range 1000 {
				l.Warn(log, "bad request", "subject", "s")
			}
			l.Error(log, "bad event")
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		require.Len(t, lines, 8, text.String())
		require.Equal(t, 4, strings.Count(text.String(), "level=WARN msg=\"bad request\" subject=s"))
		require.Equal(t, 4, strings.Count(text.String(), "level=ERROR msg=\"bad event\""))
		require.NotContains(t, lines[0]+lines[1], "left_out")
		require.Equal(t, 3, strings.Count(text.String(), "left_out=59999"), "of bad requests")
		require.Equal(t, 3, strings.Count(text.String(), "left_out=59\n"), "of bad events")
	})
}

func TestKindsAreBounded(t *testing.T) {
	var l Limit
	for i := range 10 * maxKinds {
		l.Warn(slog.New(slog.DiscardHandler), strconv.Itoa(i))
		require.LessOrEqual(t, len(l.kinds), maxKinds)
	}
}
