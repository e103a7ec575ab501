// Package access keeps what lets people and processes of this machine in: the token
// of the pages and of the HTTP API (contract §9, "Who may come in").
package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tokenFile is the name of the token's file in the data directory.
const tokenFile = "token"

// errEmpty reports a token file without a token, with which anybody could come in.
var errEmpty = errors.New("holds no token; remove it, and the next start makes one")

// ReadToken returns the token in a data directory. The error wraps [fs.ErrNotExist] if
// no process has been started there yet.
func ReadToken(dir string) (string, error) {
	path := filepath.Join(dir, tokenFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s %w", path, errEmpty)
	}
	return token, nil
}

// MakeToken returns the token in a data directory, and makes a missing one. Of
// several processes that start at once, all return the same token.
func MakeToken(dir string) (string, error) {
	token, err := ReadToken(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := createFile(dir, tokenFile, []byte(rand.Text()+"\n")); err != nil {
		return "", err
	}
	return ReadToken(dir)
}

// createFile writes a file that only this user can read, whole or not at all. A file
// that is there already, also one that another process just made, stays.
func createFile(dir, name string, data []byte) error {
	temp, err := os.CreateTemp(dir, name+".tmp-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err = os.Link(temp.Name(), filepath.Join(dir, name)); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
