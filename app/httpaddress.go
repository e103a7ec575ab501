package app

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"intenthint/config"
	"intenthint/internal/atomicfile"
)

// httpFile holds the URL of a process that serves HTTP at another address than
// HINT_HTTP_ADDR: the port was taken, or the setting asks for any free port. If
// several processes share a data directory, the last one to start wins.
const httpFile = "http.url"

// noteHTTP writes the address served to the data directory, unless the settings
// name it. It returns the function that removes the file.
func noteHTTP(cfg *config.Config, addr string, log *slog.Logger) (remove func()) {
	_, want, _ := net.SplitHostPort(cfg.HTTP.Addr)
	if _, port, _ := net.SplitHostPort(addr); port == want {
		return func() {}
	}
	path, at := filepath.Join(cfg.DataDir, httpFile), "http://"+dialableHTTP(addr)+"\n"
	err := os.MkdirAll(cfg.DataDir, 0o700)
	if err == nil {
		err = atomicfile.Write(path, httpFile+".*", []byte(at), 0o600)
	}
	if err != nil {
		log.Warn("HTTP address not written", "file", path, "error", err, "command", "consumer health --url "+strings.TrimSpace(at))
	}
	return func() {
		if now, err := os.ReadFile(path); err == nil && string(now) == at {
			_ = os.Remove(path)
		}
	}
}

// HTTPAddresses returns the URLs at which a consumer of this configuration may
// serve HTTP, the likeliest first; none if HTTP is off.
func HTTPAddresses(cfg *config.Config) []string {
	_, port, err := net.SplitHostPort(cfg.HTTP.Addr)
	if err != nil {
		return nil
	}
	var out []string
	if !cfg.HTTP.Fixed || port == "0" {
		if data, err := os.ReadFile(filepath.Join(cfg.DataDir, httpFile)); err == nil {
			if u, err := url.Parse(strings.TrimSpace(string(data))); err == nil && u.Scheme == "http" && u.Host != "" {
				out = append(out, u.String())
			}
		}
	}
	if configured := "http://" + dialableHTTP(cfg.HTTP.Addr); port != "0" {
		out = append(out, configured)
	} else if len(out) == 0 {
		out = append(out, configured) // nothing answers there, and the error says so
	}
	return out
}

// dialableHTTP returns the address at which this machine reaches a listener.
func dialableHTTP(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}

// basesOf returns the base paths of public URLs, those that have one.
func basesOf(public []string) []string {
	var out []string
	for _, text := range public {
		if u, err := url.Parse(text); err == nil && u.Path != "" {
			out = append(out, u.Path)
		}
	}
	return out
}
