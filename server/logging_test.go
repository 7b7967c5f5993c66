package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesInTheLogAreBounded(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		cfg, log := DefaultConfig(), &lockedBuffer{}
		cfg.Log, cfg.LogFormat = log, format
		logger, err := newLogger(cfg)
		require.NoError(t, err)
		long := strings.Repeat("é", 450_000)
		logger.With("agent", long).Info(long, "path", long, "error", errors.New(long), slog.Group("of", "id", long), "number", 7)
		line := log.String()
		require.Less(t, len(line), 8<<10)
		require.Contains(t, line, "(900000 bytes)")
		require.Contains(t, line, "number")
	}
}
