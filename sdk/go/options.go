package openintent

import (
	"crypto/tls"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	defaultServer        = "127.0.0.1:50051"
	defaultRetryPatience = 30 * time.Second
	// DefaultTimeout is how long a question without a timeout waits for its answer.
	DefaultTimeout = 30 * time.Second
)

// Options name the server and the caller. The zero value takes everything from the environment.
type Options struct {
	// Server is the server's gRPC address, host:port; "https://host:port" connects with TLS, "http://host:port"
	// without. When it is empty, OPENINTENT_SERVER is used or, without that, 127.0.0.1:50051.
	Server string
	// APIKey is the caller's key. When it is empty, OPENINTENT_API_KEY is used or, without that, DevelopmentKey for a
	// server on this machine.
	APIKey string
	// AgentID is the agent that the client acts as. When it is empty, OPENINTENT_AGENT_ID is used. Without either,
	// the client acts as the key's own agent or as the operator.
	AgentID string
	// TLS connects with this configuration. When it is nil, OPENINTENT_TLS=1 or an https:// server connects with TLS
	// and the system's certificates, and everything else connects without TLS.
	TLS *tls.Config
	// RetryPatience is how long a call whose context has no deadline is retried while the server is unavailable; 30
	// seconds when it is 0.
	RetryPatience time.Duration
	// OnRetry, when it is not nil, is told why an attempt of a call or of a Following failed, before the next one. It must
	// return soon, and may be called from several goroutines simultaneously. Agents say it in their log instead.
	OnRetry func(err error)
	// Tracer connects asks to the program's traces; nil means no tracing.
	Tracer Tracer
}

// completed fills empty options from the environment and the defaults. It returns ErrInvalidArgument for a server that is
// no address.
func (o Options) completed() (Options, error) {
	setting := "Options.Server"
	if o.Server == "" {
		o.Server, setting = firstOf(os.Getenv("OPENINTENT_SERVER"), defaultServer), "OPENINTENT_SERVER"
	}
	address, err := ParseAddress(setting, o.Server)
	if err != nil {
		return Options{}, err
	}
	o.Server = address.Target
	o.APIKey = firstOf(o.APIKey, os.Getenv("OPENINTENT_API_KEY"), address.DefaultKey())
	o.AgentID = firstOf(o.AgentID, os.Getenv("OPENINTENT_AGENT_ID"))
	if o.TLS == nil {
		encrypted, err := encryptedByDefault()
		if err != nil {
			return Options{}, err
		}
		o.TLS = address.secured(encrypted)
	}
	if o.RetryPatience == 0 {
		o.RetryPatience = defaultRetryPatience
	}
	return o, nil
}

// encryptedByDefault reads OPENINTENT_TLS, which says whether connections are encrypted when nothing else says it.
func encryptedByDefault() (bool, error) {
	switch text := os.Getenv("OPENINTENT_TLS"); strings.ToLower(text) {
	case "1", "true":
		return true, nil
	case "", "0", "false":
		return false, nil
	default:
		return false, badSetting("OPENINTENT_TLS", "must be 1 or 0, not "+strconv.Quote(text))
	}
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
