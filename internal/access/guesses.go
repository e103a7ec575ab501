package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Errors of [Guesses.Try]. ErrAgain wraps ErrToken: the same wrong token came before.
var (
	ErrToken   = errors.New("wrong token")
	ErrAgain   = fmt.Errorf("%w again", ErrToken)
	ErrGuesses = errors.New("too many wrong tokens")
)

// GuessPause is the time after which a client that sent too many wrong tokens may send
// one more.
const GuessPause = 10 * time.Second

// A client may send guessBurst wrong tokens at once, and one more each [GuessPause]. All
// clients together may send guessesOfAll times as many, however many addresses they have.
// The last maxWrong wrong tokens do not count when they are sent again: a program with an
// old token guesses nothing, and must not lock others out.
const (
	guessBurst   = 5
	guessesOfAll = 20
	maxClients   = 1024
	maxWrong     = 1024
)

// Guesses bounds the rate of wrong tokens, of all HTTP servers of a process together. Its
// methods may be called concurrently.
type Guesses struct {
	mu      sync.Mutex
	all     *rate.Limiter
	clients *lru.Cache[string, *rate.Limiter]
	wrong   *lru.Cache[[sha256.Size]byte, struct{}] // hashes
}

// NewGuesses returns one that knows no client yet.
func NewGuesses() *Guesses {
	return &Guesses{
		all:     rate.NewLimiter(rate.Every(GuessPause/guessesOfAll), guessBurst*guessesOfAll),
		clients: newCache[string, *rate.Limiter](maxClients),
		wrong:   newCache[[sha256.Size]byte, struct{}](maxWrong),
	}
}

// Try returns nil for the hash of the right token, however many wrong ones came before:
// on one machine, and behind a reverse proxy, all clients have one address, and nobody
// may lock the others out. A token that a process made has 128 bits, so that guessing is
// hopeless at any rate.
func (g *Guesses) Try(addr string, token [sha256.Size]byte, right func() bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if right() {
		return nil
	}
	if _, ok := g.wrong.Get(token); ok {
		return ErrAgain
	}
	name := Client(addr)
	limit, ok := g.clients.Get(name)
	if !ok {
		limit = rate.NewLimiter(rate.Every(GuessPause), guessBurst)
	}
	if limit.Tokens() < 1 || g.all.Tokens() < 1 {
		return ErrGuesses
	}
	limit.Allow()
	g.all.Allow()
	g.clients.Add(name, limit)
	g.wrong.Add(token, struct{}{})
	return ErrToken
}

// Client returns the identity of a client by its address: the address without
// the port; for IPv6 the network, as a host can use any number of addresses in
// it.
func Client(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// newCache makes a cache of a constant size.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err) // the size is not positive
	}
	return cache
}
