package kv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

var (
	errAway = errors.New("server down")
	errDead = errors.New("process dead")
)

// faulty is a JetStream whose writes fail in every way: not written, written
// without an acknowledgement, conflicts, and death of the process before or
// after a write.
type faulty struct {
	jetstream.JetStream
	often float64 // the part of the writes that fail

	mu   sync.Mutex
	r    *rand.Rand
	dead bool
}

// write performs a write, or injects a fault.
func (f *faulty) write(do func() error) error {
	f.mu.Lock()
	fault := -1
	if f.r.Float64() < f.often {
		fault = f.r.IntN(6)
	}
	dead := f.dead
	f.dead = dead || fault >= 4
	f.mu.Unlock()
	conflict := &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence, Description: "wrong last sequence"}
	switch {
	case dead, fault == 4:
		return errDead
	case fault == 0:
		return errAway
	case fault == 1:
		return conflict
	}
	err := do()
	switch {
	case err != nil:
		return err
	case fault == 2:
		return errAway
	case fault == 3:
		return conflict // with this very write, sent twice
	case fault == 5:
		return errDead
	}
	return nil
}

func (f *faulty) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	err = f.write(func() error { ack, err = f.JetStream.PublishMsg(ctx, m, opts...); return err })
	return ack, err
}

func (f *faulty) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := f.JetStream.Stream(ctx, name)
	return &faultyStream{s, f}, err
}

type faultyStream struct {
	jetstream.Stream
	js *faulty
}

func (s *faultyStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return s.js.write(func() error { return s.Stream.Purge(ctx, opts...) })
}

// Whatever fails or dies, in whatever order, the documents equal those of the
// file store.
func TestAnyInterleavingWithFaultsGivesTheDocumentOfTheFileStore(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 10
	}
	for name, maxPayload := range map[string]int32{"usual messages": 0, "small messages": 3 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := newServer(t, maxPayload)
			js := connect(t, ns)
			for seed := range seeds {
				checkFaults(t, js, seed)
			}
		})
	}
}

func checkFaults(t *testing.T, js jetstream.JetStream, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	limit := r.IntN(4)
	facts := storetest.Facts(r, "s", 5+r.IntN(60), 1+r.IntN(10), 1+r.Int64N(60))
	// At least one turn, so that there is a document.
	facts = append(facts, storetest.Begin("s", "r0", 0))

	files, err := file.Open(t.TempDir(), store.Options{HistoryLimit: limit})
	require.NoError(t, err)
	apply(t, files, facts...)

	process := func(js jetstream.JetStream) *kv.Store {
		s, err := kv.Open(t.Context(), js, bucket(fmt.Sprint("F", seed)), store.Options{HistoryLimit: limit})
		if err != nil {
			t.Error(err)
		}
		return s
	}
	sound := process(js)
	const processes = 3
	var all sync.WaitGroup
	for p := range uint64(processes) {
		// Every fact comes to one process, some to others as well.
		var mine []store.Fact
		for i, f := range facts {
			if uint64(i)%processes == p || r.IntN(4) == 0 {
				mine = append(mine, f)
			}
		}
		own := rand.New(rand.NewPCG(seed, p))
		all.Go(func() {
			own.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			often := float64(own.IntN(3)) / 10
			unsound := func() *kv.Store {
				return process(&faulty{JetStream: js, often: often, r: rand.New(rand.NewPCG(own.Uint64(), 0))})
			}
			s := unsound()
			for len(mine) > 0 && !t.Failed() {
				batch := mine[:1+own.IntN(len(mine))]
				switch err := s.Apply(t.Context(), batch); {
				case err == nil:
					mine = mine[len(batch):]
				case errors.Is(err, errDead):
					s = unsound()
				case !errors.Is(err, errAway):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, document(t, files, "s"), document(t, sound, "s"), "seed %d", seed)
	require.Equal(t, archived(t, files, "s"), archived(t, sound, "s"), "seed %d", seed)
	for _, s := range []*kv.Store{sound, process(js)} {
		for _, i := range r.Perm(len(facts)) {
			apply(t, s, facts[i])
		}
		require.Equal(t, document(t, files, "s"), document(t, s, "s"), "seed %d", seed)
		require.Equal(t, archived(t, files, "s"), archived(t, s, "s"), "seed %d", seed)
	}
	runs := []string{}
	for run := range archived(t, files, "s") {
		runs = append(runs, run)
	}
	slices.Sort(runs)
	if len(runs) > 0 {
		// A late fact for a turn that was retired.
		late := storetest.Call("s", runs[0], 1000)
		apply(t, files, late)
		apply(t, sound, late)
		require.Equal(t, archived(t, files, "s"), archived(t, sound, "s"), "seed %d", seed)
	}
}

// deaf is a JetStream that reports a conflict with its own write.
type deaf struct {
	jetstream.JetStream
	armed bool
}

func (d *deaf) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := d.JetStream.PublishMsg(ctx, m, opts...)
	if err == nil && d.armed && m.Subject == "$KV.S.s" {
		d.armed = false
		return nil, &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}
	}
	return ack, err
}

func TestConflictWithOnesOwnWriteKeepsItsChunks(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 8<<10))
	process := &deaf{JetStream: js}
	s, err := kv.Open(t.Context(), process, bucket("S"), store.Options{HistoryLimit: 200})
	require.NoError(t, err)
	for n := range int64(10) {
		process.armed = true
		apply(t, s, long("s", n, 2000)...)
		require.Contains(t, document(t, open(t, js, store.Options{}), "s"), fmt.Sprintf(`"r%d"`, n))
	}
	require.NotEmpty(t, chunks(keys(t, js)))
	require.Len(t, storetest.Show(t, s, "s").History, 9)
}
