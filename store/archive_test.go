package store

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var errUnread = errors.New("archive not read")

// unread is an archive of which one read fails.
type unread struct {
	lines
	reads, fails int
}

func (u *unread) read() error {
	if u.reads++; u.reads == u.fails {
		return errUnread
	}
	return nil
}

func (u *unread) Run(run string) (json.RawMessage, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	return u.lines.Run(run)
}

func (u *unread) Before(key Key) (json.RawMessage, error) {
	if err := u.read(); err != nil {
		return nil, err
	}
	return u.lines.Before(key)
}

// Each read of the archive that fails is an error of its fold: without what is there a
// turn would be written twice, or in part.
func TestAnArchiveThatCannotBeRead(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // not a secret
		facts := shuffled(r, someFacts(r, 16, 6, 20))
		for fails := 1; ; fails++ {
			d, archive := &Document{}, &unread{lines: lines{t: t}, fails: fails}
			failed := false
			for _, f := range facts {
				change, err := d.Fold([]Fact{f}, 1, archive)
				if err != nil {
					require.ErrorIs(t, err, errUnread)
					failed = true
					break
				}
				require.Less(t, archive.reads, fails, "the fold that read it")
				archive.all = append(archive.all, change.Retired...)
			}
			if !failed {
				require.Greater(t, fails, 1, "something is read")
				break
			}
		}
	}
}
