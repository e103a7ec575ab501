package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"intenthint/internal/netaddr"
	"intenthint/model/provider"
)

// keepProviders makes c have the providers of running: where a key is sent to, and
// which one, is decided at a start only (contract §9). Whoever may edit the file could
// otherwise send any variable of the process to an address of theirs. It returns the
// names of the providers that are others in c.
func (c *Config) keepProviders(running *Config) (kept []string) {
	now, next := running.Classifier.Providers, c.Classifier.Providers
	c.Classifier.Providers = now
	for _, all := range []map[string]provider.Config{now, next} {
		for name := range all {
			before, known := now[name]
			after, wanted := next[name]
			if known != wanted || before != after {
				kept = append(kept, name)
			}
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// unencrypted returns the configured providers that are asked without encryption on
// other machines.
func unencrypted(providers map[string]provider.Config) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		u, err := url.Parse(strings.TrimSpace(providers[name].BaseURL))
		if err == nil && u.Scheme == "http" && !netaddr.IsLoopback(u.Hostname()) {
			names = append(names, name)
		}
	}
	return names
}
