package triage

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"intenthint/triage/local"
	"intenthint/triage/state"
)

// markWeight is the weight of a mark relative to a message of the labelled set.
// The gate was measured with this value.
const markWeight = 1

// trainPause is the least pause between two trainings.
const trainPause = time.Second

// TrainLocal returns a gate trained also on marks, which are newest first.
func TrainLocal(marks []state.Mark) Local {
	examples := make([]local.Example, 0, len(marks))
	for _, m := range slices.Backward(marks) {
		if m.Text != "" {
			examples = append(examples, local.Example{
				Input: local.Input{Group: m.Group, Text: m.Text}, Respond: m.Verdict == state.Respond, Weight: markWeight,
			})
		}
	}
	return judge{local.New(examples)}
}

// judge adapts a trained gate to [Local].
type judge struct{ gate *local.Gate }

// Judge implements [Local].
func (j judge) Judge(in LocalInput) (respond, sure bool) {
	own := local.Input{Group: in.Group, Text: in.Text, Sender: in.Sender, BotName: in.BotName, At: in.At}
	for _, e := range in.Recent {
		own.Recent = append(own.Recent, local.Earlier{Sender: e.Sender, Text: e.Text, At: e.At, Bot: e.Bot, Answered: e.Answered})
	}
	respond, sure, _ = j.gate.Judge(own)
	return respond, sure
}

// trainer retrains the local gate when people mark messages. Until it has
// trained once, it is never sure.
type trainer struct {
	trained atomic.Pointer[Local]
	wake    chan struct{}

	mu    sync.Mutex
	on    bool
	marks []state.Mark
	// lastMarks are the marks of the last training.
	lastMarks []state.Mark
}

func newTrainer() *trainer { return &trainer{wake: make(chan struct{}, 1)} }

// Judge implements [Local].
func (t *trainer) Judge(in LocalInput) (respond, sure bool) {
	if l := t.trained.Load(); l != nil {
		return (*l).Judge(in)
	}
	return true, false
}

// enable turns the gate on or off. Turning it on trains it once; later changes
// of the marks train it again.
func (t *trainer) enable(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if on && !t.on {
		t.train(t.marks)
		t.lastMarks = t.marks
	}
	t.on = on
}

// use replaces the trainer's marks.
func (t *trainer) use(marks []state.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks = marks
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *trainer) train(marks []state.Mark) {
	l := TrainLocal(marks)
	t.trained.Store(&l)
}

// run trains until ctx ends.
func (t *trainer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		t.mu.Lock()
		marks, due := t.marks, t.on && !slices.Equal(t.marks, t.lastMarks)
		t.mu.Unlock()
		if due {
			t.train(marks)
			t.mu.Lock()
			t.lastMarks = marks
			t.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(trainPause):
		}
	}
}
