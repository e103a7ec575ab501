package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnknownKindWritesNothing(t *testing.T) {
	into := t.TempDir()
	require.EqualError(t, run(t.Context(), into, "", false, []string{"vectors", "model"}), `"model" is none of encoder, vectors, classifier, trust, safety`)
	require.NoDirExists(t, tree{root: into}.path("classify"))
}

func TestQuickDoesNotWriteIntoTheRepository(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), "..", "", true, []string{"safety"}), "-quick needs -into")
}

func TestAlike(t *testing.T) {
	tests := []struct {
		name string
		a, b []float32
		want bool
	}{
		{"the same", []float32{0.6, 0.8}, []float32{0.6, 0.8}, true},
		{"rounded", []float32{0.6, 0.8}, []float32{0.604, 0.8}, true},
		{"another", []float32{0.6, 0.8}, []float32{0.8, 0.6}, false},
		{"of another length", []float32{0.6, 0.8}, []float32{0.6}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, alike(tt.a, tt.b))
		})
	}
}
