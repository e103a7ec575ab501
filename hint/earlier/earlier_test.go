package earlier

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

const hour = int64(time.Hour / time.Millisecond)

func texts(turns []payload.Turn) []string {
	out := []string{}
	for _, t := range turns {
		out = append(out, t.Text)
	}
	return out
}

func TestBefore(t *testing.T) {
	day := 24 * hour
	three := func(s *Sessions) {
		s.Add("s", "r1", day, "one")
		s.Add("s", "r2", day+1, "two")
		s.Add("s", "r3", day+2, "three")
	}
	for _, row := range []struct {
		name  string
		learn func(s *Sessions)
		run   string
		ts    int64
		limit int
		want  []string
	}{
		{name: "nothing", learn: func(*Sessions) {}, want: []string{}},
		{name: "in order", learn: three, want: []string{"one", "two", "three"}},
		{name: "no more than are wanted", learn: three, limit: 2, want: []string{"two", "three"}},
		{name: "heard of late", learn: func(s *Sessions) {
			s.Add("s", "r2", day+1, "two")
			s.Add("s", "r1", day, "one")
		}, want: []string{"one", "two"}},
		{name: "only the last five", learn: func(s *Sessions) {
			for i := range 7 {
				s.Add("s", strconv.Itoa(i), day+int64(i), strconv.Itoa(i))
			}
		}, want: []string{"2", "3", "4", "5", "6"}},
		{name: "too late for the last five", learn: func(s *Sessions) {
			for i := range 5 {
				s.Add("s", strconv.Itoa(i), day+int64(i), strconv.Itoa(i))
			}
			s.Add("s", "x", day-1, "x")
		}, want: []string{"0", "1", "2", "3", "4"}},
		{name: "heard of twice", learn: func(s *Sessions) { three(s); three(s) }, want: []string{"one", "two", "three"}},
		{name: "the run itself", learn: three, run: "r3", want: []string{"one", "two"}},
		{name: "after some hours", learn: three, ts: day + 4*hour + 1, want: []string{"two", "three"}},
		{name: "the next morning", learn: three, ts: day + 10*hour, want: []string{}},
		{name: "a new session", learn: func(s *Sessions) { three(s); s.Reset("s", day+2) }, want: []string{"three"}},
		{name: "a new session, heard of first", learn: func(s *Sessions) { s.Reset("s", day+2); three(s) }, want: []string{"three"}},
		{name: "an older reset, heard of last", learn: func(s *Sessions) { s.Reset("s", day+2); s.Reset("s", day); three(s) }, want: []string{"three"}},
		{name: "another session", learn: func(s *Sessions) { three(s); s.Reset("other", day+9) }, want: []string{"one", "two", "three"}},
		{name: "blank", learn: func(s *Sessions) { s.Add("s", "r", day, "") }, want: []string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := New()
			row.learn(s)
			ts, limit := row.ts, row.limit
			if ts == 0 {
				ts = day + 9
			}
			if limit == 0 {
				limit = 9
			}
			got := s.Before("s", row.run, ts, limit)
			require.Equal(t, row.want, texts(got))
			for _, turn := range got {
				require.Equal(t, payload.RoleUser, turn.Role)
			}
			require.Empty(t, s.Before("nobody", "", ts, limit))
		})
	}
}

// What was returned stays as it is while others go on.
func TestBeforeIsNotChanged(t *testing.T) {
	s := New()
	for i := range 5 {
		s.Add("s", strconv.Itoa(i), int64(i), strconv.Itoa(i))
	}
	got := s.Before("s", "", 9, 9)
	want := texts(got)
	s.Add("s", "x", 2, "between")
	s.Reset("s", 4)
	require.Equal(t, want, texts(got))
}

func TestMemoryIsBounded(t *testing.T) {
	t.Run("a text", func(t *testing.T) {
		s := New()
		s.Add("s", "r", 1, strings.Repeat("𝄞", 4000))
		require.Equal(t, 1950, s.bytes)
		require.Len(t, s.Before("s", "", 1, 1)[0].Text, s.bytes)
	})
	t.Run("sessions", func(t *testing.T) {
		s := newSessions(3, 1000)
		for i := range 10 {
			s.Add(strconv.Itoa(i), "r", 1, "hello")
		}
		require.Equal(t, 15, s.bytes)
		require.Empty(t, s.Before("6", "", 1, 1))
		require.Len(t, s.Before("7", "", 1, 1), 1)
	})
	t.Run("bytes", func(t *testing.T) {
		s := newSessions(100, 1000)
		for i := range 500 {
			s.Add(fmt.Sprint("s", i%7), strconv.Itoa(i), int64(i), strings.Repeat("x", i%97+1))
			require.LessOrEqual(t, s.bytes, 1000)
			sum := 0
			for _, k := range s.cache.Values() {
				sum += k.size()
			}
			require.Equal(t, sum, s.bytes)
		}
		require.NotEmpty(t, s.Before("s2", "", 499, 5), "the last one is kept") // 499 % 7
		s.Reset("s2", 600)
		require.Empty(t, s.Before("s2", "", 700, 5))
	})
}

func BenchmarkAdd(b *testing.B) {
	s := New()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Before("s", "r", int64(i), 5)
		s.Add("s", strconv.Itoa(i), int64(i), "can you remind me to water the plants tomorrow at nine?")
	}
}
