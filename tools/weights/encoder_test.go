package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPieceWithoutAScoreHasThatOfThePieceBefore(t *testing.T) {
	const reserved = `["�",0],["<s>",0],["</s>",0],["x",0],["y",0],["z",0]`
	got, err := readPieces([]byte(`[` + reserved + `,[".",-3.5],[":",null],["://",0],["s",-4]]`))
	require.NoError(t, err)
	require.Equal(t, []piece{{".", -3.5}, {":", -3.5}, {"://", -3.5}, {"s", -4}}, got[6:])
	require.Zero(t, got[0].score)
}

func TestRoundingKeepsTheGreatestNumbers(t *testing.T) {
	m := &weights{tensors: map[string][]float32{"a": {1, -2, 0.5, 0}, "bias": {7, 8}}}
	e := &writer{weights: m}
	e.matrix("a", "bias", 2, 2)
	require.NoError(t, e.err)
	data := e.out.Bytes()
	require.Len(t, data, 2*4+4+2*4)
	require.Equal(t, []int8{127, -127, 64, 0}, []int8{int8(data[8]), int8(data[9]), int8(data[10]), int8(data[11])})
	e.matrix("missing", "bias", 2, 2)
	require.ErrorContains(t, e.err, "missing")
}
