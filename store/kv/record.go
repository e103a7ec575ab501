package kv

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"intenthint/internal/kv"
	"intenthint/store"
)

// Keys of a session, beside its token:
//
//   - <token>.h.<run> is a turn that was retired from the document;
//   - <key>.c.<name> is a chunk of the value of a key;
//   - <key>.x.<unix ms> is a corrupt value, set aside;
//   - _.lost.<token>.<mark> marks a session to rebuild;
//   - _.removed.<session>.<part> has hashes of runs of a removed session, which
//     late events do not begin again.
const (
	turnKey  = ".h."
	chunkKey = ".c."
	asideKey = ".x."
)

// record is the content of a key, in however many messages.
type record struct {
	key      string
	revision uint64 // 0: never written
	time     time.Time
	data     []byte // nil: deleted, or never written
	chunks   []string
}

// Chunks of an overwritten value are purged soon after. A reader that misses
// one reads the value again; if the value is unchanged, the chunk is lost.
const (
	readAttempts = 10
	strayAge     = 10 * time.Minute
)

// read reads a record. If it cannot be assembled, the error is of kind
// [store.ErrCorrupt] and the record has only its revision.
func (b *bucket) read(ctx context.Context, key string) (record, error) {
	var before uint64
	for range readAttempts {
		m, err := b.get(ctx, key)
		if err != nil {
			return record{}, err
		}
		r, missing, err := b.assemble(ctx, m)
		if missing == "" || err != nil {
			return r, err
		}
		if m.revision == before {
			return r, fmt.Errorf("%w: chunk %s is missing", store.ErrCorrupt, missing)
		}
		before = m.revision
	}
	return record{}, fmt.Errorf("%s changed during every read", key)
}

// recordOf returns the record of a message from a walk, or the present one of
// its key if it was overwritten since.
func (b *bucket) recordOf(ctx context.Context, m message) (record, error) {
	r, missing, err := b.assemble(ctx, m)
	if missing != "" {
		return b.read(ctx, m.key)
	}
	return r, err
}

// assemble puts a record together, unless a chunk is missing.
func (b *bucket) assemble(ctx context.Context, m message) (r record, missing string, err error) {
	r = record{key: m.key, revision: m.revision, time: m.time, chunks: chunksOf(m.value)}
	if m.value == nil {
		return r, "", nil
	}
	if r.chunks == nil {
		r.data, err = unpack(m.value)
		return r, "", err
	}
	var data []byte
	for _, name := range r.chunks {
		chunk, err := b.get(ctx, m.key+chunkKey+name)
		if err != nil {
			return r, "", err
		}
		if chunk.value == nil {
			return r, name, nil
		}
		piece, err := unpack(chunk.value)
		if err != nil {
			return r, "", err
		}
		if !strings.HasPrefix(name, sumOf(piece)) {
			return r, "", fmt.Errorf("%w: chunk %s does not match its checksum", store.ErrCorrupt, name)
		}
		data = append(data, piece...)
	}
	r.data = data
	return r, "", nil
}

// write writes data over a record and returns the new one, without the data.
// Data too large for one message is first written as chunks. The message under
// the key itself commits the write: before it nothing has changed, and after it
// nothing refers to the old chunks.
func (b *bucket) write(ctx context.Context, over record, data []byte) (record, error) {
	out := record{key: over.key}
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	value := pack(*buf, data)
	*buf = value
	if limit := b.limit(); len(value) > limit || len(data) > maxData {
		var err error
		if out.chunks, err = b.writeChunks(ctx, over.key, data, limit-1); err != nil {
			return record{}, err
		}
		if value = packChunks(out.chunks); len(value) > limit {
			return record{}, fmt.Errorf("session of %d bytes too large for messages of %d bytes", len(data), limit)
		}
	}
	var err error
	out.revision, err = b.put(ctx, over.key, value, over.revision)
	if kv.IsConflict(err) {
		// These chunks are unused, unless the conflict is with this very value,
		// whose acknowledgement was lost.
		if now, getErr := b.get(ctx, over.key); getErr == nil {
			b.purgeChunks(ctx, over.key, out.chunks, chunksOf(now.value))
		}
	}
	if err != nil {
		return record{}, err
	}
	b.purgeChunks(ctx, over.key, over.chunks, nil)
	return out, nil
}

// writeChunks writes data in pieces of at most most bytes. The name of a chunk
// identifies its content and its writer: no other attempt uses it, so it can be
// purged if the attempt fails.
func (b *bucket) writeChunks(ctx context.Context, key string, data []byte, most int) (names []string, err error) {
	for piece := range slices.Chunk(data, most) {
		name := sumOf(piece) + nuid.Next()
		if _, err := b.put(ctx, key+chunkKey+name, pack(nil, piece), 0); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// purgeChunks removes unused chunks of a key. The sweep finds any that remain.
func (b *bucket) purgeChunks(ctx context.Context, key string, chunks, used []string) {
	for _, name := range chunks {
		if !slices.Contains(used, name) {
			_ = b.purge(ctx, key+chunkKey+name, anyRevision)
		}
	}
}

// anyRevision is above all revisions; a purge takes 0 as no limit.
const anyRevision = 0
