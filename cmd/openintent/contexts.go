package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// savedContext is a server with a key and an agent, saved under a name in the configuration file.
type savedContext struct {
	Server string `yaml:"server"`
	APIKey string `yaml:"api_key,omitempty"`
	Agent  string `yaml:"agent,omitempty"`
	TLS    bool   `yaml:"tls,omitempty"`
	CAFile string `yaml:"ca_file,omitempty"`
}

// configuration is the file with the contexts. It holds keys, so only its owner may read it.
type configuration struct {
	// Current is the context that is used when none is named; empty for none.
	Current  string                  `yaml:"current,omitempty"`
	Contexts map[string]savedContext `yaml:"contexts,omitempty"`
}

// configurationPath returns the path of the file, whether it exists or not; it is empty when the user has no home
// directory for it.
func configurationPath() string {
	if path := os.Getenv("OPENINTENT_CONFIG"); path != "" {
		return path
	}
	folder := os.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		folder, _ = os.UserConfigDir()
	}
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "openintent", "config.yaml")
}

// readConfiguration reads the file; a file that does not exist counts as empty. It warns when other users may read
// the file.
func readConfiguration(to terminal) (configuration, error) {
	var read configuration
	path := configurationPath()
	if path == "" {
		return read, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return read, nil
	}
	if err != nil {
		return read, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return read, fmt.Errorf("the configuration file %s is not valid: %w", path, err)
	}
	if about, err := file.Stat(); err == nil && about.Mode().Perm()&0o077 != 0 && read.holdsKeys() {
		to.warn("other users may read the keys in %s; prevent that with: chmod 600 %s", path, path)
	}
	return read, nil
}

func (c configuration) holdsKeys() bool {
	for _, saved := range c.Contexts {
		if saved.APIKey != "" {
			return true
		}
	}
	return false
}

// write replaces the file atomically, so that a reader sees either the whole old file or the whole new one.
func (c configuration) write() error {
	path := configurationPath()
	if path == "" {
		return errors.New("there is no home directory for a configuration file; set OPENINTENT_CONFIG to a path")
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(c); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("the configuration file cannot be written: %w", err)
	}
	// Only its owner may read a file that CreateTemp makes.
	next, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return fmt.Errorf("the configuration file cannot be written: %w", err)
	}
	_, err = next.Write(text.Bytes())
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		return fmt.Errorf("the configuration file cannot be written: %w", err)
	}
	return nil
}

// chosenContext returns the named context, else the one in OPENINTENT_CONTEXT, else the current one. It returns an
// empty context when there is none; every other context has a server.
func chosenContext(named string, to terminal) (*savedContext, error) {
	read, err := readConfiguration(to)
	if err != nil {
		return nil, err
	}
	if named == "" {
		named = os.Getenv("OPENINTENT_CONTEXT")
	}
	if named == "" {
		named = read.Current
	}
	if named == "" {
		return &savedContext{}, nil
	}
	saved, known := read.Contexts[named]
	if !known {
		return nil, read.unknown(named)
	}
	if saved.Server == "" {
		saved.Server = defaultServer
	}
	return &saved, nil
}

func (c configuration) names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

func (c configuration) unknown(name string) error {
	if len(c.Contexts) == 0 {
		return usagef("there is no context %q, and no other one either; make one with: openintent context set %s --server HOST:PORT", name, name)
	}
	return usagef("there is no context %q; there are: %s", name, strings.Join(c.names(), ", "))
}
