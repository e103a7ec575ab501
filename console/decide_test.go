package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
)

// follow posts a form of the review page and returns the page that it leads to.
func (s *site) follow(form url.Values) (address, page string) {
	s.t.Helper()
	r := s.post("/experiences", form)
	require.Equal(s.t, http.StatusSeeOther, r.StatusCode)
	address = r.Header.Get("Location")
	next := s.get(address)
	require.Equal(s.t, http.StatusOK, next.StatusCode)
	return address, body(s.t, next)
}

func (s *site) add(tasks ...string) []string {
	var ids []string
	for _, task := range tasks {
		ids = append(ids, s.Memory.Add(plain(task)))
	}
	return ids
}

func TestDecisions(t *testing.T) {
	for _, row := range []struct {
		name string
		form func(ids []string) url.Values
		want []experience.Status
		page string
		at   int // index of the experience to look at next, -1 for none
	}{
		{
			"approve one", func(ids []string) url.Values { return url.Values{"approve": {ids[0]}} },
			[]experience.Status{experience.Approved, experience.Pending, experience.Pending},
			"Approved:", 1,
		},
		{
			"reject the last", func(ids []string) url.Values { return url.Values{"reject": {ids[2]}} },
			[]experience.Status{experience.Pending, experience.Pending, experience.Rejected},
			"Rejected:", 1,
		},
		{
			"one while others are selected", func(ids []string) url.Values { return url.Values{"reject": {ids[0]}, "id": {ids[1], ids[2]}} },
			[]experience.Status{experience.Rejected, experience.Pending, experience.Pending},
			"Rejected:", 1,
		},
		{
			"approve the selected", func(ids []string) url.Values {
				return url.Values{"selected": {"approve"}, "id": {ids[0], ids[2], ids[0]}}
			},
			[]experience.Status{experience.Approved, experience.Pending, experience.Approved},
			"Approved: 2 experiences.", 1,
		},
		{
			"reject all", func(ids []string) url.Values { return url.Values{"selected": {"reject"}, "id": ids} },
			[]experience.Status{experience.Rejected, experience.Rejected, experience.Rejected},
			"Rejected: 3 experiences.", -1,
		},
		{
			"nothing selected", func([]string) url.Values { return url.Values{"selected": {"reject"}} },
			[]experience.Status{experience.Pending, experience.Pending, experience.Pending},
			"Nothing was selected.", 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t, nil)
			ids := s.add("one", "two", "three")
			address, page := s.follow(row.form(ids))
			for i, want := range row.want {
				require.Equal(t, want, s.Memory.Status(ids[i]), "experience %d", i)
			}
			require.Contains(t, page, row.page)
			if row.at < 0 {
				require.NotContains(t, address, "#")
				return
			}
			require.True(t, strings.HasSuffix(address, "#e-"+ids[row.at]), address)
			require.Contains(t, page, `data-at="`+ids[row.at]+`"`)
		})
	}
}

func TestADecisionLeadsBackToTheSameList(t *testing.T) {
	s := newSite(t, nil)
	ids := s.add("red one", "blue one", "red two")
	address, page := s.follow(url.Values{"approve": {ids[0]}, "back": {"status=pending&q=red"}})
	require.Contains(t, address, "q=red")
	require.True(t, strings.HasSuffix(address, "#e-"+ids[2]), "blue is not in the list")
	require.NotContains(t, page, "blue one")
}

func TestWhatWasApprovedWithoutAPersonCanBeRejected(t *testing.T) {
	s := newSite(t, nil)
	e := plain("one")
	e.Status = experience.Approved
	id := s.Memory.Add(e)
	require.Contains(t, body(t, s.get("/experiences?status=approved")), `name="reject"`)
	_, page := s.follow(url.Values{"reject": {id}, "back": {"status=approved"}})
	require.Equal(t, experience.Rejected, s.Memory.Status(id))
	require.Contains(t, page, "Rejected:")
	by := plain("two")
	by.Status, by.DecidedAt, by.DecidedBy = experience.Approved, time.Now(), "jo"
	s.Memory.Add(by)
	require.NotContains(t, body(t, s.get("/experiences?status=approved")), `name="reject"`)
}

func TestFormsThatAskForNothing(t *testing.T) {
	s := newSite(t, nil)
	id := s.add("one")[0]
	many := make([]string, 201)
	for i := range many {
		many[i] = strings.Repeat("0", 29) + string("0123456789abcdef"[i/256%16]) + string("0123456789abcdef"[i/16%16]) + string("0123456789abcdef"[i%16])
	}
	for _, row := range []struct {
		name string
		form url.Values
		want int
	}{
		{"empty", url.Values{}, 400},
		{"only ids", url.Values{"id": {id}}, 400},
		{"unknown action", url.Values{"selected": {"remove"}, "id": {id}}, 400},
		{"undo of the selected", url.Values{"selected": {"undo"}, "id": {id}}, 400},
		{"no id", url.Values{"approve": {"../x"}}, 400},
		{"more than a page", url.Values{"selected": {"approve"}, "id": many}, 400},
		{"large", url.Values{"approve": {strings.Repeat("0", 1<<20)}}, 413},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, s.post("/experiences", row.form).StatusCode)
			require.Equal(t, experience.Pending, s.Memory.Status(id))
		})
	}
	require.Equal(t, http.StatusBadRequest, s.send(http.MethodPost, "/experiences?approve="+id, url.Values{}).StatusCode, "the address is no form")
	require.Equal(t, experience.Pending, s.Memory.Status(id))
}

func TestADecisionThatSomebodyElseMade(t *testing.T) {
	s := newSite(t, nil)
	ids := s.add("one", "two")
	_, err := s.Memory.Reject(t.Context(), ids[0], "jo")
	require.NoError(t, err)
	unknown := strings.Repeat("f", 32)
	_, page := s.follow(url.Values{"selected": {"approve"}, "id": {ids[0], ids[1], unknown}})
	require.Equal(t, experience.Rejected, s.Memory.Status(ids[0]))
	require.Equal(t, experience.Approved, s.Memory.Status(ids[1]))
	require.Contains(t, page, "was already rejected by jo.")
	require.Contains(t, page, unknown)
	require.Contains(t, page, "no longer exists")
	require.Contains(t, page, "<strong>Approved:</strong>")
	require.Equal(t, 1, strings.Count(page, `name="undo"`), "only the own decision")
}

func TestTheNoticeTellsWhatIs(t *testing.T) {
	s := newSite(t, nil)
	id := s.add("one")[0]
	for _, query := range []string{"did=approve&done=" + id, "did=reject&done=" + id, "did=nonsense&done=" + id, "did=undo"} {
		require.NotContains(t, body(t, s.get("/experiences?"+query)), `class="notice"`, query)
	}
}

func TestUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		ids := s.add("one", "two", "three")
		_, page := s.follow(url.Values{"selected": {"reject"}, "id": {ids[0], ids[2]}})
		require.Equal(t, 2, strings.Count(page, `name="undo"`))

		time.Sleep(time.Minute - time.Second)
		address, page := s.follow(url.Values{"undo": {ids[0], ids[2]}, "back": {"status=pending"}})
		require.Contains(t, page, "Pending again: 2 experiences.")
		require.NotContains(t, page, `name="undo"`)
		require.Contains(t, address, "#e-")
		for _, id := range ids {
			require.Equal(t, experience.Pending, s.Memory.Status(id))
		}

		s.follow(url.Values{"approve": {ids[1]}})
		require.Contains(t, body(t, s.get("/experiences?status=approved")), `name="undo"`)
		time.Sleep(time.Minute)
		require.NotContains(t, body(t, s.get("/experiences?status=approved")), `name="undo"`)
		_, page = s.follow(url.Values{"undo": {ids[1]}})
		require.Equal(t, experience.Approved, s.Memory.Status(ids[1]))
		require.Contains(t, page, "was decided more than a minute ago and stays approved.")
	})
}

func TestUndoOfWhatIsPending(t *testing.T) {
	s := newSite(t, nil)
	id := s.add("one")[0]
	_, page := s.follow(url.Values{"undo": {id}})
	require.Equal(t, experience.Pending, s.Memory.Status(id))
	require.Contains(t, page, `class="notice"`)
	require.NotContains(t, page, "Pending again")
}

func TestAnApprovalIsTakenBack(t *testing.T) {
	s := newSite(t, nil)
	approved := plain("one")
	approved.Status, approved.DecidedAt = experience.Approved, time.Now().AddDate(0, -1, 0)
	id := s.Memory.Add(approved)
	page := body(s.t, s.get("/experiences?status=approved"))
	require.Contains(t, page, `name="withdraw" value="`+id+`"`)
	require.NotContains(t, page, `name="undo"`)
	_, page = s.follow(url.Values{"withdraw": {id}, "back": {"status=approved"}})
	require.Contains(t, page, "Withdrawn:")
	require.Equal(t, experience.Rejected, s.Memory.Status(id))
	waits := s.add("two")[0]
	_, page = s.follow(url.Values{"withdraw": {waits}})
	require.Contains(t, page, "is pending: reject it")
}

func TestDeletingAsks(t *testing.T) {
	s := newSite(t, nil)
	id := s.add("one")[0]
	require.Contains(t, body(t, s.get("/experiences/"+id)), `href="/experiences/`+id+`/delete"`)
	asked := body(t, s.get("/experiences/"+id+"/delete"))
	require.Contains(t, asked, "Delete this experience for good?")
	require.Contains(t, asked, `name="destroy" value="`+id+`"`)
	require.Equal(t, experience.Pending, s.Memory.Status(id), "it only asks")
	address, page := s.follow(url.Values{"destroy": {id}, "alone": {"1"}})
	require.Contains(t, address, "/experiences?", "the page of the experience is gone")
	require.Contains(t, page, "Deleted:")
	require.Empty(t, s.Memory.Status(id))
	require.Equal(t, http.StatusNotFound, s.get("/experiences/"+id+"/delete").StatusCode)
}
