package bus

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"intenthint/subjects"
)

// Right is a permission that a consumer process needs.
type Right struct {
	// Does is what the permission is for, Subject the subject that was tried.
	Does, Subject string
	// Err is the server's refusal, nil for none.
	Err error
}

// Rights tries the permissions that a consumer process needs, of the NATS user of
// nc. buckets are those that the process uses. It changes nothing: its messages are
// refused by the stream or not understood, and its subscriptions end at once.
func Rights(ctx context.Context, nc *nats.Conn, l Layout, buckets ...Bucket) ([]Right, error) {
	unused := "doctor-" + nuid.Next()
	another := `{"stream_name":"` + unused + `","config":{}}`
	subscribe := func(queue string) func(context.Context, string) error {
		return func(ctx context.Context, subject string) error {
			var sub *nats.Subscription
			var err error
			if queue == "" {
				sub, err = nc.SubscribeSync(subject)
			} else {
				sub, err = nc.QueueSubscribeSync(subject, queue)
			}
			if err == nil {
				err = nc.FlushWithContext(ctx)
			}
			if sub != nil {
				_ = sub.Unsubscribe() // fails once the server has refused it
			}
			return err
		}
	}
	publish := func(body, header string) func(context.Context, string) error {
		return func(ctx context.Context, subject string) error {
			m := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
			if header != "" {
				m.Header.Set(header, unused)
			}
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
			return nc.FlushWithContext(ctx)
		}
	}
	type attempt struct {
		does, subject string
		try           func(ctx context.Context, subject string) error
	}
	tries := []attempt{
		{"answering requests", l.Prefix.Request(subjects.HookBeforePromptBuild, unused), subscribe(l.QueueGroup)},
		{"hearing of other consumers' answers", l.Prefix.Runs(), subscribe("")},
		{"being found by nats micro", "$SRV.PING." + unused, subscribe("")},
		// The stream refuses a message that expects another stream.
		{"publishing turns", l.Prefix.Event(subjects.HookTurnBegun, unused, unused), publish("", jetstream.ExpectedStreamHeader)},
		{"publishing dead letters", l.Prefix.DeadLetter(unused), publish("", jetstream.ExpectedStreamHeader)},
		{"looking at the stream", "$JS.API.STREAM.INFO." + l.Stream, publish("", "")},
		// The server refuses a request of another stream.
		{"reading the stream", "$JS.API.CONSUMER.CREATE." + l.Stream + "." + unused, publish(another, "")},
		{"reading the events of a session", "$JS.API.CONSUMER.CREATE." + l.Stream + "." + unused + "." + l.Prefix.EventsOfSession(unused), publish(another, "")},
		{"ending a read", "$JS.API.CONSUMER.DELETE." + l.Stream + "." + unused, publish("", "")},
	}
	for _, d := range l.Durables() {
		tries = append(tries,
			// Not a request that the server understands, not an acknowledgement.
			attempt{"pulling events", "$JS.API.CONSUMER.MSG.NEXT." + l.Stream + "." + d.Name, publish("{", "")},
			attempt{"acknowledging events", "$JS.ACK." + l.Stream + "." + d.Name + "." + unused, publish("", "")},
		)
	}
	for _, b := range buckets {
		name := b.Config.Bucket
		tries = append(tries,
			attempt{"looking at bucket " + name, "$JS.API.STREAM.INFO." + BucketStream(name), publish("", "")},
			attempt{"writing to bucket " + name, "$KV." + name + "." + unused, publish("", jetstream.ExpectedStreamHeader)},
		)
		if b.Followed {
			tries = append(tries, attempt{"following bucket " + name, "$JS.API.CONSUMER.CREATE." + BucketStream(name) + "." + unused + ".$KV." + name + ".>", publish(another, "")})
		}
	}
	var out []Right
	for _, t := range tries {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		err := t.try(ctx, t.subject)
		cancel()
		if err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
			return out, err
		}
		// The server tells a refusal before it answers the flush.
		refusal := nc.LastError()
		if refusal == nil || !errors.Is(refusal, nats.ErrPermissionViolation) || !strings.Contains(refusal.Error(), `"`+t.subject+`"`) {
			refusal = nil
		}
		out = append(out, Right{t.does, t.subject, refusal})
	}
	return out, nil
}
