package index

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// reader is a connection that reads, with its own statements. It belongs to one call at
// a time. The statements of an [sql.DB] cost a tenth of a search more: for each query
// they are looked up among those of the connection.
type reader struct {
	conn                                                  *sql.Conn
	begin, rollback                                       *sql.Stmt
	list, counts, held                                    *sql.Stmt
	findTerms, findPostings, findSet, findRows, findState *sql.Stmt
	completedTerms, correctedTerms, correctedIDs          *sql.Stmt
	all                                                   []*sql.Stmt
	broken                                                bool // a transaction could not be begun or ended
}

// errClosed is the error of a call after [Index.Close].
var errClosed = errors.New("the index of experiences is closed")

// reading calls f with a reader, which it waits for.
func (x *Index) reading(ctx context.Context, f func(r *reader) error) error {
	var r *reader
	var ok bool
	select {
	case r, ok = <-x.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !ok {
		return errClosed
	}
	defer func() {
		if r != nil && r.broken {
			_ = r.close()
			r = nil
		}
		x.readers <- r
	}()
	if r == nil {
		var err error
		if r, err = x.newReader(ctx); err != nil {
			return x.note(err)
		}
	}
	return x.note(f(r))
}

// newReader opens a connection.
func (x *Index) newReader(ctx context.Context) (*reader, error) {
	conn, err := x.read.Conn(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// close closes the statements too, which [sql.Conn.Close] does not. Without them a
// broken connection is not used again.
func (r *reader) close() error {
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.Close())
	}
	if r.broken {
		_ = r.conn.Raw(func(any) error { return driver.ErrBadConn }) // the error that database/sql drops a connection for
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, r.conn.Close())...)
}

// closeReaders waits for the calls that read, and closes all readers.
func (x *Index) closeReaders() (err error) {
	x.closed.Do(func() {
		for range cap(x.readers) {
			if r := <-x.readers; r != nil {
				err = errors.Join(err, r.close())
			}
		}
		close(x.readers)
	})
	return err
}

// snapshot calls f, for which the file stays as it is, however others change it.
func (r *reader) snapshot(f func() error) error {
	ctx := context.Background() // see lookup.query
	if _, err := r.begin.ExecContext(ctx); err != nil {
		r.broken = true
		return err
	}
	defer func() {
		_, err := r.rollback.ExecContext(ctx)
		r.broken = err != nil
	}()
	return f()
}
