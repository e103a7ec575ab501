// Package licenses holds the licence texts of everything in the binary: the program,
// its modules, and Go.
package licenses

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

//go:generate go run generate.go

//go:embed licenses.txt.gz
var packed []byte

// Write writes the texts, each below the names and versions of what it is for.
func Write(w io.Writer) error {
	texts, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, texts) //nolint:gosec // of the binary itself
	return err
}
