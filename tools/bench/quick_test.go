package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuick runs the shortest benchmark in processes of its own, as a user does,
// and checks that every table is complete. It does not check the figures.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	dir := t.TempDir()
	bench := filepath.Join(dir, "bench")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bench, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), bench, "-quick", "-json", "-dir", dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", &stderr)
	left, err := filepath.Glob(filepath.Join(dir, "intenthint-bench-*"))
	require.NoError(t, err)
	require.Empty(t, left, "no temporary directory is left")

	var report struct {
		Date       string `json:"date"`
		CPUs       int    `json:"cpus"`
		Go         string `json:"go"`
		NATSServer string `json:"natsServer"`
		Tables     []struct {
			Title   string   `json:"title"`
			Columns []string `json:"columns"`
			Rows    [][]any  `json:"rows"`
		} `json:"tables"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report))
	require.NotEmpty(t, report.Date)
	require.Positive(t, report.CPUs)
	require.NotEmpty(t, report.Go)
	require.NotEmpty(t, report.NATSServer)
	rows := map[string]int{
		"Round trip of a hint":                                    2 * 2 * 3,
		"Of which in the consumer":                                2 * 2,
		"4 requesters at once":                                    2,
		"Events into sessions":                                    2 * 2 * 2,
		"Memory of one consumer":                                  2 * 2,
		"Interleaved sessions":                                    (1 + 2*2) * 2,
		"Events of long sessions: 30 turns against 2, store file": 5,
		"Events of long sessions: 30 turns against 2, store kv":   5,
		"Start": 4,
	}
	require.Len(t, report.Tables, len(rows))
	for _, table := range report.Tables {
		require.Len(t, table.Rows, rows[table.Title], table.Title)
		for _, row := range table.Rows {
			require.Len(t, row, len(table.Columns), table.Title)
			for i, column := range table.Columns {
				// Processor time is counted in hundredths of a second, and on
				// Linux only: it may be unknown.
				if figure, known := row[i].(float64); known {
					require.Positive(t, figure, "%s: %s of %v", table.Title, column, row[0])
				}
			}
		}
		if i := len(table.Columns) - 1; table.Columns[i] == "ratio" {
			require.IsType(t, 0.0, table.Rows[0][i], "%s: unknown first ratio", table.Title)
		}
	}
}
