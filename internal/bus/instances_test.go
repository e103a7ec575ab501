package bus

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInstances(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	none, err := Instances(t.Context(), client(t, b), "intent-hint")
	require.NoError(t, err)
	require.Empty(t, none)

	began := time.Now().Add(-time.Second)
	ids := map[string]bool{}
	for range 3 {
		s, err := StartService(t.Context(), client(t, b), ServiceOptions{
			Layout: testLayout(), Name: "intent-hint", Version: "1.2.3", Metadata: map[string]string{"fold": "7"}, Log: quiet,
		}, endpointOf("before_prompt_build", Bound{}, func(context.Context, Request) Reply { return Reply{} }))
		require.NoError(t, err)
		ids[s.ID()] = true
	}
	all, err := Instances(t.Context(), client(t, b), "intent-hint")
	require.NoError(t, err)
	require.Len(t, all, 3)
	for _, i := range all {
		require.True(t, ids[i.ID], i.ID)
		require.Equal(t, "7", i.Metadata["fold"])
		require.WithinRange(t, i.Started, began, time.Now())
	}
}
