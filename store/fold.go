package store

import (
	"encoding/json"
	"math"
	"slices"
	"sort"

	"intenthint/payload"
)

// FoldVersion is the version of the fold: of the hooks whose events become facts, and of
// what a document keeps of them. It rises when either grows: processes of an older
// version leave out what they do not know. See docs/decisions/0034-two-versions-at-once.md.
//
//  1. Until 0.1.0, which did not record it.
//  2. What the agent used of its model, and requests without an answer.
const FoldVersion = 2

// Change is the result of a [Document.Fold].
type Change struct {
	// Session reports whether the encoding of the session changed.
	Session bool
	// Waiting reports whether the waiting facts changed.
	Waiting bool
	// Retired are the turns to append to the archive, oldest first, each one
	// line of JSON: those beyond the limit, and retired ones that a late fact
	// amended. They must be in the archive before the document without them is
	// stored, so that a crash in between duplicates a turn but loses none.
	Retired []json.RawMessage
}

// Any reports whether anything must be stored.
func (c Change) Any() bool { return c.Session || c.Waiting || len(c.Retired) > 0 }

// Fold applies facts and then retires the oldest turns beyond limit turns of
// history; a negative limit keeps all. A fact that concerns retired turns is
// applied to them: they are recalled from the archive and retired again. After
// an error the document must no longer be used.
func (d *Document) Fold(facts []Fact, limit int, archive Archive) (Change, error) {
	d.changedSession, d.changedWaiting = false, false
	var oldest *Key // from here on all turns are in the document
	if key, ok := d.Oldest(); ok {
		oldest = &key
	}
	for _, f := range facts {
		f = f.clean()
		if err := d.recall(f, oldest, archive); err != nil {
			return Change{}, err
		}
		d.apply(f)
	}
	if err := d.fill(oldest, limit, archive); err != nil {
		return Change{}, err
	}
	retired, err := d.retire(limit)
	if err != nil {
		return Change{}, err
	}
	return Change{Session: d.changedSession, Waiting: d.changedWaiting, Retired: retired}, nil
}

// Apply folds one fact into the document and reports whether it changed. It is
// idempotent.
func (d *Document) Apply(f Fact) (changed bool) { return d.apply(f.clean()) }

func (d *Document) apply(f Fact) (changed bool) {
	switch {
	case f.Begin != nil:
		return d.begin(f)
	case f.Call != nil, f.End != nil, (f.Feedback != nil || f.Use != nil) && f.RunID != "":
		return d.place(f)
	case f.Close != nil:
		return d.close(f)
	}
	return false
}

func (d *Document) begin(f Fact) bool {
	named := d.name(f)
	run, key := f.run(), f.Key()
	i := d.find(run)
	if i < 0 {
		h := &held{run: run, key: key, turn: newTurn(run, key, *f.Begin)}
		if len(d.turns) == 0 && d.last != nil {
			d.changedWaiting = true // the end of the session is shown now
		}
		d.insert(h)
		return true
	}
	h := d.turns[i]
	if !h.open().begin(key, *f.Begin) {
		return named
	}
	h.touch()
	d.changedSession = true
	if key.Before(h.key) {
		// The turn moves earlier; facts without a run id are assigned anew.
		moved := h.turn.takeLoose(math.MinInt64)
		h.touch()
		d.turns = slices.Delete(d.turns, i, i+1)
		h.key = key
		d.insert(h)
		for _, f := range moved {
			d.place(f)
		}
	}
	return true
}

// name takes the session's names from a Begin.
func (d *Document) name(f Fact) (changed bool) {
	set := func(to *sourced, value string) {
		if value == "" || to.Value != "" && !to.Before(f.Key()) {
			return
		}
		*to = sourced{Value: value, Key: f.Key()}
		changed, d.changedSession = true, true
	}
	set(&d.id, f.SessionID)
	set(&d.sessionKey, f.SessionKey)
	set(&d.agent, f.AgentID)
	return changed
}

// insert puts a turn in its place and moves the facts that belong to it there.
func (d *Document) insert(h *held) {
	i := sort.Search(len(d.turns), func(i int) bool { return h.key.Before(d.turns[i].key) })
	d.turns = slices.Insert(d.turns, i, h)
	d.changedSession = true

	var found []Fact
	if i > 0 && d.turns[i-1].loose {
		before := d.turns[i-1]
		found = before.open().takeLoose(h.key.TS)
		before.touch()
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(f Fact) bool {
		mine := f.RunID == h.run || f.RunID == "" && i == 0 && f.TS >= h.key.TS
		if mine {
			found = append(found, f)
			d.changedWaiting = true
		}
		return mine
	})
	for _, f := range found {
		d.place(f)
	}
}

// place adds a Call, an End, Feedback or a Use to its turn, or keeps it waiting.
func (d *Document) place(f Fact) bool {
	i := d.owner(f)
	if i < 0 {
		return d.wait(f)
	}
	h := d.turns[i]
	if !h.open().add(f) {
		return false
	}
	h.touch()
	d.changedSession = true
	return true
}

// owner returns the index of the turn of a fact other than a Begin or a Close:
// that of its run or, without a run id, the latest that began at or before its
// ts. It returns -1 if there is no such turn.
func (d *Document) owner(f Fact) int {
	if f.RunID != "" {
		return d.find(f.RunID)
	}
	return sort.Search(len(d.turns), func(i int) bool { return d.turns[i].key.TS > f.TS }) - 1
}

// find searches from the newest turn, which is nearly always the one.
func (d *Document) find(run string) int {
	for i, v := range slices.Backward(d.turns) {
		if v.run == run {
			return i
		}
	}
	return -1
}

func (d *Document) close(f Fact) bool {
	if d.last != nil && !d.last.Before(f.Key()) {
		return false
	}
	d.last = &closing{Reason: f.Close.Reason, At: Timestamp(f.TS), Key: f.Key()}
	d.changedSession = true
	d.changedWaiting = d.changedWaiting || len(d.turns) == 0
	return true
}

// Facts wait until their turn begins. The waiting facts are bounded, so that
// runs that never become turns (cron jobs, groups that are not allowed) cannot
// fill the store: the newest are kept, up to waitingLimit facts of waitingBytes
// in all. The order of facts matters only beyond these bounds. There is no
// bound on age: one event of a gateway with a wrong clock would make all others
// look old.
const (
	waitingLimit = 4096
	waitingBytes = 8 << 20
)

func (d *Document) wait(f Fact) bool {
	if slices.ContainsFunc(d.waiting, func(have Fact) bool { return have.ID == f.ID }) {
		return false
	}
	kept := Fact{ID: f.ID, TS: f.TS, RunID: f.RunID, Call: f.Call, End: f.End, Feedback: f.Feedback, Use: f.Use}
	i, _ := slices.BinarySearchFunc(d.waiting, f.Key(), func(have Fact, k Key) int { return have.Key().Compare(k) })
	d.waiting = slices.Insert(d.waiting, i, kept)
	if d.forget(); !slices.ContainsFunc(d.waiting, func(have Fact) bool { return have.ID == f.ID }) {
		return false
	}
	d.changedWaiting = true
	return true
}

// forget drops the waiting facts beyond the bounds.
func (d *Document) forget() {
	first, size := len(d.waiting), 0
	for first > 0 && len(d.waiting)-first < waitingLimit {
		size += d.waiting[first-1].size()
		if size > waitingBytes && first < len(d.waiting) {
			break // the newest stays at any size
		}
		first--
	}
	if first > 0 {
		d.waiting = slices.Delete(d.waiting, 0, first)
		d.changedWaiting = true
	}
}

// size estimates how many bytes of text a waiting fact keeps.
func (f Fact) size() int {
	n := len(f.ID) + len(f.RunID)
	if f.Call != nil {
		n += len(f.Call.Params) + len(f.Call.Result) + len(f.Call.Error) + len(f.Call.Name) + len(f.Call.ToolCallID)
	}
	if f.End != nil {
		n += len(f.End.Result) + len(f.End.Error)
	}
	if f.Feedback != nil {
		n += len(f.Feedback.Verdict) + len(f.Feedback.Intent) + len(f.Feedback.By)
	}
	if f.Use != nil {
		n += len(f.Use.Model) + len(f.Use.Effort)
	}
	return n
}

func newTurn(run string, key Key, b Begin) *Turn {
	t := &Turn{RunID: run, SkillsUsed: []Skill{}, ToolCalls: []ToolCall{}, Begin: key}
	t.Input, t.Message = b.Input, b.Message
	t.Timestamps.Start = Timestamp(key.TS)
	t.Intent = intent(b)
	t.classify(key, b)
	t.asked(key, b)
	t.unanswered(key, b)
	return t
}

func intent(b Begin) Intent {
	return Intent{Input: conversation(b), Earlier: b.Earlier, Result: b.Result, Skip: b.Skip, HeldOut: b.HeldOut}
}

func conversation(b Begin) []payload.Turn { return append([]payload.Turn{}, b.Conversation...) }

// begin merges another beginning of the run: a retry or a late one.
func (t *Turn) begin(key Key, b Begin) (changed bool) {
	if key.Before(t.Begin) {
		t.Begin, t.Input, t.Message, t.Timestamps.Start = key, b.Input, b.Message, Timestamp(key.TS)
		if t.Classified == nil {
			t.Intent = intent(b)
		}
		changed = true
	}
	changed = t.classify(key, b) || changed
	changed = t.asked(key, b) || changed
	return t.unanswered(key, b) || changed
}

// unanswered records a request that got no answer, once.
func (t *Turn) unanswered(key Key, b Begin) bool {
	if !b.Unanswered {
		return false
	}
	i, known := slices.BinarySearch(t.Unanswered, key.TS)
	if known {
		return false
	}
	t.Unanswered = slices.Insert(t.Unanswered, i, key.TS)
	t.late()
	return true
}

// late takes back the hint of a request that got no answer. The gateway tells of a
// request with its own time, which is that of its turn_begun.
func (t *Turn) late() {
	if t.Classified != nil && t.Intent.Skip == "" && slices.Contains(t.Unanswered, t.Classified.TS) {
		t.Intent.Skip, t.SkillsHinted = SkipLate, nil
	}
}

// asked records what a Begin asked of models, once.
func (t *Turn) asked(key Key, b Begin) bool {
	if b.ModelUse == nil {
		return false
	}
	i, known := slices.BinarySearchFunc(t.ModelUse, key, func(u AskedModels, k Key) int { return u.Compare(k) })
	if known {
		return false
	}
	t.ModelUse = slices.Insert(t.ModelUse, i, AskedModels{ModelUse: *b.ModelUse, Key: key})
	return true
}

func (t *Turn) classify(key Key, b Begin) bool {
	if b.Result == nil || t.Classified != nil && !key.Before(*t.Classified) {
		return false
	}
	t.Intent = intent(b)
	t.Classified = &key
	t.SkillsHinted = nil
	for _, s := range b.Skills {
		t.SkillsHinted = append(t.SkillsHinted, HintedSkill{Skill: s})
	}
	t.matchSkills()
	t.late()
	return true
}

// add puts a Call, an End, Feedback or a Use into the turn, at most once.
func (t *Turn) add(f Fact) (changed bool) {
	switch {
	case f.Call != nil:
		return t.call(f)
	case f.End != nil:
		return t.end(Attempt{Mark: Mark{TS: f.TS, ID: f.ID, Loose: f.RunID == ""}, End: *f.End})
	case f.Feedback != nil:
		return t.judge(f.Key(), *f.Feedback)
	case f.Use != nil:
		return t.use(f.Key(), *f.Use)
	}
	return false
}

// use records what the agent asked of its model, once.
func (t *Turn) use(key Key, u payload.AgentUse) bool {
	i, known := slices.BinarySearchFunc(t.AgentUse, key, func(u AgentUsed, k Key) int { return u.Compare(k) })
	if known {
		return false
	}
	t.AgentUse = slices.Insert(t.AgentUse, i, AgentUsed{AgentUse: u, Key: key})
	return true
}

// judge keeps the latest feedback.
func (t *Turn) judge(key Key, f Feedback) bool {
	if t.Feedback != nil && !t.Feedback.Before(key) {
		return false
	}
	t.Feedback = &Judgement{Feedback: f, At: Timestamp(key.TS), Key: key}
	return true
}

func (t *Turn) call(f Fact) bool {
	if slices.ContainsFunc(t.ToolCalls, func(c ToolCall) bool { return c.EventID == f.ID }) {
		return false
	}
	c := ToolCall{Call: *f.Call, EventID: f.ID, TS: f.TS, Loose: f.RunID == ""}
	if c.Error != "" {
		c.Result = ""
	}
	i, _ := slices.BinarySearchFunc(t.ToolCalls, f.Key(), func(c ToolCall, k Key) int { return c.key().Compare(k) })
	t.ToolCalls = slices.Insert(t.ToolCalls, i, c)
	if c.Skill != nil {
		t.listSkills()
	}
	return true
}

func (t *Turn) listSkills() {
	t.SkillsUsed = []Skill{}
	for i := range t.ToolCalls {
		s := t.ToolCalls[i].Skill
		if s != nil && !slices.ContainsFunc(t.SkillsUsed, func(o Skill) bool { return o.Name == s.Name }) {
			t.SkillsUsed = append(t.SkillsUsed, *s)
		}
	}
	t.matchSkills()
}

// matchSkills marks which of the skills that the hint named were read.
func (t *Turn) matchSkills() {
	for i := range t.SkillsHinted {
		h := &t.SkillsHinted[i]
		h.Used = slices.ContainsFunc(t.ToolCalls, func(c ToolCall) bool { return c.Skill != nil && c.Skill.Same(h.Skill) })
	}
}

func (t *Turn) end(a Attempt) bool {
	all := t.attempts()
	for _, have := range all {
		// Of the ends with a run id, only the greatest is kept.
		if have.ID == a.ID || !a.Loose && !have.Loose && a.key().Before(have.key()) {
			return false
		}
	}
	t.setAttempts(append(all, a))
	return true
}

// attempts returns the ends that the turn holds.
func (t *Turn) attempts() []Attempt {
	all := slices.Clone(t.Superseded)
	if t.End != nil {
		all = append(all, Attempt{Mark: *t.End, End: End{Result: t.Result, Error: t.Error}})
	}
	return all
}

// setAttempts keeps the ends that may still count: every end without a run id,
// which may move to another turn, and the greatest of those with one.
func (t *Turn) setAttempts(all []Attempt) {
	slices.SortFunc(all, func(a, b Attempt) int { return a.key().Compare(b.key()) })
	kept := make([]Attempt, 0, len(all))
	for i, a := range all {
		if a.Loose || !slices.ContainsFunc(all[i+1:], func(b Attempt) bool { return !b.Loose }) {
			kept = append(kept, a)
		}
	}
	t.End, t.Superseded, t.Result, t.Error, t.Timestamps.End = nil, nil, "", "", ""
	if len(kept) == 0 {
		return
	}
	last := kept[len(kept)-1]
	t.End, t.Result, t.Error, t.Timestamps.End = &last.Mark, last.Result, last.Error, Timestamp(last.TS)
	if len(kept) > 1 {
		t.Superseded = kept[:len(kept)-1]
	}
}

// takeLoose removes the facts without a run id from ts on and returns them.
func (t *Turn) takeLoose(ts int64) []Fact {
	var out []Fact
	skills := false
	t.ToolCalls = slices.DeleteFunc(t.ToolCalls, func(c ToolCall) bool {
		if !c.Loose || c.TS < ts {
			return false
		}
		skills = skills || c.Skill != nil
		call := c.Call
		out = append(out, Fact{ID: c.EventID, TS: c.TS, Call: &call})
		return true
	})
	if skills {
		t.listSkills()
	}
	all := t.attempts()
	var stay []Attempt
	for _, a := range all {
		if a.Loose && a.TS >= ts {
			end := a.End
			out = append(out, Fact{ID: a.ID, TS: a.TS, End: &end})
		} else {
			stay = append(stay, a)
		}
	}
	if len(stay) < len(all) {
		t.setAttempts(stay)
	}
	return out
}

// loose reports whether the turn holds facts without a run id.
func (t *Turn) loose() bool {
	return t.End != nil && t.End.Loose ||
		slices.ContainsFunc(t.Superseded, func(a Attempt) bool { return a.Loose }) ||
		slices.ContainsFunc(t.ToolCalls, func(c ToolCall) bool { return c.Loose })
}
