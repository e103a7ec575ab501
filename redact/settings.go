package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Masked stands for a secret in a setting that is printed.
const Masked = "***"

var (
	// Fields and headers that hold secrets, in JSON or near it.
	secretField = regexp.MustCompile(`(?i)([\w-]*(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|authorization|credentials?)\\?["']?\s*[:=]\s*)(\\?"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s,"'{}\[\]]+)`)
	// Keys of model providers, NATS seeds and JSON web tokens.
	secretShape = regexp.MustCompile(`\b(?:sk|pk|rk|gsk|hf|ghp|gho|ghs|nvapi|xai|xox[abp])[-_][A-Za-z0-9_-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bS[UAONCX][A-Z2-7]{54,}|\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*`)
	// The part between the scheme of a URL and its host.
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"',` + "`" + `]*@`)
)

// Setting masks the secrets in a setting, or in a message about one. It is
// stricter than [Text]: whatever stands in the place of a secret is masked, also
// if it does not look like one. Names of people and addresses stay.
func Setting(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+Masked+"@")
	text = secretField.ReplaceAllStringFunc(text, func(m string) string {
		parts := secretField.FindStringSubmatch(m)
		if value := strings.Trim(parts[2], `"'\`); value == "true" || value == "false" || value == "" {
			return m
		}
		return parts[1] + `"` + Masked + `"`
	})
	return secretShape.ReplaceAllString(text, Masked)
}

// Servers masks whatever may be a user, a password or a token in a list of
// servers, with or without schemes and however malformed.
func Servers(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme := ""
	if i := strings.Index(text[:at], "://"); i >= 0 {
		scheme = text[:i+len("://")]
	}
	return scheme + Masked + text[at:]
}

// URLs hides users, passwords and tokens in a list of URLs that are separated by
// commas. Unlike [Servers] it shows every host, and needs URLs that can be parsed.
// The user is written as by nats.go.
func URLs(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if u, err := url.Parse(p); err == nil && u.User != nil {
			u.User = url.User("xxxxx")
			p = u.String()
		}
		parts[i] = p
	}
	return strings.Join(parts, ",")
}

var jsonString = regexp.MustCompile(`("[^"\\]*"\s*:\s*)"(?:\\.|[^"\\])*"?`)

// Strings masks every string in a JSON object, or in what was meant as one, except
// those of the fields that are shown.
func Strings(text string, shown ...string) string {
	return jsonString.ReplaceAllStringFunc(text, func(m string) string {
		field := jsonString.FindStringSubmatch(m)[1]
		if slices.Contains(shown, strings.Split(field, `"`)[1]) {
			return m
		}
		return field + `"` + Masked + `"`
	})
}

// keyInQuery is a key in the query of a URL, as some providers take and quote it.
var keyInQuery = regexp.MustCompile(`(?i)([?&](?:[a-z]+[-_])?(?:key|token|sig|signature)=)[^&#\s"'<>]+`)

// Secret masks a known secret in a text, "" is none, and keys in the queries of URLs.
func Secret(text, secret string) string {
	if secret != "" {
		text = strings.ReplaceAll(text, secret, Masked)
	}
	return keyInQuery.ReplaceAllString(text, "${1}"+Masked)
}
