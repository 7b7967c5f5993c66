package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readyFile is a file that exists while a server is ready, for scripts that start one; empty for none.
type readyFile string

// readiness is what the file says: where the server answers, and which process it is.
type readiness struct {
	HTTP  string `json:"http"`
	GRPC  string `json:"grpc"`
	Admin string `json:"admin,omitempty"`
	PID   int    `json:"pid"`
}

// remove removes the file, also one that a server left behind that was killed. It fails if the file's folder does not exist.
func (f readyFile) remove() error {
	if f == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(string(f))); err != nil {
		return fmt.Errorf("the ready file cannot be written, because its folder %s does not exist or cannot be entered", filepath.Dir(string(f)))
	}
	if err := os.Remove(string(f)); !errors.Is(err, fs.ErrNotExist) && err != nil {
		return fmt.Errorf("the ready file cannot be removed: %w", err)
	}
	return nil
}

// write makes the file, whole from the beginning.
func (f readyFile) write(at Addresses) (err error) {
	if f == "" {
		return nil
	}
	text, err := json.Marshal(readiness{at.HTTP, at.GRPC, at.Admin, os.Getpid()})
	if err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(string(f)), filepath.Base(string(f))+".*")
	if err != nil {
		return fmt.Errorf("the ready file cannot be written: %w", err)
	}
	_, err = partial.Write(append(text, '\n'))
	if err = errors.Join(err, partial.Chmod(0o644), partial.Close()); err == nil {
		err = os.Rename(partial.Name(), string(f))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the ready file cannot be written: %w", err), os.Remove(partial.Name()))
	}
	return nil
}
