package access

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"intenthint/internal/atomicfile"
)

// Names of the users that an embedded server makes, and of their contexts.
const (
	Operator = "operator" // may do what commands need
	Gateway  = "gateway"  // may do what contract §2 gives a gateway
	Consumer = "consumer" // for consumers that join
)

// userNames are all of them.
var userNames = []string{Operator, Gateway, Consumer}

// Context is a context of the nats command line: a server, and as whom to connect to
// it. Without authentication it has no user.
type Context struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url"`
	User        string `json:"user,omitempty"`
	Password    string `json:"password,omitempty"`
}

// contextsDir is the folder of the contexts in the data directory.
const contextsDir = "nats"

// ContextFile returns the file of a user's context in a data directory.
func ContextFile(dataDir, user string) string {
	return filepath.Join(dataDir, contextsDir, user+".json")
}

// ErrNoContext reports a context that has no password of its user: it was damaged, or is
// not one of those that were made.
var ErrNoContext = errors.New("is not the NATS context of a user that was made here")

// ReadContext returns the context of a user in a data directory. The error wraps
// [fs.ErrNotExist] if there is none, [ErrNoContext] if it cannot be used.
func ReadContext(dataDir, user string) (Context, error) {
	path := ContextFile(dataDir, user)
	data, err := os.ReadFile(path)
	if err != nil {
		return Context{}, err
	}
	var c Context
	if err := json.Unmarshal(data, &c); err != nil || c.User != user || c.Password == "" {
		return Context{}, fmt.Errorf("%s %w", path, ErrNoContext)
	}
	return c, nil
}

// Passwords returns the passwords of all users, by name: those of the contexts in the
// data directory, and new ones where there are none. damaged are the contexts that are
// there and cannot be used; [WriteContexts] replaces them.
func Passwords(dataDir string) (passwords map[string]string, damaged []error, err error) {
	passwords = make(map[string]string, len(userNames))
	for _, user := range userNames {
		c, err := ReadContext(dataDir, user)
		switch {
		case errors.Is(err, ErrNoContext):
			damaged = append(damaged, err)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, nil, err
		}
		passwords[user] = c.Password
		if c.Password == "" {
			passwords[user] = rand.Text()
		}
	}
	return passwords, damaged, nil
}

// WriteContexts writes the contexts of all users, readable by this user alone. One that
// is as it should be stays untouched.
func WriteContexts(dataDir, url string, passwords map[string]string) error {
	if err := os.MkdirAll(filepath.Join(dataDir, contextsDir), 0o700); err != nil {
		return err
	}
	for _, user := range userNames {
		if err := write(ContextFile(dataDir, user), Context{Description: "intenthint, " + user, URL: url, User: user, Password: passwords[user]}); err != nil {
			return err
		}
	}
	return nil
}

// write writes a context, unless the file holds it already and is readable by this user
// alone.
func write(path string, c Context) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 == 0 {
		if present, err := os.ReadFile(path); err == nil && string(present) == string(data) {
			return nil
		}
	}
	return atomicfile.Write(path, filepath.Base(path)+".tmp-*", data, 0o600)
}

const (
	// sharedName is the context that gateways on this machine and the nats command line
	// find by themselves (contract §9).
	sharedName = "intenthint"
	// sharedMark begins the description of such a context that a consumer wrote.
	sharedMark = "Written by intenthint "
)

// ErrNotOurs reports a context of the user's that no consumer wrote, or that was
// changed since: it is not replaced.
var ErrNotOurs = errors.New("holds a NATS context that intenthint did not write")

// ShareContext puts the gateway's context among the contexts of the nats command line,
// which are in dir; a password of "" is for a server that asks for no user. It replaces
// only a context that a consumer wrote, and makes none without a password. The error
// wraps [ErrNotOurs] if another one is there.
func ShareContext(dir, dataDir, url, password string) error {
	path := filepath.Join(dir, sharedName+".json")
	present, err := os.ReadFile(path)
	var old Context
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if password == "" {
			return nil
		}
	case err != nil:
		return err
	case len(strings.TrimSpace(string(present))) == 0:
	case json.Unmarshal(present, &old) != nil || !strings.HasPrefix(old.Description, sharedMark):
		if password == "" {
			return nil
		}
		return fmt.Errorf("%s %w", path, ErrNotOurs)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	c := Context{Description: sharedMark + "for gateways, from " + dataDir, URL: url}
	if password != "" {
		c.User, c.Password = Gateway, password
	}
	return write(path, c)
}
