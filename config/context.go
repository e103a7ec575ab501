package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"
)

const (
	fieldContext    = "natsContext"
	variableContext = envPrefix + "_NATS_CONTEXT"
)

// ofContext are the settings that a context of the nats command line holds too. The
// variable that names it wins over their values in a file, their own variables over it.
var ofContext = []string{"natsUrl", "natsCreds", "natsNkey", "natsCa", "natsCert", "natsKey", "natsTlsFirst", "natsInboxPrefix"}

// useContext takes the servers and the inbox prefix from the context that
// HINT_NATS_CONTEXT names, and makes its name a path; the rest of it is used by the
// connection.
func (c *Config) useContext(given map[string]Problem) error {
	if c.Bus.Context == "" {
		return nil
	}
	path, err := c.contextFile(c.Bus.Context)
	if err != nil {
		return err
	}
	o, err := readContext(path)
	if err != nil {
		return fmt.Errorf("must be a context of the nats command line (%s: %s)", path, plainError(err))
	}
	c.Bus.Context = path
	if _, set := given["natsUrl"]; !set {
		if c.Bus.URLs, err = natsURLs(strings.Join(o.Servers, ",")); err != nil {
			return fmt.Errorf("must be a context of the nats command line (%s: its url %w)", path, err)
		}
	}
	if _, set := given["natsInboxPrefix"]; !set && o.InboxPrefix != "" {
		if c.Bus.InboxPrefix, err = subjectPrefix(o.InboxPrefix); err != nil {
			return fmt.Errorf("must be a context of the nats command line (%s: its inbox_prefix %w)", path, err)
		}
	}
	return nil
}

// contextFile returns the file of a context, which is given as one or by its name.
func (c *Config) contextFile(given string) (string, error) {
	path := given
	if named := !strings.ContainsAny(given, `/\`) && filepath.Ext(given) != ".json"; named {
		if path = filepath.Join(c.Contexts, given+".json"); c.Contexts == "" {
			return "", errors.New("must be a file, as the home directory is unknown")
		}
		if err := readable(path); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("must be the name of a context of the nats command line, or a file (there is no %s)", path)
		}
	}
	path, err := home(path)
	if err != nil {
		return "", err
	}
	if err := readable(path); err != nil {
		return "", fmt.Errorf("must be a context of the nats command line, by name or as a file (%s)", plainError(err))
	}
	return filepath.Abs(path)
}

// errRead ends a connection before it begins: only what the context holds was wanted.
var errRead = errors.New("context read")

// readContext returns the options of a connection by a context, without connecting.
func readContext(path string) (found nats.Options, err error) {
	_, _, err = natscontext.Connect(path, func(o *nats.Options) error {
		found = *o
		return errRead
	})
	if errors.Is(err, errRead) {
		err = nil
	}
	return found, err
}
