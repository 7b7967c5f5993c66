package openintent

import (
	"crypto/tls"
	"errors"
	"log/slog"
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
	// IntentID is the intent of calls that name none. When it is empty, OPENINTENT_INTENT_ID is used.
	IntentID string
	// TLS connects with this configuration. When it is nil, OPENINTENT_TLS=1 or an https:// server connects with TLS
	// and the system's certificates, and everything else connects without TLS.
	TLS *tls.Config
	// CAFile names a file with the certificates (PEM) to trust for the server, instead of the system's; it implies TLS. When
	// it and TLS are empty, OPENINTENT_CA_FILE is used.
	CAFile string
	// RetryPatience is how long a call whose context has no deadline is retried while the server is unavailable; 30
	// seconds when it is 0.
	RetryPatience time.Duration
	// ConnectTimeout is how long a call without a connection is tried, when that is less than its other time; negative for no
	// such bound. With 0 it is 5 seconds for a server on this machine that has never answered this client, and else unbounded.
	ConnectTimeout time.Duration
	// OnRetry, when it is not nil, is told why an attempt of a call or of a Following failed, before the next one. It must
	// return soon, and may be called from several goroutines simultaneously. When it is nil, Log is told once when the server
	// cannot be reached. Agents say it in their log instead.
	OnRetry func(err error)
	// Log receives warnings: that the server cannot be reached, and that an environment variable is misspelt. When it is nil,
	// slog.Default() is used.
	Log *slog.Logger
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
	if err := errors.Join(notBlank("Options.APIKey", "the key", o.APIKey), notBlank("Options.AgentID", "the agent's id", o.AgentID)); err != nil {
		return Options{}, err
	}
	o.APIKey = firstOf(o.APIKey, os.Getenv("OPENINTENT_API_KEY"), address.DefaultKey())
	named := "Options.AgentID"
	if o.AgentID == "" {
		named = "OPENINTENT_AGENT_ID"
	}
	o.AgentID = firstOf(o.AgentID, os.Getenv("OPENINTENT_AGENT_ID"))
	if err := checkAgentID(named, o.AgentID); err != nil {
		return Options{}, err
	}
	o.IntentID = firstOf(o.IntentID, os.Getenv("OPENINTENT_INTENT_ID"))
	if o, err = o.secured(address); err != nil {
		return Options{}, err
	}
	if o.RetryPatience == 0 {
		o.RetryPatience = defaultRetryPatience
	}
	return o, nil
}

// notBlank refuses a value of white space alone, which stands for nothing. The empty text means that the environment decides.
func notBlank(setting, what, value string) error {
	if value != "" && strings.TrimSpace(value) == "" {
		return badSetting(setting, "is blank: give "+what+", or leave it empty, so that the environment decides")
	}
	return nil
}

// intent returns the intent that was given to a call or, without one, the client's. It returns ErrInvalidArgument without either.
func (o Options) intent(call, given string) (string, error) {
	if id := firstOf(given, o.IntentID); id != "" {
		return id, nil
	}
	return "", badSetting("intentID", "is missing: "+call+" needs an intent, as an argument, as Options.IntentID, or in OPENINTENT_INTENT_ID")
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
