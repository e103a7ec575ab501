package encoder

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newEmbedder(t *testing.T, places int) *Embedder {
	t.Helper()
	e, err := NewEmbedder(places, 2)
	require.NoError(t, err)
	return e
}

func TestAnEmbedderReadsLowerCase(t *testing.T) {
	e := newEmbedder(t, 2)
	const upper, lower = "Is It RAINING", "is it raining"
	got, err := e.Vectors(t.Context(), []string{upper, lower})
	require.NoError(t, err)
	require.Equal(t, got[lower], got[upper])
	require.Equal(t, e.Fits(lower), e.Fits(upper))
	many, _, err := e.Embed(t.Context(), []string{lower, "play some jazz", upper})
	require.NoError(t, err)
	require.Equal(t, got[lower], many[0])
	require.Equal(t, got[lower], many[2])
	require.NotEqual(t, got[lower], many[1])
}

func TestAnEmbedderRemembers(t *testing.T) {
	e := newEmbedder(t, 1)
	texts := []string{"is it raining"}
	before, err := e.Vectors(t.Context(), texts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := e.Vectors(ctx, texts)
	require.NoError(t, err)
	require.Equal(t, before, again)
	_, err = e.Vectors(ctx, []string{"is it snowing"})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = e.Embed(ctx, []string{"is it snowing", "is it cold"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnEmbedderForgetsWhatWasAskedForLongest(t *testing.T) {
	e := newEmbedder(t, 1) // remembers two texts
	for _, text := range []string{"is it raining", "is it snowing", "is it raining", "is it cold"} {
		_, err := e.Vectors(t.Context(), []string{text})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := e.Vectors(ctx, []string{"is it raining", "is it cold"})
	require.NoError(t, err)
	_, err = e.Vectors(ctx, []string{"is it snowing"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnEmbedderHasOnlyItsPlaces(t *testing.T) {
	e := newEmbedder(t, 1)
	e.places <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := e.Vectors(ctx, []string{"is it raining"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-e.places
	_, err = e.Vectors(t.Context(), []string{"is it raining"})
	require.NoError(t, err)
}

func TestATextThatWouldBeLateIsNotBegun(t *testing.T) {
	e := newEmbedder(t, 1)
	e.pace.Store(int64(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := e.Vectors(ctx, []string{"is it raining"})
	require.ErrorIs(t, err, errSlow)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, e.pace.Load(), int64(time.Hour), "a slow moment is forgotten")
	_, err = e.Vectors(t.Context(), []string{"is it raining"})
	require.NoError(t, err, "without a deadline it takes its time")
}

func TestAnEmbedderRefusesATextWithoutWords(t *testing.T) {
	_, err := newEmbedder(t, 1).Vectors(t.Context(), []string{strings.Repeat(" ", 3)})
	require.ErrorContains(t, err, "no words")
}
