package server

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger makes the server's log by the configured level and format.
func newLogger(cfg Config) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("OPENINTENT_LOG_LEVEL must be debug, info, warn or error; it is %q", cfg.LogLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	out := cfg.log()
	switch {
	case cfg.LogFormat == "text" || cfg.LogFormat == "auto" && isTerminal(out):
		return slog.New(slog.NewTextHandler(out, options)), nil
	case cfg.LogFormat == "json" || cfg.LogFormat == "auto":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, fmt.Errorf("OPENINTENT_LOG_FORMAT must be auto, text or json; it is %q", cfg.LogFormat)
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
