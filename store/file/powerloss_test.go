package file

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file/internal/disk"
	"intenthint/store/storetest"
)

// Applied facts survive a power loss, whatever part of the unsynced writes has
// reached the disk, and redelivered facts change nothing.
func TestPowerLossLosesNoAppliedFact(t *testing.T) {
	t.Parallel()
	seeds := 20
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { losePower(t, uint64(seed)) })
	}
}

func losePower(t *testing.T, seed uint64) {
	const limit, sessions = 3, 3
	random := rand.New(rand.NewPCG(seed, 7))
	facts := workload(random, sessions)
	dir := t.TempDir()
	power := newPower(t, dir)
	open := func() *Store {
		s, err := Open(dir, store.Options{HistoryLimit: limit})
		require.NoError(t, err)
		s.disk = power.disk()
		return s
	}
	apply := func(s *Store, facts []store.Fact) {
		for len(facts) > 0 {
			// A few neighbouring facts of one session, as in a batch.
			n := 1
			for n < len(facts) && n < 4 && facts[n].Session() == facts[0].Session() {
				n++
			}
			require.NoError(t, s.Apply(t.Context(), facts[:n]))
			facts = facts[n:]
		}
	}
	s := open()
	before := random.IntN(len(facts))
	if seed%2 == 0 {
		before = random.IntN(8) // while files get their names
	}
	apply(s, facts[:before])
	// The power fails during a write: at a sync that never returns.
	type failure struct{}
	syncs := random.IntN(6)
	sync := power.disk()
	s.disk = disk.Disk{
		File: func(f *os.File) error {
			if syncs--; syncs < 0 {
				panic(failure{})
			}
			return sync.File(f)
		},
		Names: func() error {
			if syncs--; syncs < 0 {
				panic(failure{})
			}
			return sync.Names()
		},
	}
	applied := before
	func() {
		defer func() {
			if p := recover(); p != nil {
				require.IsType(t, failure{}, p)
			}
		}()
		for ; applied < len(facts); applied++ {
			require.NoError(t, s.Apply(t.Context(), facts[applied:applied+1]))
		}
	}()
	power.fail(random)

	s = open()
	calm, err := Open(t.TempDir(), store.Options{HistoryLimit: limit})
	require.NoError(t, err)
	apply(calm, facts)
	// Acknowledged facts are not redelivered.
	apply(s, facts[applied:])
	for i := range sessions {
		session := fmt.Sprint("s", i)
		aside, err := filepath.Glob(filepath.Join(dir, session+corruptPrefix+"*"))
		require.NoError(t, err)
		require.Empty(t, aside, "no session file is corrupt")
		want, err := calm.Get(t.Context(), session)
		require.NoError(t, err)
		got, err := s.Get(t.Context(), session)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		wantRetired, err := calm.Retired(t.Context(), session)
		require.NoError(t, err)
		gotRetired, err := s.Retired(t.Context(), session)
		require.NoError(t, err)
		require.Subset(t, gotRetired, wantRetired)
	}
}

// workload returns turns of several sessions, partly out of order, so that facts
// wait for their turns and retired turns are amended.
func workload(random *rand.Rand, sessions int) []store.Fact {
	var facts []store.Fact
	for i := range sessions {
		session := fmt.Sprint("s", i)
		for turn := range 10 {
			run, at := fmt.Sprintf("%s-r%d", session, turn), int64(turn*1000)
			facts = append(facts, storetest.Begin(session, run, at), storetest.Call(session, run, at+1),
				storetest.Call(session, "", at+2), storetest.End(session, run, at+3))
		}
	}
	random.Shuffle(sessions*20, func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	slices.SortStableFunc(facts, func(a, b store.Fact) int {
		return int(a.TS/4000 - b.TS/4000)
	})
	return facts
}

// power tracks what is durable on the disk. Files are identified by their
// inodes; links in a separate directory prevent the reuse of inode numbers.
type power struct {
	t     *testing.T
	dir   string
	links string
	// content is the synced content of an inode, names maps the synced names in
	// the directory to inodes.
	content map[uint64][]byte
	names   map[string]uint64
}

func newPower(t *testing.T, dir string) *power {
	return &power{t: t, dir: dir, links: t.TempDir(), content: map[uint64][]byte{}, names: map[string]uint64{}}
}

func (p *power) inode(path string) uint64 {
	info, err := os.Stat(path)
	require.NoError(p.t, err)
	stat, ok := info.Sys().(*syscall.Stat_t)
	require.True(p.t, ok)
	if err := os.Link(path, p.link(stat.Ino)); err != nil {
		require.ErrorIs(p.t, err, fs.ErrExist)
	}
	return stat.Ino
}

func (p *power) link(inode uint64) string {
	return filepath.Join(p.links, strconv.FormatUint(inode, 10))
}

// current maps the present names in the directory to inodes.
func (p *power) current() map[string]uint64 {
	files, err := os.ReadDir(p.dir)
	require.NoError(p.t, err)
	out := map[string]uint64{}
	for _, f := range files {
		if f.Type().IsRegular() {
			out[f.Name()] = p.inode(filepath.Join(p.dir, f.Name()))
		}
	}
	return out
}

func (p *power) disk() disk.Disk {
	return disk.Disk{
		File: func(f *os.File) error {
			data, err := os.ReadFile(f.Name())
			p.content[p.inode(f.Name())] = data
			return err
		},
		Names: func() error { p.names = p.current(); return nil },
	}
}

// fail simulates a power failure.
func (p *power) fail(random *rand.Rand) {
	now := p.current()
	all := map[string]bool{}
	for name := range now {
		all[name] = true
	}
	for name := range p.names {
		all[name] = true
	}
	after := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		inode, there := p.names[name]
		if random.IntN(2) == 0 {
			inode, there = now[name]
		}
		if !there {
			continue
		}
		written, err := os.ReadFile(p.link(inode))
		require.NoError(p.t, err)
		synced := p.content[inode]
		if !bytes.HasPrefix(written, synced) {
			require.Fail(p.t, "a synced file was written over", name)
		}
		switch random.IntN(3) {
		case 0:
			written = synced
		case 1:
			written = written[:len(synced)+random.IntN(len(written)-len(synced)+1)]
		}
		after[name] = written
	}
	for name := range now {
		require.NoError(p.t, os.Remove(filepath.Join(p.dir, name)))
	}
	for name, data := range after {
		require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), data, 0o600))
	}
}
