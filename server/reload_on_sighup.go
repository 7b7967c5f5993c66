package server

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// hangups catches the process's SIGHUP, which would otherwise end it, from before the server starts until it has
// stopped.
type hangups struct {
	signals chan os.Signal
	running sync.WaitGroup
}

func catchHangups() *hangups {
	h := &hangups{signals: make(chan os.Signal, 1)}
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

// reload reads the key file and the TLS files again at each signal from now on, and once for a signal that came before.
func (h *hangups) reload(keys *Keys, encryption *tlsFiles, logger *slog.Logger) {
	h.running.Go(func() {
		for range h.signals {
			if keys.path == "" && encryption == nil {
				logger.Info("SIGHUP reads the key file and the TLS files again, but none is configured: nothing changes")
			}
			if keys.path != "" {
				reloadKeys(keys, logger)
			}
			if encryption != nil {
				encryption.report(encryption.reload())
			}
		}
	})
}

func (h *hangups) end() {
	signal.Stop(h.signals)
	close(h.signals)
	h.running.Wait()
}

// reloadKeys reads the key file again; a bad file changes nothing.
func reloadKeys(keys *Keys, logger *slog.Logger) {
	if err := keys.Reload(); err != nil {
		logger.Error("the API keys were not read again; the old ones stay", "error", err)
		return
	}
	logger.Info("the API keys were read again", "keys", keys.Count())
	warnOfReaders("key file", keys.path, logger)
}
