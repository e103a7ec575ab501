package app

import (
	"context"
	"log/slog"

	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// searched is the SQLite index as KnowHub reads it.
type searched struct{ *index.Index }

var _ knowhub.Index = searched{}

func openIndex(ctx context.Context, path string, log *slog.Logger) (knowhub.Index, error) {
	x, err := index.Open(ctx, path, log)
	if err != nil {
		return nil, err
	}
	return searched{x}, nil
}

// Apply implements [bucket.Follower].
func (s searched) Apply(ctx context.Context, changes []bucket.Change) error {
	out := make([]index.Change, len(changes))
	for i, c := range changes {
		out[i] = index.Change(c)
	}
	return s.Index.Apply(ctx, out)
}

// Put implements [knowhub.Index].
func (s searched) Put(ctx context.Context, c bucket.Change) error {
	return s.Index.Put(ctx, index.Change(c))
}

// Search implements [knowhub.Index].
func (s searched) Search(ctx context.Context, q knowhub.Query) ([]knowhub.Hit, error) {
	hits, err := s.Index.Search(ctx, index.Query{Text: q.Text, AgentID: q.AgentID, Unowned: q.Unowned, Prompt: q.Prompt, Limit: q.Limit})
	return hitsOf(hits), err
}

// Near implements [knowhub.Index].
func (s searched) Near(ctx context.Context, e experience.Experience, own bool) ([]knowhub.Hit, error) {
	hits, err := s.Index.Near(ctx, e, own)
	return hitsOf(hits), err
}

func hitsOf(hits []index.Hit) []knowhub.Hit {
	out := make([]knowhub.Hit, len(hits))
	for i, h := range hits {
		out[i] = knowhub.Hit(h)
	}
	return out
}
