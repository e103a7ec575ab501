package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Since is the beginning of a time range; the zero value means no limit.
type Since struct{ time.Time }

// UnmarshalText reads a duration before now, or a time.
func (s *Since) UnmarshalText(raw []byte) error {
	value := string(raw)
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		s.Time = at
		return nil
	}
	ago, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		ago = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || ago <= 0 {
		return fmt.Errorf("%q is neither a duration (24h, 7d) nor an RFC 3339 time", value)
	}
	s.Time = time.Now().Add(-ago)
	return nil
}
