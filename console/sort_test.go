package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/knowhub/experience"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// said are the texts of the rows of a page.
func said(page string) (out []string) {
	for _, m := range regexp.MustCompile(`(?s)<p class="said"[^>]*>(.*?)</p>`).FindAllStringSubmatch(page, -1) {
		out = append(out, strings.TrimSpace(words(m[1])))
	}
	return out
}

// read returns the texts of all pages of a list, and their number.
func (s *site) read(path string) (out []string, pages int) {
	for path != "" {
		page := body(s.t, s.get(path))
		out, pages = append(out, said(page)...), pages+1
		next := nextOf.FindStringSubmatch(page)
		if path = ""; next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	return out, pages
}

func TestTurnsAreSorted(t *testing.T) {
	s := emptySite(t)
	now := time.Now()
	for i := range 70 {
		result := consoletest.Result([]string{"CHAT", "OTHER"}[i%2], float64(i*37%70)/100)
		s.System.Keep(consoletest.Begin(fmt.Sprint("s", i%3), fmt.Sprint("r", i), fmt.Sprintf("m%02d", i), now.Add(-time.Duration(i)*time.Second), result))
	}
	for _, row := range []struct {
		sort, first, last string
		pages             int
	}{
		{"", "m00", "m69", 3},
		{"what", "m00", "m69", 3},
		{"text", "m00", "m69", 3},
		{"-text", "m69", "m00", 3},
		{"confidence", "m00", "m17", 3},
		{"-confidence", "m17", "m00", 3},
		{"intent", "m00", "m69", 3},
		{"-intent", "m01", "m68", 3},
		{"session", "m00", "m68", 3},
	} {
		got, pages := s.read("/turns?sort=" + row.sort)
		require.Len(t, got, 70, row.sort)
		require.Equal(t, []any{row.first, row.last, row.pages}, []any{got[0], got[69], pages}, row.sort)
	}
	page := body(t, s.get("/turns?intent=CHAT&sort=confidence"))
	require.Contains(t, page, `<a href="/turns?intent=CHAT&amp;sort=-confidence" aria-current="true">confidence ↑</a>`)
	require.Contains(t, page, `<input type="hidden" name="sort" value="confidence">`)
	require.Contains(t, page, `name="back" value="/turns?intent=CHAT&amp;sort=confidence"`, "one returns to the same list")
}

func TestSessionsAreSorted(t *testing.T) {
	s := emptySite(t)
	for i, name := range []string{"b", "a", "c"} {
		for n := range 3 - i {
			s.System.Keep(consoletest.Begin(name, fmt.Sprint("r", n), "text", time.Now(), consoletest.Result([]string{"CHAT", "TYPO", "OTHER"}[i], 0.9)))
		}
	}
	for sort, want := range map[string]string{"name": "a b c", "-name": "c b a", "turns": "c a b", "-turns": "b a c", "intent": "b c a", "agent": "c a b"} {
		got, _ := s.read("/sessions?sort=" + sort)
		var names []string
		for _, one := range got {
			names = append(names, one[:1])
		}
		if sort != "agent" { // all the same: in the order of their change
			require.Equal(t, want, strings.Join(names, " "), sort)
		}
		require.Len(t, names, 3)
	}
}

func TestDecisionsOfTheGateAreSorted(t *testing.T) {
	s := gateSite(t)
	for i := range 450 {
		d := consoletest.Message(roof, i, []string{state.Skip, state.Respond}[i%2], fmt.Sprintf("m%03d", i), time.Duration(i)*time.Second)
		d.ElapsedMs = float64(i * 7 % 450)
		s.System.Gate.Decide(d)
	}
	for sort, want := range map[string][]string{"text": {"Ada: m000", "Ada: m449"}, "-text": {"Ada: m449", "Ada: m000"}, "took": {"Ada: m000", "Ada: m257"}, "decision": {"Ada: m001", "Ada: m448"}} {
		got, pages := s.read("/triage?sort=" + sort)
		require.Len(t, got, 450, sort)
		require.Equal(t, 5, pages)
		require.Equal(t, want, []string{got[0], got[449]}, sort)
	}
}

func TestDeadLettersAreSorted(t *testing.T) {
	s := emptySite(t)
	js, layout := s.System.Letters()
	for i := range 130 {
		m := nats.NewMsg(layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		m.Data = []byte(`{}`)
		m.Header.Set(subjects.HeaderDLQReason, fmt.Sprintf("reason %03d", i*11%130))
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	for sort, want := range map[string][]string{"": {"reason 000", "reason 119"}, "newest": {"reason 119", "reason 000"}, "reason": {"reason 000", "reason 129"}, "-reason": {"reason 129", "reason 000"}} {
		got, pages := s.read("/deadletters?sort=" + sort)
		require.Len(t, got, 130, sort)
		require.Equal(t, 2, pages)
		require.Equal(t, want, []string{got[0], got[129]}, sort)
	}
}

func TestExperiencesAreSorted(t *testing.T) {
	s := newSite(t, nil)
	for i := range 60 {
		s.Memory.Add(experience.Experience{
			Task: fmt.Sprintf("task %02d.", i*7%60), Resource: "r", Result: "x", Confidence: float64(i*11%60) / 60, Seen: i, CreatedAt: time.Now().Add(-time.Duration(i) * time.Minute),
		})
	}
	task := regexp.MustCompile(`<h2[^>]*>(task \d\d\.)`)
	for _, row := range []struct{ sort, first string }{{"", "task 00."}, {"task", "task 00."}, {"-task", "task 59."}, {"oldest", "task 53."}, {"-seen", "task 53."}, {"-confidence", "task 43."}} {
		page := body(t, s.get("/experiences?sort="+row.sort))
		got := task.FindAllStringSubmatch(page, -1)
		require.Len(t, got, 50)
		require.Equal(t, row.first, got[0][1], row.sort)
		require.Len(t, task.FindAllString(body(t, s.get("/experiences?limit=100&sort="+row.sort)), -1), 60)
	}
	r := s.get("/experiences?q=task+1&sort=-task")
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "task 51.", task.FindStringSubmatch(body(t, r))[1])
}
