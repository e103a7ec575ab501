package store

import (
	"encoding/json"
	"slices"
	"time"
)

// Document is a session: its turns, and the facts that wait for their turn. It
// is a function of the set of facts applied to it (contract §8). The zero value
// is an empty session. A Document is not safe for concurrent use.
type Document struct {
	// id, sessionKey and agent come from the newest Begin that has them.
	id, sessionKey, agent sourced
	// turns are ordered by when they began; the last is the current one.
	turns []*held
	// last is the newest Close. It is shown until a newer turn begins.
	last *closing
	// waiting is ordered by key.
	waiting []Fact

	// Changes since the last Fold began: to the session as it is shown, and to
	// the waiting facts.
	changedSession, changedWaiting bool
}

// sourced is a value and the fact that it came from.
type sourced struct {
	Value string `json:"-"`
	Key
}

func (s sourced) source() *Key {
	if s.Value == "" {
		return nil
	}
	return &s.Key
}

type closing struct {
	Reason string `json:"reason"`
	At     string `json:"at"`
	Key
}

// held is a turn with its encoding. An unchanged turn is neither decoded nor
// encoded again.
type held struct {
	run  string
	key  Key
	turn *Turn  // nil: not decoded
	raw  []byte // nil: changed since it was encoded
	at   int    // of raw in the last encoding of the document
	// loose reports whether the turn has facts without a run id.
	loose bool
	// recalled reports whether this Fold brought the turn back from the
	// archive, archived whether the archive holds it unchanged.
	recalled, archived bool
}

// open returns the turn for reading.
func (h *held) open() *Turn {
	if h.turn == nil {
		t, err := DecodeTurn(h.raw)
		if err != nil {
			// Decode has validated this encoding.
			t = newTurn(h.run, h.key, Begin{})
		}
		h.turn = t
	}
	return h.turn
}

// touch marks the turn as changed.
func (h *held) touch() { h.raw, h.archived, h.loose = nil, false, h.turn.loose() }

func (h *held) encode() error {
	if h.raw != nil {
		return nil
	}
	raw, err := encode(h.turn)
	h.raw = raw
	return err
}

// hold validates an encoded turn, so that opening it later cannot fail, and
// keeps only the encoding: most turns are never opened again.
func hold(raw []byte) (*held, error) {
	t, err := DecodeTurn(raw)
	if err != nil {
		return nil, err
	}
	oneLine, err := compact(raw)
	if err != nil {
		return nil, err
	}
	return &held{run: t.RunID, key: t.Begin, raw: oneLine, loose: t.loose()}, nil
}

// Turns returns the number of turns that the document shows.
func (d *Document) Turns() int { return len(d.turns) }

// Oldest returns when the oldest turn of the document began; ok is false if
// there are no turns.
func (d *Document) Oldest() (Key, bool) {
	if len(d.turns) == 0 {
		return Key{}, false
	}
	return d.turns[0].key, true
}

// DecodedBytes estimates the memory that the document takes in addition to its
// encoding: the current turn is kept decoded.
func (d *Document) DecodedBytes() int {
	if len(d.turns) == 0 {
		return 0
	}
	return len(d.turns[len(d.turns)-1].raw)
}

// Waiting returns the facts that no turn shows: those whose turn has not begun
// and, while there are no turns, the end of the session. The slice belongs to
// the document.
func (d *Document) Waiting() []Fact {
	if d.last == nil || len(d.turns) > 0 {
		return d.waiting
	}
	return append(slices.Clone(d.waiting), Fact{ID: d.last.ID, TS: d.last.TS, Close: &Close{Reason: d.last.Reason}})
}

// head is what precedes the turns in a session file.
type head struct {
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
}

// tail is what follows the turns in a session file.
type tail struct {
	Ended *closing `json:"ended,omitempty"`
	// Superseded is the end of the session when a newer turn hides it.
	Superseded *closing `json:"superseded,omitempty"`
	NamedBy    sources  `json:"namedBy,omitzero"`
	Waiting    []Fact   `json:"waiting,omitempty"`
}

// sources are the facts that the session's names came from.
type sources struct {
	SessionID  *Key `json:"sessionId,omitempty"`
	SessionKey *Key `json:"sessionKey,omitempty"`
	AgentID    *Key `json:"agentId,omitempty"`
}

// ended is the end of the session, unless it is older than the newest turn.
func (d *Document) ended() *closing {
	if d.last == nil || len(d.turns) > 0 && d.last.Before(d.turns[len(d.turns)-1].key) {
		return nil
	}
	return d.last
}

// Session encodes the document as a session file (contract §8): one line of
// JSON with all turns, without the waiting facts.
func (d *Document) Session() ([]byte, error) { return d.encode(nil, nil) }

// AppendSession is Session appending to buf.
func (d *Document) AppendSession(buf []byte) ([]byte, error) { return d.encode(buf, nil) }

// AppendState encodes the whole document, the session and the waiting facts,
// and appends it to buf.
func (d *Document) AppendState(buf []byte) ([]byte, error) { return d.encode(buf, d.waiting) }

func (d *Document) encode(out []byte, waiting []Fact) ([]byte, error) {
	top, err := encode(head{SessionID: d.id.Value, SessionKey: d.sessionKey.Value, AgentID: d.agent.Value})
	if err != nil {
		return nil, err
	}
	end := tail{Ended: d.ended(), Waiting: waiting}
	if end.Ended == nil {
		end.Superseded = d.last
	}
	end.NamedBy = sources{SessionID: d.id.source(), SessionKey: d.sessionKey.source(), AgentID: d.agent.source()}
	bottom, err := encode(end)
	if err != nil {
		return nil, err
	}
	size := len(top) + len(bottom) + 64
	for i, h := range d.turns {
		if err := h.encode(); err != nil {
			return nil, err
		}
		if i < len(d.turns)-1 {
			h.turn = nil
		}
		size += len(h.raw) + 1
	}

	out = slices.Grow(out, size)
	start := len(out)
	add := func(h *held) {
		h.at = len(out) - start
		out = append(out, h.raw...)
	}
	out = append(out, top[:len(top)-1]...)
	if len(top) > 2 {
		out = append(out, ',')
	}
	if n := len(d.turns); n > 0 {
		out = append(out, `"current":`...)
		add(d.turns[n-1])
		out = append(out, ',')
	}
	out = append(out, `"history":[`...)
	for i := range len(d.turns) - 1 {
		if i > 0 {
			out = append(out, ',')
		}
		add(d.turns[i])
	}
	out = append(out, ']')
	if len(bottom) > 2 {
		out = append(out, ',')
	}
	return append(out, bottom[1:]...), nil
}

// Decode decodes what [Document.Session] or [Document.AppendState] encoded. Its
// errors are of kind [ErrCorrupt].
func Decode(data []byte) (*Document, error) {
	var in members
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, shapeError(err)
	}
	if len(in.Current) > 0 && string(in.Current) != "null" {
		in.History = append(in.History, in.Current)
	}
	turns := make([]*held, 0, len(in.History))
	for _, raw := range in.History {
		h, err := hold(raw)
		if err != nil {
			return nil, err
		}
		turns = append(turns, h)
	}
	return in.document(turns)
}

// members are the members of an encoded document.
type members struct {
	head
	Current json.RawMessage   `json:"current"`
	History []json.RawMessage `json:"history"`
	tail
}

func (in *members) document(turns []*held) (*Document, error) {
	d := &Document{
		id:         named(in.SessionID, in.NamedBy.SessionID),
		sessionKey: named(in.SessionKey, in.NamedBy.SessionKey),
		agent:      named(in.AgentID, in.NamedBy.AgentID),
		turns:      turns,
		last:       in.Ended,
	}
	if d.last == nil {
		d.last = in.Superseded
	}
	if d.last != nil {
		at, err := time.Parse(time.RFC3339, d.last.At)
		if err != nil {
			return nil, shapeError(err)
		}
		if d.last.Key == (Key{}) {
			d.last.TS = at.UnixMilli()
		}
	}
	slices.SortStableFunc(d.turns, func(a, b *held) int { return a.key.Compare(b.key) })
	for _, f := range in.Waiting {
		// A process of an older fold keeps a fact that it does not know without its content.
		if f.Call != nil || f.End != nil || f.Feedback != nil || f.Use != nil {
			d.wait(f.clean())
		}
	}
	d.changedWaiting = false
	return d, nil
}

func named(value string, by *Key) sourced {
	if by == nil {
		return sourced{Value: value}
	}
	return sourced{Value: value, Key: *by}
}
