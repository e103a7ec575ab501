package app

import (
	"fmt"
	"net/url"

	"intenthint/config"
	"intenthint/console"
	"intenthint/internal/access"
)

// makeToken returns the token that the pages and the HTTP API want (contract §9): the
// one of the settings, else the one in the data directory, which the first start makes.
// With HINT_AUTH=off and none in the settings it returns "".
func makeToken(cfg *config.Config) (string, error) {
	if cfg.HTTP.Token != "" || cfg.Auth == config.AuthOff {
		return cfg.HTTP.Token, nil
	}
	token, err := access.MakeToken(cfg.DataDir)
	if err != nil {
		return "", fmt.Errorf("token of the pages: %w (set HINT_HTTP_TOKEN, another HINT_DATA_DIR, or HINT_AUTH=off)", err)
	}
	return token, nil
}

// PageToken is the token of a consumer that was started with this configuration, ""
// if its pages want none.
func PageToken(cfg *config.Config) (string, error) {
	if cfg.HTTP.Token != "" || cfg.Auth == config.AuthOff {
		return cfg.HTTP.Token, nil
	}
	return access.ReadToken(cfg.DataDir)
}

// SignInLink returns the link to the pages at a URL (http://HOST:PORT) that signs in;
// without a token the pages themselves.
func SignInLink(base, token string) string {
	if token == "" {
		return base + "/"
	}
	return base + console.SignInPath + "?" + url.Values{"token": {token}}.Encode()
}

// greet tells where the pages are.
func (a *App) greet(link string) {
	if a.opts.Listening != nil {
		a.opts.Listening(link)
	}
}
