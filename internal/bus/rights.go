package bus

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"intenthint/internal/access"
	"intenthint/subjects"
)

// Right is a permission that a consumer process needs.
type Right struct {
	// Does is what the permission is for, Subject the subject that was tried.
	Does, Subject string
	// Err is the server's refusal, nil for none.
	Err error
}

// attempt is a permission and how it is tried.
type attempt struct {
	does, subject string
	try           func(ctx context.Context, subject string) error
}

// Rights tries the permissions that a user of a kind needs, of the NATS user of nc: as
// is [access.Consumer], [access.Operator] or [access.Gateway]. buckets are those that
// consumers use. It changes nothing: its messages are refused by the stream, not
// understood or heard by nobody, and its subscriptions end at once.
func Rights(ctx context.Context, nc *nats.Conn, as string, l Layout, buckets ...Bucket) ([]Right, error) {
	unused := "doctor-" + nuid.Next()
	var tries []attempt
	switch as {
	case access.Gateway:
		tries = gatewayRights(nc, l, unused)
	case access.Operator:
		tries = operatorRights(nc, l, unused, buckets)
	default:
		tries = consumerRights(nc, l, unused, buckets)
	}
	var out []Right
	for _, t := range tries {
		r, err := t.of(ctx, nc)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// MayCreate returns the server's refusal if the NATS user of nc may not create a
// missing target, nil if it may. It creates nothing.
func MayCreate(ctx context.Context, nc *nats.Conn, l Layout, t Target) error {
	subject := "$JS.API.STREAM.CREATE." + t.Name
	switch t.Kind {
	case KindBucket:
		subject = "$JS.API.STREAM.CREATE." + BucketStream(t.Name)
	case KindDurable:
		subject = "$JS.API.CONSUMER.CREATE." + l.Stream + "." + t.Name
	}
	r, err := attempt{"creating", subject, publishing(nc, noRequest, "")}.of(ctx, nc)
	return cmp.Or(err, r.Err)
}

// of tries a permission.
func (t attempt) of(ctx context.Context, nc *nats.Conn) (Right, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := t.try(ctx, t.subject)
	if err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
		return Right{}, err
	}
	// The server tells a refusal before it answers the flush.
	refusal := nc.LastError()
	if refusal == nil || !errors.Is(refusal, nats.ErrPermissionViolation) || !strings.Contains(refusal.Error(), `"`+t.subject+`"`) {
		refusal = nil
	}
	return Right{t.does, t.subject, refusal}, nil
}

// noRequest is a body that no call of the JetStream API understands.
const noRequest = "{"

// publishing returns a try that publishes a message. header, if not "", is set to the
// name of a stream that does not exist.
func publishing(nc *nats.Conn, body, header string) func(context.Context, string) error {
	return func(ctx context.Context, subject string) error {
		m := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
		if header != "" {
			m.Header.Set(header, "doctor-"+nuid.Next())
		}
		if err := nc.PublishMsg(m); err != nil {
			return err
		}
		return nc.FlushWithContext(ctx)
	}
}

// subscribing returns a try that subscribes, in a queue group unless it is "".
func subscribing(nc *nats.Conn, queue string) func(context.Context, string) error {
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

// anotherStream is a request that a server refuses, because the subject names another
// stream.
func anotherStream(unused string) string { return `{"stream_name":"` + unused + `","config":{}}` }

func gatewayRights(nc *nats.Conn, l Layout, unused string) []attempt {
	return []attempt{
		// No consumer handles a hook of this name.
		{"asking", l.Prefix.Request(unused, unused), publishing(nc, "", "")},
		// The stream refuses a message that expects another stream.
		{"publishing events", l.Prefix.Event(subjects.HookAgentEnd, unused, unused), publishing(nc, "", jetstream.ExpectedStreamHeader)},
		{"receiving replies", nc.NewInbox(), subscribing(nc, "")},
	}
}

func operatorRights(nc *nats.Conn, l Layout, unused string, buckets []Bucket) []attempt {
	out := append(gatewayRights(nc, l, unused),
		attempt{"finding consumers", "$SRV.PING." + unused, publishing(nc, "", "")},
		attempt{"looking at the stream", "$JS.API.STREAM.INFO." + l.Stream, publishing(nc, "", "")},
		attempt{"creating the stream", "$JS.API.STREAM.CREATE." + l.Stream, publishing(nc, noRequest, "")},
		attempt{"changing the stream", "$JS.API.STREAM.UPDATE." + l.Stream, publishing(nc, noRequest, "")},
		attempt{"backing the stream up", "$JS.API.STREAM.SNAPSHOT." + l.Stream, publishing(nc, noRequest, "")},
		attempt{"acknowledging a backup", "$JS.SNAPSHOT.ACK." + l.Stream + "." + unused, publishing(nc, "", "")},
		attempt{"reading the stream", "$JS.API.CONSUMER.CREATE." + l.Stream + "." + unused, publishing(nc, anotherStream(unused), "")},
		attempt{"reading dead letters", "$JS.API.CONSUMER.CREATE." + l.DeadLetterStream() + "." + unused, publishing(nc, anotherStream(unused), "")},
	)
	for _, b := range buckets {
		name := b.Config.Bucket
		out = append(out,
			attempt{"creating bucket " + name, "$JS.API.STREAM.CREATE." + BucketStream(name), publishing(nc, noRequest, "")},
			attempt{"writing to bucket " + name, "$KV." + name + "." + unused, publishing(nc, "", jetstream.ExpectedStreamHeader)},
		)
	}
	return out
}

func consumerRights(nc *nats.Conn, l Layout, unused string, buckets []Bucket) []attempt {
	another := anotherStream(unused)
	out := []attempt{
		{"answering requests", l.Prefix.Request(subjects.HookBeforePromptBuild, unused), subscribing(nc, l.QueueGroup)},
		{"hearing of other consumers' answers", l.Prefix.Runs(), subscribing(nc, "")},
		{"being found by nats micro", "$SRV.PING." + unused, subscribing(nc, "")},
		{"seeing consumers of other versions", "$SRV.STATS." + unused, publishing(nc, "", "")},
		{"being seen by consumers of other versions", nc.NewInbox(), publishing(nc, "", "")},
		// The stream refuses a message that expects another stream.
		{"publishing turns", l.Prefix.Event(subjects.HookTurnBegun, unused, unused), publishing(nc, "", jetstream.ExpectedStreamHeader)},
		{"publishing dead letters", l.Prefix.DeadLetter(unused), publishing(nc, "", jetstream.ExpectedStreamHeader)},
		{"looking at the stream", "$JS.API.STREAM.INFO." + l.Stream, publishing(nc, "", "")},
		{"reading the stream", "$JS.API.CONSUMER.CREATE." + l.Stream + "." + unused, publishing(nc, another, "")},
		{"reading the events of a session", "$JS.API.CONSUMER.CREATE." + l.Stream + "." + unused + "." + l.Prefix.EventsOfSession(unused), publishing(nc, another, "")},
		{"ending a read", "$JS.API.CONSUMER.DELETE." + l.Stream + "." + unused, publishing(nc, "", "")},
	}
	for _, d := range l.Durables() {
		out = append(out,
			// Not a request that the server understands, not an acknowledgement.
			attempt{"pulling events", "$JS.API.CONSUMER.MSG.NEXT." + l.Stream + "." + d.Name, publishing(nc, noRequest, "")},
			attempt{"acknowledging events", "$JS.ACK." + l.Stream + "." + d.Name + "." + unused, publishing(nc, "", "")},
		)
	}
	for _, b := range buckets {
		name := b.Config.Bucket
		out = append(out,
			attempt{"looking at bucket " + name, "$JS.API.STREAM.INFO." + BucketStream(name), publishing(nc, "", "")},
			attempt{"writing to bucket " + name, "$KV." + name + "." + unused, publishing(nc, "", jetstream.ExpectedStreamHeader)},
		)
		if b.Followed {
			out = append(out, attempt{"following bucket " + name, "$JS.API.CONSUMER.CREATE." + BucketStream(name) + "." + unused + ".$KV." + name + ".>", publishing(nc, another, "")})
		}
	}
	return out
}
