package fair

import (
	"runtime"
	"time"
)

const (
	// Every tick the requests of a caller count less, by fade: their sum is
	// about those of the last window. A longer one would see a flood later.
	tick   = 20 * time.Millisecond
	fade   = 0.85
	window = 133 * time.Millisecond // tick/(1-fade)
	// presence is how long after a request a caller is still there.
	presence = 2 * time.Second
	// A caller is greedy from greedyRate requests a second and processor on,
	// when that is greedyTimes what the most modest one asks for. It stays so
	// until it asks for less than half of the one, or modestTimes of the other.
	greedyRate  = 250
	greedyTimes = 8
	modestTimes = 2
	// greedyShare is what all greedy callers get together, in requests a second
	// and processor. It leaves more than half of a processor to the others, to
	// the NATS server and to the gateways themselves.
	greedyShare = 500
	// greedyBurst is how many of them may come at once.
	greedyBurst = 8
	// maxCallers bounds those who are known.
	maxCallers = 8192
)

// pace holds back callers who ask for much more than others who ask too. Where
// everybody asks for the same, or nobody else asks, it holds back nobody.
type pace struct {
	callers map[string]*caller
	ticked  time.Time
	// least is what greedyRate makes in a window, interval the time of one of
	// greedyShare, on this machine; next is when the greedy ones may have the
	// next place.
	least    float64
	interval time.Duration
	next     time.Time
}

type caller struct {
	sum    float64   // of requests, the older ones less
	last   time.Time // request
	greedy bool
}

func newPace() pace {
	procs := runtime.GOMAXPROCS(0)
	return pace{
		callers:  make(map[string]*caller),
		least:    greedyRate * window.Seconds() * float64(procs),
		interval: time.Second / time.Duration(greedyShare*procs),
	}
}

// came counts a request and says whether its caller is greedy.
func (p *pace) came(name string, now time.Time) bool {
	p.look(now)
	c := p.callers[name]
	if c == nil {
		if len(p.callers) == maxCallers {
			return false
		}
		c = &caller{}
		p.callers[name] = c
	}
	c.sum++
	c.last = now
	return c.greedy
}

// look lets the requests so far count less, and judges everybody, once a tick.
func (p *pace) look(now time.Time) {
	since := now.Sub(p.ticked)
	if since < tick {
		return
	}
	p.ticked = now
	modest := 0.0
	for name, c := range p.callers {
		if now.Sub(c.last) > presence {
			delete(p.callers, name)
			continue
		}
		for left := since; left >= tick; left -= tick {
			c.sum *= fade
		}
		if modest == 0 || c.sum < modest {
			modest = c.sum
		}
	}
	for _, c := range p.callers {
		if c.greedy {
			c.greedy = c.sum >= p.least/2 && c.sum >= modestTimes*modest
		} else {
			c.greedy = c.sum >= p.least && c.sum >= greedyTimes*modest
		}
	}
}

// wait is how long a caller's request must wait for a place that is free; when
// that is no time, it has taken it.
func (p *pace) wait(name string, now time.Time) time.Duration {
	p.look(now)
	if c := p.callers[name]; c == nil || !c.greedy {
		return 0
	}
	if p.next.Before(now) {
		p.next = now
	}
	if early := p.next.Sub(now) - greedyBurst*p.interval; early > 0 {
		return early
	}
	p.next = p.next.Add(p.interval)
	return 0
}
