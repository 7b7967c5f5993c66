package main

import (
	"os"
	"path/filepath"
)

// plant puts the fault into the copy. It returns a function that takes it out again.
func plant(f fault, directory string) (func() error, error) {
	file := filepath.Join(directory, f.File)
	sound, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	broken, err := f.planted(directory)
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(file, sound, 0o644) }, os.WriteFile(file, []byte(broken), 0o644)
}
