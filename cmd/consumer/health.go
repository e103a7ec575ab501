package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/httpserver"
)

type healthCmd struct {
	URL   string `name:"url" placeholder:"URL" help:"Ask this URL instead of HINT_HTTP_ADDR, for example http://127.0.0.1:8377."`
	Ready bool   `help:"Ask /readyz (it answers requests) instead of /healthz (it does its work, or waits for its server)."`
}

// Help is the longer text of `consumer health --help`.
func (healthCmd) Help() string {
	return "Prints one line. Exit code 0: healthy; 1: not healthy, or no answer. For health checks in images without a shell. A consumer that moved to a free port is found by the file http.url in HINT_DATA_DIR."
}

// healthTime bounds the whole command. The checks of a consumer take at most a
// second ([httpserver.CheckTimeout]).
const healthTime = 4 * time.Second

func (c *healthCmd) Run(inv *cli.Invocation) error {
	bases := []string{c.URL}
	if c.URL == "" {
		if bases = app.HTTPAddresses(inv.Config); len(bases) == 0 {
			return errors.New("no health check is served: HINT_HTTP_ADDR is off")
		}
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(inv.Ctx, healthTime)
	defer cancel()
	var reasons []string
	for _, base := range bases {
		address, err := healthURL(base, path)
		if err != nil {
			return err
		}
		report, err := askHealth(ctx, address)
		if err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", address, err))
			continue // the file may be left over from a killed process
		}
		if report.Status == "ok" {
			_, err := fmt.Fprintf(inv.Stdout, "ok %s\n", address)
			return err
		}
		_, _ = fmt.Fprintf(inv.Stdout, "failed %s: %s\n", address, failedChecks(report))
		return cli.ErrReported
	}
	_, _ = fmt.Fprintf(inv.Stdout, "failed %s\n", strings.Join(reasons, "; "))
	return cli.ErrReported
}

// healthURL returns the URL to ask. A path in base takes precedence.
func healthURL(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", cli.UsageError(fmt.Sprintf("--url: %q is not an http or https URL", base))
	}
	u.Path = cmp.Or(strings.TrimRight(u.Path, "/"), path)
	return u.String(), nil
}

// askHealth returns the report of a consumer.
func askHealth(ctx context.Context, address string) (httpserver.Report, error) {
	var report httpserver.Report
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return report, err
	}
	// No proxy: check what this machine sees.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address
		}
		return report, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &report)
	}
	if err != nil || report.Status == "" {
		return report, fmt.Errorf("not a consumer (HTTP status %d)", response.StatusCode)
	}
	return report, nil
}

// failedChecks names the checks that failed, with their reasons.
func failedChecks(r httpserver.Report) string {
	var out []string
	for name, result := range r.Checks {
		if !result.OK {
			out = append(out, name+": "+strings.Join(strings.Fields(result.Reason), " "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
