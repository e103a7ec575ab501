package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// safetyModel trains the model that finds prompt injections, which takes two to
// eight minutes. Training is a test of package safety: it has the package's
// features, and is measured by its tests.
func safetyModel(ctx context.Context, into tree) error {
	folder := into.path("knowhub/safety")
	if err := os.MkdirAll(filepath.Join(folder, "testdata"), 0o750); err != nil {
		return err
	}
	train := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout", "1h", "-run", "^TestTrain$", "-short="+strconv.FormatBool(into.quick), "intenthint/knowhub/safety", "-train", folder) //nolint:gosec // a folder that the user names
	train.Stdout, train.Stderr = os.Stdout, os.Stderr
	return train.Run()
}
