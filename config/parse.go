package config

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"intenthint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/part"
)

// The functions of this file parse one value each. Their errors begin with
// "must" and describe what is allowed; the caller adds name and value.

const (
	// defaultNATSConf is the only configuration file that may be missing.
	defaultNATSConf = "nats.conf"
	// maxNameBytes is the longest name that JetStream accepts.
	maxNameBytes = 255
	// maxGroupBytes leaves room for the suffix of a part's durable.
	maxGroupBytes = maxNameBytes - 8
	// maxStreamBytes leaves room for the stream of a part's bucket, KV_<stream>_<SUFFIX>.
	maxStreamBytes = maxNameBytes - 3 - 14
)

func anyText(text string) (string, error) { return text, nil }

// oneOf parses one of a few words, in any case.
func oneOf[T ~string](allowed ...T) func(string) (T, error) {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return func(text string) (T, error) {
		word := strings.ToLower(text)
		if !slices.Contains(words, word) {
			return "", errors.New("must be one of " + strings.Join(words, ", "))
		}
		return T(word), nil
	}
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError,
}

func logLevel(text string) (slog.Level, error) {
	level, ok := logLevels[strings.ToLower(text)]
	if !ok {
		return 0, errors.New("must be one of debug, info, warn, error")
	}
	return level, nil
}

// list parses comma-separated elements, or a JSON array of strings, the form of
// a list from a file.
func list(text string) ([]string, error) {
	var elements []string
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &elements) != nil {
		elements = strings.Split(text, ",")
	}
	out := make([]string, 0, len(elements))
	for _, e := range elements {
		if e = strings.TrimSpace(e); e != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

func lowerList(text string) ([]string, error) { return list(strings.ToLower(text)) }

var allChatTypes = []string{
	eligibility.ChatDirect, eligibility.ChatGroup, eligibility.ChatChannel, eligibility.ChatExplicit, eligibility.ChatUnknown,
}

func chatTypes(text string) ([]string, error) {
	types, err := lowerList(text)
	for _, t := range types {
		if !slices.Contains(allChatTypes, t) {
			return nil, fmt.Errorf("must be a list of %s (%q is not one of them)", strings.Join(allChatTypes, ", "), t)
		}
	}
	return types, err
}

func trueOrFalse(text string) (bool, error) {
	v, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		return false, errors.New("must be true or false, 1 or 0")
	}
	return v, nil
}

func wholeNumber(lowest, highest int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < lowest || n > highest {
			return 0, fmt.Errorf("must be a whole number from %d to %d", lowest, highest)
		}
		return n, nil
	}
}

func probability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p >= 0 && p <= 1) { //nolint:staticcheck // The negation also rejects NaN.
		return 0, errors.New("must be a number from 0 to 1")
	}
	return p, nil
}

// Limits of HINT_TIMEOUT_MS, in milliseconds.
const (
	minTimeoutMs = 500
	maxTimeoutMs = 60000
)

func timeoutMs(text string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(ms) {
		return 0, fmt.Errorf("must be a number of milliseconds; it is clamped to %d–%d", minTimeoutMs, maxTimeoutMs)
	}
	return time.Duration(clamp(ms, minTimeoutMs, maxTimeoutMs)) * time.Millisecond, nil
}

func clamp(v float64, lowest, highest int) int {
	return int(min(max(v, float64(lowest)), float64(highest)))
}

// duration parses a duration that is 0 or at least shortest.
func duration(shortest time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := part.ParseDuration(text)
		if err == nil && d > 0 && d < shortest {
			return 0, fmt.Errorf("must be 0 or a duration of at least %s", shortest)
		}
		return d, err
	}
}

var sizes = regexp.MustCompile(`(?i)^(\d{1,18})\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?$`)

var unitBytes = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

func byteSize(text string) (int64, error) {
	if text == "-1" {
		return -1, nil
	}
	m := sizes.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("must be a number of bytes such as 1073741824, 1GiB or 512MB, or -1 for no limit")
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // At most 18 digits.
	unit := unitBytes[strings.ToLower(m[2])]
	if n == 0 || n > math.MaxInt64/unit {
		return 0, errors.New("must be a number of bytes greater than 0, or -1 for no limit")
	}
	return n * unit, nil
}

func natsPort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port != -1 && (port < 1 || port > 65535) {
		return 0, errors.New("must be -1 for a free port, or a port from 1 to 65535")
	}
	return port, nil
}

// natsURLs parses server addresses like the NATS client: without a scheme,
// nats:// is assumed.
func natsURLs(text string) ([]string, error) {
	const allowed = "must be nats://, tls://, ws:// or wss:// addresses with a host, comma-separated"
	servers, err := list(text)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, errors.New(allowed + " (no address given)")
	}
	for i, server := range servers {
		if !strings.Contains(server, "://") {
			server = "nats://" + server
			servers[i] = server
		}
		u, err := url.Parse(server)
		if err != nil {
			// The text of a url.Error contains the URL, and with it a password.
			return nil, errors.New(allowed)
		}
		switch port := u.Port(); {
		case !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return nil, fmt.Errorf("%s (scheme %s)", allowed, u.Scheme)
		case u.Hostname() == "":
			return nil, errors.New(allowed)
		case strings.Count(u.Host, ":") > 1 && !strings.HasPrefix(u.Host, "["):
			return nil, errors.New(allowed + " (an IPv6 address stands in brackets)")
		case port != "" && !isPort(port, 1):
			return nil, errors.New(allowed + " (a port is not from 1 to 65535)")
		}
	}
	return servers, nil
}

func isPort(text string, lowest int) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= lowest && port <= 65535
}

// httpAddr parses host:port; "off" becomes "".
func httpAddr(text string) (string, error) {
	if strings.EqualFold(text, "off") {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isPort(port, 0) || strings.ContainsFunc(host, unicode.IsSpace) {
		return "", errors.New("must be host:port such as 127.0.0.1:8377, or off")
	}
	return text, nil
}

// publicURLs parses the URLs of the pages behind a reverse proxy.
func publicURLs(text string) ([]string, error) {
	elements, err := list(text)
	if err != nil {
		return nil, err
	}
	for i, e := range elements {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" || path.Clean("/"+u.Path) != "/"+strings.Trim(u.Path, "/") {
			return nil, fmt.Errorf("must be a list of URLs of a name and at most a path, such as https://hints.example.org/intent (%q is not one)", e)
		}
		elements[i] = u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/")
	}
	return elements, nil
}

func subjectPrefix(text string) (string, error) {
	const allowed = "must be subject tokens joined by dots, without white space, * or >"
	for token := range strings.SplitSeq(text, ".") {
		if token == "" || strings.ContainsAny(token, "*>") || strings.ContainsFunc(token, notPlain) {
			return "", errors.New(allowed)
		}
	}
	switch {
	case strings.HasPrefix(text, "$"):
		return "", errors.New(allowed + ", and must not begin with $, which NATS reserves")
	case len(text) > maxNameBytes:
		return "", fmt.Errorf("%s, of at most %d bytes", allowed, maxNameBytes)
	}
	return text, nil
}

// tokenText parses a token that a client can send in a header; "" means no token.
func tokenText(text string) (string, error) {
	if !part.IsToken(text) {
		return "", errors.New("must be " + part.TokenRule)
	}
	return text, nil
}

// groupName parses a name that JetStream accepts for a durable.
func groupName(text string) (string, error) {
	if len(text) > maxGroupBytes || strings.ContainsAny(text, `.*>/\`) || strings.ContainsFunc(text, notPlain) {
		return "", fmt.Errorf(`must be a name of at most %d bytes without white space or any of . * > / \`, maxGroupBytes)
	}
	return text, nil
}

// bucketName matches a name that JetStream accepts for a bucket; buckets are named
// after the stream.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func streamName(text string) (string, error) {
	if len(text) > maxStreamBytes || !bucketName.MatchString(text) {
		return "", fmt.Errorf("must be a name of at most %d letters A–Z or a–z, digits, - and _", maxStreamBytes)
	}
	return text, nil
}

func notPlain(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
}

func messageFrames(text string) (string, error) {
	if _, err := conversation.ParseFrames(text); err != nil {
		return "", fmt.Errorf("must be a list of tag names and of RE2 patterns between slashes (%w)", err)
	}
	return text, nil
}

func modelRef(text string) (string, error) {
	if !part.IsModel(text) {
		return "", errors.New("must be provider/model")
	}
	return text, nil
}

// embeddingModel parses a model reference, or one of two words.
func embeddingModel(text string) (string, error) {
	if word := strings.ToLower(text); word == EmbeddingBuiltIn || word == EmbeddingOff {
		return word, nil
	}
	if _, err := modelRef(text); err != nil {
		return "", errors.New("must be builtin, off or provider/model")
	}
	return text, nil
}

func mainKey(text string) (string, error) {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return "", errors.New("must be a session key without white space")
	}
	return strings.ToLower(text), nil
}

// home returns the path with a leading ~/ replaced by the home directory.
func home(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("must not begin with ~/, as the home directory is unknown")
	}
	return filepath.Join(dir, rest), nil
}

func directoryName(text string) (string, error) {
	text, err := home(text)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(text)
	switch {
	case strings.ContainsRune(text, 0):
		return "", errors.New("must be the name of a directory")
	case err == nil && !info.IsDir():
		return "", errors.New("must be a directory (a file has this name)")
	case errors.Is(err, syscall.ENOTDIR):
		return "", errors.New("must be a directory (a part of its path is a file)")
	}
	return text, nil
}

func existingDirectory(text string) (string, error) {
	text, err := home(text)
	if err != nil {
		return "", err
	}
	if _, err := os.ReadDir(text); err != nil {
		return "", errors.New("must be a directory that can be read (" + plainError(err) + ")")
	}
	return text, nil
}

// file returns a parser of the name of a file, which must be as described by
// allowed; check, if not nil, reads it. Errors never contain file content.
func file(allowed string, check func(path string) error) func(string) (string, error) {
	return func(text string) (string, error) {
		text, err := home(text)
		if err != nil {
			return "", err
		}
		err = readable(text)
		if err == nil && check != nil {
			err = check(text)
		}
		if err != nil {
			return "", fmt.Errorf("must be %s (%s)", allowed, plainError(err))
		}
		return text, nil
	}
}

func hasSeed(path string) error {
	_, err := nats.NkeyOptionFromSeed(path)
	return err
}

func hasCredentials(path string) error {
	var o nats.Options
	if err := nats.UserCredentials(path)(&o); err != nil {
		return err
	}
	if _, err := o.UserJWT(); err != nil {
		return err
	}
	_, err := o.SignatureCB(nil)
	return err
}

func hasCertificate(path string) error {
	pem, err := os.ReadFile(path)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		err = errors.New("no certificate in it")
	}
	return err
}

func natsConf(text string) (string, error) {
	if _, err := os.Stat(text); text == defaultNATSConf && os.IsNotExist(err) {
		return text, nil
	}
	return file("a NATS configuration file that can be read", nil)(text)
}

func readable(path string) error {
	// A FIFO or a device would block the open.
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
