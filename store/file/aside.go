package file

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func (s *Store) setAside(ctx context.Context, token string, reason error) error {
	if err := s.MarkLost(ctx, token); err != nil {
		return err
	}
	aside := s.aside(token)
	s.log.WarnContext(ctx, "setting aside corrupt session file",
		"session", token, "as", aside, "error", reason)
	return os.Rename(s.path(token, sessionSuffix), s.path(aside, ""))
}

// missing records that a session file was deleted by somebody else.
func (s *Store) missing(ctx context.Context, token string) error {
	if err := s.MarkLost(ctx, token); err != nil {
		return err
	}
	s.log.WarnContext(ctx, "session file is gone", "session", token)
	s.forget(token)
	return nil
}

// aside returns the name under which an unreadable file is kept.
func (s *Store) aside(name string) string {
	return fmt.Sprintf("%s%s%d", name, corruptPrefix, s.now().UnixMilli())
}

// mend sets a damaged file of lines aside and replaces it with its readable
// lines. It returns nil without an error if no line is readable.
func (s *Store) mend(ctx context.Context, token, suffix string, lines []byte, reason error) (info os.FileInfo, err error) {
	var temp string
	if len(lines) > 0 {
		// Written first, so that a full disk fails before anything is set
		// aside: retries would pile up copies.
		if temp, info, err = s.writeTemp(lines); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = os.Remove(temp)
			}
		}()
	}
	if err := s.MarkLost(ctx, token); err != nil {
		return nil, err
	}
	path, aside := s.path(token, suffix), s.aside(token+suffix)
	s.log.WarnContext(ctx, "setting aside corrupt file", "session", token, "as", aside, "error", reason)
	if temp == "" {
		return nil, os.Rename(path, s.path(aside, ""))
	}
	// The old file keeps its name until the new one replaces it: the stream may
	// no longer hold its events. Not every file system has hard links.
	if os.Link(path, s.path(aside, "")) != nil {
		if err := os.Rename(path, s.path(aside, "")); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, err
	}
	return info, s.disk.Names()
}

// asideAt parses the time of a set-aside file from its suffix; ok is false for
// any other suffix.
func asideAt(suffix string) (at time.Time, ok bool) {
	_, text, ok := strings.Cut(suffix, corruptPrefix)
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms), ok && err == nil
}
