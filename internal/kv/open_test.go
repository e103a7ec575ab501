package kv

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

func TestOpenFindsOrCreates(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	want := jetstream.KeyValueConfig{Bucket: "T", Description: "first"}
	var opened sync.WaitGroup
	for range 4 { // processes
		js := natstest.JetStream(t, ns)
		opened.Go(func() {
			_, err := Open(t.Context(), js, want)
			require.NoError(t, err)
		})
	}
	opened.Wait()
	js := natstest.JetStream(t, ns)
	_, err := Open(t.Context(), js, jetstream.KeyValueConfig{Bucket: "T", Description: "second"})
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), bus.BucketStream("T"))
	require.NoError(t, err)
	require.Equal(t, "first", stream.CachedInfo().Config.Description, "a bucket that exists is not changed")
}

// A refused call ends at once, not by its timeout.
func TestOpenWithoutPermission(t *testing.T) {
	t.Parallel()
	blind := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}}
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{{Username: "blind", Password: "p", Permissions: blind}}})
	_, err := Open(t.Context(), natstest.JetStream(t, ns, nats.UserInfo("blind", "p")), jetstream.KeyValueConfig{Bucket: "T"})
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorContains(t, err, "bucket T: ")
}

func TestFindOrCreate(t *testing.T) {
	missing, taken, other := jetstream.ErrBucketNotFound, jetstream.ErrStreamNameAlreadyInUse, errors.New("other")
	failed := &jetstream.APIError{Code: 503, ErrorCode: 10049}
	for _, row := range []struct {
		name         string
		find, create []error // the last one stays
		want         error
		finds        int
	}{
		{"it is there", []error{nil}, nil, nil, 1},
		{"it is missing", []error{missing}, []error{nil}, nil, 1},
		{"its stream is missing", []error{jetstream.ErrStreamNotFound}, []error{nil}, nil, 1},
		{"another process was faster", []error{missing, nil}, []error{taken}, nil, 2},
		{"not every server has it yet", []error{missing, missing, nil}, []error{jetstream.ErrBucketExists, taken}, nil, 3},
		{"the files of the last one are there", []error{missing}, []error{failed, nil}, nil, 2},
		{"for good", []error{missing}, []error{failed}, failed, CreateRetry.Attempts},
		{"it cannot be looked up", []error{other}, nil, other, 1},
		{"it cannot be created", []error{missing}, []error{other}, other, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				finds, creates := 0, 0
				next := func(errs []error, n *int) (int, error) {
					*n++
					err := errs[min(*n, len(errs))-1]
					return *n, err
				}
				began := time.Now()
				_, err := FindOrCreate(t.Context(),
					func(context.Context) (int, error) { return next(row.find, &finds) },
					func(context.Context) (int, error) { return next(row.create, &creates) })
				require.ErrorIs(t, err, row.want)
				if row.want == nil {
					require.NoError(t, err)
				}
				require.Equal(t, row.finds, finds)
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
			})
		})
	}
}
