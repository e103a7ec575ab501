package bus

import (
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/tidwall/gjson"
)

// Bound limits the requests of an endpoint in progress. Requests beyond it are
// answered as overloaded at once.
type Bound struct {
	// Requests and Bytes are for all callers together.
	Requests, Bytes int
	// PerCaller and PerCallerBytes are for one connection, so that one gateway
	// cannot take the whole limit. All connections of a user have half of the limit,
	// where the server tells the user.
	PerCaller, PerCallerBytes int
}

// perUser returns the limits of all connections of one user.
func (b Bound) perUser() (requests, bytes int) {
	return max(b.PerCaller, b.Requests/2), max(b.PerCallerBytes, b.Bytes/2)
}

// DefaultBound is for CPU-bound answers. A caller's requests, at a third of a
// millisecond each, delay the others by a third of a second at most. The bytes
// are 4 and 16 of the largest requests at max_payload 8 MiB.
var DefaultBound = Bound{Requests: 8192, Bytes: 128 << 20, PerCaller: 1024, PerCallerBytes: 32 << 20}

// gate counts requests in progress. It admits a caller's first request of any
// size.
type gate struct {
	bound Bound

	mu             sync.Mutex
	all            load
	callers, users map[string]load
}

// load is work in progress.
type load struct{ requests, bytes int }

func newGate(b Bound) *gate {
	if b == (Bound{}) {
		b = DefaultBound
	}
	return &gate{bound: b, callers: make(map[string]load), users: make(map[string]load)}
}

// enter reports whether a request may begin. If so, leave must be called when it
// has ended.
func (g *gate) enter(c caller, bytes int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	perUser, perUserBytes := g.bound.perUser()
	if g.all.exceeds(g.bound.Requests, g.bound.Bytes, bytes) || g.callers[c.conn].exceeds(g.bound.PerCaller, g.bound.PerCallerBytes, bytes) ||
		c.user != "" && g.users[c.user].exceeds(perUser, perUserBytes, bytes) {
		return false
	}
	g.count(c, load{1, bytes})
	return true
}

func (g *gate) leave(c caller, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(c, load{-1, -bytes})
}

// count adds work in progress, or takes it away.
func (g *gate) count(c caller, more load) {
	g.all = g.all.add(more)
	add(g.callers, c.conn, more)
	if c.user != "" {
		add(g.users, c.user, more)
	}
}

// add adds to the load of one of many. Those without work in progress are forgotten.
func add(to map[string]load, name string, more load) {
	if sum := to[name].add(more); sum.requests > 0 {
		to[name] = sum
	} else {
		delete(to, name)
	}
}

func (g *gate) inProgress() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.requests
}

// exceeds reports whether one more request of more bytes exceeds the limits.
func (l load) exceeds(requests, bytes, more int) bool {
	return l.requests >= requests || l.requests > 0 && l.bytes+more > bytes
}

func (l load) add(more load) load { return load{l.requests + more.requests, l.bytes + more.bytes} }

// caller is who asks, as far as it is known. A request from the account of its server is
// told apart by its reply subject, which its sender chooses. What comes by an import from
// another account has the connection and the user from the server, if the import shares
// them, else its account.
type caller struct {
	conn string
	user string // "" if the server does not tell
}

// imported begins the reply subjects of requests by an import.
const imported = "_R_."

// callerOf returns the caller of a request. The server puts its header behind those that
// the sender has made up.
func callerOf(reply string, headers map[string][]string) caller {
	c := caller{conn: requester(reply)}
	told := headers[server.ClientInfoHdr]
	if len(told) == 0 || !strings.HasPrefix(reply, imported) {
		return c
	}
	info := gjson.GetMany(told[len(told)-1], "acc", "user", "server", "id")
	c.user = info[0].String() + " " + info[1].String()
	if id := info[3].Raw; id != "" {
		c.conn = info[2].String() + " " + id
	}
	return c
}

// requester identifies the caller by its reply subject: the last token
// identifies the request, the preceding ones the connection.
func requester(reply string) string { return reply[:max(0, strings.LastIndexByte(reply, '.'))] }
