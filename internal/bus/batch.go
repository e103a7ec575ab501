package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Headers of an atomic batch (nats-server 2.12).
const (
	batchIDHeader     = "Nats-Batch-Id"
	batchSeqHeader    = "Nats-Batch-Sequence"
	batchCommitHeader = "Nats-Batch-Commit"
)

// errBatchDisabled: the stream was made without AllowAtomicPublish.
const errBatchDisabled jetstream.ErrorCode = 10174

// batchAck is what the server answers to the last message of a batch. One that
// knows no batches gives no Batch.
type batchAck struct {
	Error *jetstream.APIError `json:"error"`
	Batch string              `json:"batch"`
	Count int                 `json:"count"`
}

// publishBatch sends messages that the stream takes as a whole or not at all,
// and waits for its answer. The messages keep no trace of the batch.
func publishBatch(nc *nats.Conn, messages []*nats.Msg, patience time.Duration) (batchAck, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		for _, m := range messages {
			for _, name := range []string{batchIDHeader, batchSeqHeader, batchCommitHeader} {
				m.Header.Del(name)
			}
		}
	}()
	id := nuid.Next()
	for i, m := range messages {
		m.Header.Set(batchIDHeader, id)
		m.Header.Set(batchSeqHeader, strconv.Itoa(i+1))
		if i < len(messages)-1 {
			if err := nc.PublishMsg(m); err != nil {
				return batchAck{}, err
			}
			continue
		}
		m.Header.Set(batchCommitHeader, "1")
		reply, err := nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return batchAck{}, err
		}
		var ack batchAck
		if err := json.Unmarshal(reply.Data, &ack); err != nil {
			return batchAck{}, fmt.Errorf("answer to a batch: %w", err)
		}
		return ack, nil
	}
	return batchAck{}, nil
}
