package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDrops(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct {
		name  string
		after []time.Duration // since the first loss
		want  []bool
	}{
		{"a restart", []time.Duration{0}, []bool{false}},
		{"a restart a day", []time.Duration{0, 24 * time.Hour, 48 * time.Hour}, []bool{false, false, false}},
		{"at each pull", []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 11 * time.Minute, 11*time.Minute + 1, 11*time.Minute + 2}, []bool{false, false, true, false, false, false, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var d drops
			for i, after := range tt.after {
				require.Equal(t, tt.want[i], d.note(at.Add(after)), "%s", after)
			}
		})
	}
}
