package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheBillOfABinary(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "intenthint", Version: "v1"}, Deps: []*debug.Module{
		{Path: "a.example/b", Version: "v1.2.3"},
		{Path: "c.example/d", Version: "v1", Replace: &debug.Module{Path: "e.example/d", Version: "v2"}},
	}}
	require.Equal(t, []component{
		{"library", "a.example/b", "v1.2.3", "pkg:golang/a.example/b@v1.2.3"},
		{"library", "e.example/d", "v2", "pkg:golang/e.example/d@v2"},
		{"library", "std", "go1.26.8", "pkg:golang/std@go1.26.8"},
	}, billOf(info).Components)

	self, err := os.Executable()
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, run([]string{self}, &out))
	var b bill
	require.NoError(t, json.Unmarshal(out.Bytes(), &b))
	require.Equal(t, "CycloneDX", b.Format)
	require.Equal(t, runtime.Version(), b.Components[len(b.Components)-1].Version)
	require.Error(t, run(nil, &out))
}
