package server

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"
)

// newLogger makes the server's log with the configured level and format.
func newLogger(cfg Config) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("OPENINTENT_LOG_LEVEL must be debug, info, warn or error; it is %q", cfg.LogLevel)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: boundValue}
	out := cfg.log()
	switch {
	case cfg.LogFormat == "text" || cfg.LogFormat == "auto" && isTerminal(out):
		return slog.New(slog.NewTextHandler(out, options)), nil
	case cfg.LogFormat == "json" || cfg.LogFormat == "auto":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, fmt.Errorf("OPENINTENT_LOG_FORMAT must be auto, text or json; it is %q", cfg.LogFormat)
}

const (
	// maxLogValue bounds one value of a log line, in bytes. A failure's text may be longer, because it may contain a
	// stack, and a statement's, because it is recognized by its end.
	maxLogValue     = 256
	maxLogStatement = 1 << 10
	maxLogFailure   = 4 << 10
)

// boundValue shortens a value of a log line. Paths, ids and error texts come from clients, who may send as much as
// they like.
func boundValue(_ []string, attribute slog.Attr) slog.Attr {
	most := maxLogValue
	switch attribute.Key {
	case "error", "stack":
		most = maxLogFailure
	case "sql":
		most = maxLogStatement
	}
	value := attribute.Value.Resolve()
	var text string
	switch value.Kind() {
	case slog.KindString:
		text = value.String()
	case slog.KindAny:
		text = fmt.Sprint(value.Any())
	default:
		return attribute
	}
	if len(text) > most {
		cut := strings.ToValidUTF8(text[:most], "")
		attribute.Value = slog.StringValue(fmt.Sprintf("%s... (%d bytes)", cut, len(text)))
	}
	return attribute
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
