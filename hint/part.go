package hint

import (
	"intenthint/hint/run"
	"intenthint/internal/bus"
	"intenthint/part"
)

// Needs returns the bucket of claims, which is needed only where models are asked.
func Needs(l bus.Layout) part.Needs {
	return part.Needs{Buckets: []bus.Bucket{{Config: run.Bucket(l)}}}
}
