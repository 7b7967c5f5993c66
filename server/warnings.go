package server

import (
	"log/slog"
	"os"
)

// warn says in the log which settings have no effect, what others can reach that they should perhaps not, and what an intent without an access
// list is open to.
func (c Config) warn(keys *Keys, logger *slog.Logger) {
	for _, sentence := range c.UselessVariables {
		logger.Warn(sentence)
	}
	warnOfReaders("key file", keys.path, logger)
	if c.SettingsSecret {
		warnOfReaders("settings file", c.SettingsFile, logger)
	}
	if c.AdminAddr != "" && !isLoopback(c.AdminAddr) {
		logger.Warn("other machines may reach the admin address, which needs no key; let nobody but your monitoring through to it",
			"admin", c.AdminAddr)
	}
	logger.Info(c.accessWithoutList(), "default_access", c.DefaultAccess)
}

// warnOfReaders warns when other users of the machine may read a file that holds secrets. path is empty if there is none.
func warnOfReaders(what, path string, logger *slog.Logger) {
	about, err := os.Stat(path)
	if path != "" && err == nil && about.Mode().Perm()&0o077 != 0 {
		logger.Warn("other users may read the "+what+"; prevent that with: chmod 600 "+path, "file", path, "mode", about.Mode().Perm().String())
	}
}
