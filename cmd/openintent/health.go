package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"openintent/server"
)

// healthCommand asks a server whether calls can succeed. Containers have no other program with which to ask.
type healthCommand struct {
	Address string        `arg:"" optional:"" help:"Where REST or the admin address listens, as host:port or http(s)://host:port; by default where a server with this environment listens on this machine."`
	Timeout time.Duration `default:"5s" placeholder:"DURATION" help:"How long to wait for the answer (5s)."`
}

// Help says what it is good for.
func (healthCommand) Help() string {
	return `Asks /readyz of a server, without a key. The exit code is 0 if calls can succeed and 6 if they cannot. Without an address it looks
at the settings of serve, in the environment and in the settings file, and asks the server on this machine.

  openintent health
  openintent health https://openintent.internal:8000`
}

// maxHealthBytes bounds what is read of an answer.
const maxHealthBytes = 64 << 10

// Run asks once.
func (c healthCommand) Run(ctx context.Context, to terminal) error {
	address, err := c.url()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String()+"/readyz", nil)
	if err != nil {
		return usagef("%s is no address of a server; it must be host:port or http(s)://host:port", address)
	}
	response, err := asker(address).Do(request)
	if err != nil {
		return exitError{exitUnavailable, fmt.Errorf("the server at %s does not answer: %w", address, err)}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHealthBytes))
	if err != nil {
		return exitError{exitUnavailable, fmt.Errorf("the server at %s broke off its answer: %w", address, err)}
	}
	if reason := notReady(address, response, body); reason != "" {
		return exitError{exitUnavailable, fmt.Errorf("the server at %s is not ready: %s", address, reason)}
	}
	_, err = fmt.Fprintln(to.stdout, "ready")
	return err
}

// notReady returns why an answer does not say that calls can succeed; it is empty if the answer says so.
func notReady(address *url.URL, response *http.Response, body []byte) string {
	var told struct{ Status, Detail string }
	_ = json.Unmarshal(body, &told) // whatever else answers there is not ready either
	said, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	switch {
	case response.StatusCode == http.StatusOK && told.Status == "ready":
		return ""
	case address.Scheme == "http" && strings.Contains(said, "HTTPS server"):
		return "it speaks TLS; ask https://" + address.Host
	case told.Detail != "":
		return told.Detail
	}
	return "it answers " + response.Status + ", as no server of openintent does"
}

// asker returns a client that follows nothing and goes through no proxy. On this machine it takes any certificate: nothing secret is
// sent, and certificates rarely name loopback.
func asker(address *url.URL) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	if ip := net.ParseIP(address.Hostname()); address.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// url returns where to ask.
func (c healthCommand) url() (*url.URL, error) {
	text := c.Address
	if text == "" {
		var err error
		if text, err = configuredAddress(); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	address, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || address.Host == "" || address.Path != "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, usagef("%q is no address of a server; it must be host:port or http(s)://host:port", c.Address)
	}
	return address, nil
}

// configuredAddress returns where a server that starts with this environment listens on this machine: the admin address, or else REST.
func configuredAddress() (string, error) {
	var configured serveCommand
	parser, err := kong.New(&configured, durations)
	if err != nil {
		return "", err
	}
	if _, err := parser.Parse(nil); err != nil {
		return "", misunderstood(err, nil)
	}
	return addressOnThisMachine(configured.Config)
}

func addressOnThisMachine(cfg server.Config) (string, error) {
	scheme, listening := "http://", cfg.AdminAddr
	if listening == "" {
		listening = cfg.HTTPAddr
		if cfg.TLSCert != "" {
			scheme = "https://"
		}
	}
	host, port, err := net.SplitHostPort(listening)
	if err != nil || port == "0" {
		return "", usagef("the settings say no port at which a server could be asked; name its address: openintent health HOST:PORT")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return scheme + net.JoinHostPort(host, port), nil
}
