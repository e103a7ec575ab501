// Package batch sends atomic batches of messages to a stream (nats-server 2.12).
package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	idHeader     = "Nats-Batch-Id"
	seqHeader    = "Nats-Batch-Sequence"
	commitHeader = "Nats-Batch-Commit"
)

// CodeDisabled is the error code of a stream without AllowAtomicPublish.
const CodeDisabled jetstream.ErrorCode = 10174

// codeInvalidJSON is the error code of a server for an unknown field.
const codeInvalidJSON jetstream.ErrorCode = 10025

// CreateStream creates a stream that accepts batches, or a plain one if the
// server is older than 2.12. [jetstream.ErrStreamNameAlreadyInUse] and all
// other errors are the server's.
func CreateStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) (jetstream.Stream, error) {
	config.AllowAtomicPublish = true
	s, err := js.CreateStream(ctx, config)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == codeInvalidJSON {
		config.AllowAtomicPublish = false
		return js.CreateStream(ctx, config)
	}
	return s, err
}

// ErrNotSent reports a batch whose last message did not reach a stream, so that
// none of it is written.
var ErrNotSent = errors.New("batch not sent as a whole")

// Ack is the answer of the server to the last message of a batch.
type Ack struct {
	Error *jetstream.APIError `json:"error"`
	// ID is the batch id; "" from a server without batch support, which has
	// stored the messages one by one.
	ID    string `json:"batch"`
	Count int    `json:"count"`
	// Sequence is the stream sequence of the last message. The other messages have
	// the sequences before it.
	Sequence uint64 `json:"seq"`
}

// Publish sends messages that the stream stores atomically, and waits for its
// answer. Their headers must not be nil and are restored afterwards. After an
// error other than [ErrNotSent] it is unknown whether the batch was stored.
func Publish(ctx context.Context, nc *nats.Conn, messages []*nats.Msg) (Ack, error) {
	defer func() {
		for _, m := range messages {
			for _, name := range []string{idHeader, seqHeader, commitHeader} {
				m.Header.Del(name)
			}
		}
	}()
	id := nuid.Next()
	for i, m := range messages {
		m.Header.Set(idHeader, id)
		m.Header.Set(seqHeader, strconv.Itoa(i+1))
		if i < len(messages)-1 {
			if err := nc.PublishMsg(m); err != nil {
				return Ack{}, fmt.Errorf("%w: %w", ErrNotSent, err)
			}
			continue
		}
		m.Header.Set(commitHeader, "1")
		reply, err := nc.RequestMsgWithContext(ctx, m)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrMaxPayload) {
			err = fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		if err != nil {
			return Ack{}, err
		}
		var ack Ack
		if err := json.Unmarshal(reply.Data, &ack); err != nil {
			return Ack{}, fmt.Errorf("decoding answer to batch: %w", err)
		}
		return ack, nil
	}
	return Ack{}, nil
}
