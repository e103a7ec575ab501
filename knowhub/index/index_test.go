package index_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// Every key of the bucket counts once, whatever became of it.
func TestHeld(t *testing.T) {
	x := index.New()
	x.Reset("bucket")
	a, b := approved("a", "apples", "tree", "ripe"), approved("b", "berries", "bush", "sweet")
	for _, tt := range []struct {
		name   string
		change experience.Change
		want   uint64
	}{
		{"new", change(1, a), 1},
		{"changed", change(2, a), 1},
		{"another", change(3, b), 2},
		{"removed", removed(4, "a"), 2},
		{"removed again", removed(5, "a"), 2},
		{"never known", removed(6, "c"), 3},
		{"back", change(7, a), 3},
		{"removed before a later change", removed(8, "a"), 3},
	} {
		x.Apply([]experience.Change{tt.change})
		held := x.Held()
		require.Equal(t, tt.want, held, tt.name)
	}
	x.Put(change(10, a))
	x.Apply([]experience.Change{removed(9, "a")}) // older than what was put
	held := x.Held()
	require.EqualValues(t, 3, held)
	x.Reset("bucket")
	held = x.Held()
	require.Zero(t, held)
}

func TestReadsBackWhatWasApplied(t *testing.T) {
	x := index.New()
	e := approved("a1", "Deploy", "wrangler", "--env production")
	e.Flags, e.Seen, e.DecidedAt, e.DecidedBy = []string{"injection"}, 3, created.Add(time.Hour), "mo"
	e.CreatedAt = created.Add(123 * time.Millisecond)
	x.Apply([]experience.Change{change(1, e)})
	got := x.List(experience.Approved, experience.Experience{}, 2)
	require.Equal(t, []experience.Experience{e}, got)
}

func TestApply(t *testing.T) {
	x := index.New()
	x.Reset("bucket-1")
	x.Apply([]experience.Change{change(3, approved("a", "apples", "tree", "ripe")), change(5, approved("b", "berries", "bush", "sweet"))})
	bucket, revision := x.Place()
	require.Equal(t, "bucket-1", bucket)
	require.EqualValues(t, 5, revision)

	x.Apply([]experience.Change{change(4, approved("a", "cherries", "tree", "ripe"))}) // an older revision
	require.Equal(t, []string{"a"}, search(t, x, "apple"))
	require.Empty(t, search(t, x, "cherry"))

	x.Apply([]experience.Change{change(6, approved("a", "cherries", "tree", "ripe")), {ID: "b", Revision: 7, Removed: true}, {ID: "never", Revision: 8, Removed: true}})
	require.Empty(t, search(t, x, "apple"))
	require.Equal(t, []string{"a"}, search(t, x, "cherry"))
	require.Empty(t, search(t, x, "berries"))

	rejected := approved("a", "cherries", "tree", "ripe")
	rejected.Status = experience.Rejected
	x.Apply([]experience.Change{change(9, rejected)})
	require.Empty(t, search(t, x, "cherry"))

	x.Reset("bucket-2")
	bucket, revision = x.Place()
	require.Equal(t, "bucket-2", bucket)
	require.Zero(t, revision)
	counts := x.Counts()
	require.Equal(t, map[experience.Status]int{"pending": 0, "approved": 0, "rejected": 0}, counts)
}

// What a process has written is found before the bucket tells of it, and of what is
// before it.
func TestPut(t *testing.T) {
	x := index.New()
	x.Apply([]experience.Change{change(1, approved("a", "apples", "tree", "ripe"))})
	x.Put(change(5, approved("b", "berries", "bush", "sweet")))
	require.Equal(t, []string{"b"}, search(t, x, "berries"))
	_, revision := x.Place()
	require.EqualValues(t, 1, revision, "what is between is still to come")

	for _, tt := range []struct {
		name  string
		apply experience.Change
		want  []string // of berries
	}{
		{"a change before it", change(3, approved("b", "cherries", "tree", "ripe")), []string{"b"}},
		{"a removal before it", experience.Change{ID: "b", Revision: 4, Removed: true}, []string{"b"}},
		{"itself", change(5, approved("b", "berries", "bush", "sweet")), []string{"b"}},
		{"a removal after it", experience.Change{ID: "b", Revision: 6, Removed: true}, nil},
	} {
		x.Apply([]experience.Change{tt.apply})
		require.Equal(t, tt.want, search(t, x, "berries"), tt.name)
	}
	x.Put(change(5, approved("b", "berries", "bush", "sweet")))
	require.Empty(t, search(t, x, "berries"), "it was removed since")
}

// What is found does not depend on the way to it.
func TestChangedIndexFindsWhatANewOneFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	words := []string{"docker", "postgres", "lock", "HTTP_PROXY", "timeout", "缓存失效", "メモリ", "nginx.conf", "deploy", "token"}
	text := func() string {
		var some []string
		for range 1 + random.IntN(4) {
			some = append(some, words[random.IntN(len(words))])
		}
		return strings.Join(some, " ")
	}
	changed := index.New()
	last := map[string]experience.Change{}
	revision := 0
	for range 60 {
		var batch []experience.Change
		for range 1 + random.IntN(30) {
			revision++
			e := approved(fmt.Sprintf("id%02d", random.IntN(40)), text(), text(), text())
			e.Status = []experience.Status{experience.Approved, experience.Pending}[random.IntN(2)]
			e.AgentID = []string{"main", "other"}[random.IntN(2)]
			c := change(revision, e)
			if random.IntN(5) == 0 {
				c = experience.Change{ID: e.ID, Revision: c.Revision, Removed: true}
			}
			batch = append(batch, c)
			last[e.ID] = c
		}
		changed.Apply(batch)
	}
	fresh := index.New()
	for r := 1; r <= revision; r++ {
		for _, c := range last {
			if c.Revision == uint64(r) { //nolint:gosec // small
				fresh.Apply([]experience.Change{c})
			}
		}
	}
	for _, q := range []index.Query{{AgentID: "main"}, {AgentID: "nobody"}, {}} {
		for _, word := range words {
			q.Text = word
			q.Limit = 100
			want := fresh.Search(q)
			got := changed.Search(q)
			ids := func(hits []index.Hit) (ids []string) {
				for _, h := range hits {
					ids = append(ids, h.ID)
				}
				return ids
			}
			require.ElementsMatch(t, ids(want), ids(got), "%+v", q)
		}
	}
}

func TestList(t *testing.T) {
	x := index.New()
	changes := some(120)
	for i := range changes[:10] {
		changes[i].Experience.Status = experience.Pending
		changes[i].Experience.CreatedAt = created // the same time
	}
	x.Apply(changes)
	for _, tt := range []struct {
		name   string
		status experience.Status
		limit  int
		n      int
		first  string
	}{
		{"newest first", experience.Approved, 3, 3, "id0119"},
		{"usual limit", experience.Approved, 0, 50, "id0119"},
		{"no more than there are", experience.Pending, 5000, 10, "id0009"},
		{"none", experience.Rejected, 10, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := x.List(tt.status, experience.Experience{}, tt.limit)
			require.Len(t, list, tt.n)
			if tt.n > 0 {
				require.Equal(t, tt.first, list[0].ID)
			}
		})
	}
	seen := map[string]bool{}
	list := x.List(experience.Approved, experience.Experience{}, 7)
	for len(list) > 0 {
		for _, e := range list {
			require.False(t, seen[e.ID])
			seen[e.ID] = true
		}
		list = x.List(experience.Approved, list[len(list)-1], 7)
	}
	require.Len(t, seen, 110)
}

// What many others have said does not hide what an agent has said itself.
func TestNearOfOneAgent(t *testing.T) {
	x := index.New()
	of := func(id, agent string) experience.Experience {
		e := approved(id, "Reload nginx after certificate renewal", "certbot", "A deploy hook with systemctl reload nginx does it")
		e.AgentID = agent
		return e
	}
	changes := []experience.Change{change(1, of("own", "ada"))}
	for i := range 40 {
		changes = append(changes, change(2+i, of(fmt.Sprintf("a%02d", i), "other")))
	}
	x.Apply(changes)
	for agent, want := range map[string][]string{"ada": {"own"}, "eve": nil} {
		near := x.Near(of("new", agent), true)
		var ids []string
		for _, h := range near {
			ids = append(ids, h.ID)
		}
		require.Equal(t, want, ids, agent)
	}
}

func TestNear(t *testing.T) {
	x := index.New()
	pending := approved("a2", "Restart nginx after the certificate was renewed", "certbot", "A deploy hook with systemctl reload nginx does it")
	pending.Status = experience.Pending
	x.Apply([]experience.Change{
		change(1, approved("a1", "Reload nginx after certificate renewal", "certbot", "A deploy hook with systemctl reload nginx does it, no restart")),
		change(2, pending),
		change(3, approved("b1", "Order flowers", "phone", "Call before noon")),
		change(4, approved("a3", "nginx is slow", "worker_connections", "raise it")),
	})
	near := x.Near(approved("a1", "Reload nginx after certificate renewal", "certbot", "A deploy hook with systemctl reload nginx does it, no restart"), false)
	require.Len(t, near, 1)
	require.Equal(t, "a2", near[0].ID)
	require.InDelta(t, 0.8, near[0].Score, 0.2)
	same := x.Near(approved("new", "order FLOWERS", "phone", "call before noon!"), false)
	require.Len(t, same, 1)
	require.InDelta(t, 1, same[0].Score, 1e-9)
	none := x.Near(experience.Experience{}, false)
	require.Empty(t, none)
}
