package natsserver

import (
	"cmp"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/template"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/crypto/bcrypt"

	"intenthint/internal/access"
)

// usersConf is the template of the accounts, filled in from [madeUsers].
//
//go:embed users.conf
var usersConf string

var usersTemplate = template.Must(template.New("users.conf").Parse(usersConf))

// madeUsers fill in the accounts.
type madeUsers struct {
	prefix    string
	inboxes   []string
	passwords map[string]string // by user
}

// Hash returns the hash of a user's password. The password is random, so the cheapest
// hash is as good as a dear one; the server computes one at each connection.
func (u madeUsers) Hash(user string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(u.passwords[user]), bcrypt.MinCost)
	return string(hash), err
}

// Prefixes returns what stands under each of some subjects.
func (u madeUsers) Prefixes(subjects ...string) []string {
	out := make([]string, len(subjects))
	for i, s := range subjects {
		out[i] = u.prefix + "." + s + ".>"
	}
	return out
}

// Services returns what a gateway reaches (contract §2).
func (u madeUsers) Services() []string {
	out := u.Prefixes("request", "event")
	for _, verb := range []string{"search", "submit", "content"} {
		out = append(out, u.prefix+".knowhub."+verb)
	}
	return out
}

// Runs returns the subject on which processes tell each other about runs.
func (u madeUsers) Runs() string { return u.prefix + ".runs" }

// Inboxes returns the subjects of replies.
func (u madeUsers) Inboxes() []string { return u.inboxes }

// hasUsers reports whether the configuration itself says who may connect.
func hasUsers(o *server.Options) bool {
	return authenticates(o) || verifies(o.TLSConfig) && !o.AllowNonTLS
}

// makesUsers reports whether the server gets users that its configuration does not have.
func (o Options) makesUsers(opts *server.Options) bool { return o.Auth && !hasUsers(opts) }

// checkAccounts refuses a configuration with accounts or mappings and without users:
// nothing says which account is the system's.
func (o Options) checkAccounts(opts *server.Options) error {
	if !o.makesUsers(opts) || len(opts.Accounts) == 0 {
		return nil
	}
	return fmt.Errorf("%w with users, as it has accounts or mappings (see deploy/accounts.conf), or HINT_AUTH must be off", ErrConf)
}

// addUsers adds accounts and users to a server whose configuration has none, and returns
// the passwords by user. Those in the data directory are kept.
func (o Options) addUsers(opts *server.Options, log *slog.Logger) (map[string]string, error) {
	passwords, damaged, err := access.Passwords(o.DataDir)
	if err != nil {
		return nil, err
	}
	for _, err := range damaged {
		log.Warn("NATS context replaced, its user has a new password", "error", err)
	}
	inboxes := []string{"_INBOX.>"}
	if own := cmp.Or(o.InboxPrefix, "_INBOX") + ".>"; !slices.Contains(inboxes, own) {
		inboxes = append(inboxes, own)
	}
	var text strings.Builder
	if err := usersTemplate.Execute(&text, madeUsers{cmp.Or(o.Prefix, "openclaw"), inboxes, passwords}); err != nil {
		return nil, err
	}
	var made server.Options
	if err := made.ProcessConfigString(text.String()); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	// The streams of a server without users are in the default account. A file cannot
	// give that account users; these options can. So turning HINT_AUTH on and off moves
	// no stream.
	for _, a := range made.Accounts {
		if a.Name == "SYSTEM" {
			a.Name = server.DEFAULT_GLOBAL_ACCOUNT
		}
	}
	opts.Accounts, opts.Users = made.Accounts, made.Users
	return passwords, nil
}
