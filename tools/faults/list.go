package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fault is one fault of a list.
type fault struct {
	// Breaks says in one sentence what a user would suffer.
	Breaks string `yaml:"breaks"`
	// File is relative to the root of the repository. From stands there exactly once; the fault has To in its place.
	File string `yaml:"file"`
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Packages are those whose tests must notice, as `go test` takes them from the root. Tests is a regular expression for -run; empty means
	// all tests of the packages.
	Packages []string `yaml:"packages"`
	Tests    string   `yaml:"tests"`

	room string
}

// readLists returns the faults of all rooms, in the order of the files.
func readLists(directory string) ([]fault, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []fault
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var found []fault
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		decoder.KnownFields(true)
		if err := decoder.Decode(&found); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for n := range found {
			found[n].room = strings.TrimSuffix(filepath.Base(file), ".yaml")
		}
		all = append(all, found...)
	}
	return all, nil
}

// planted returns the content of the file with the fault in it. It fails if the fault does not fit.
func (f fault) planted(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return "", err
	}
	switch times := strings.Count(string(content), f.From); {
	case f.From == "" || f.From == f.To:
		return "", errors.New("the fault changes nothing")
	case times == 0:
		return "", fmt.Errorf("%s no longer has the lines that the fault replaces", f.File)
	case times > 1:
		return "", fmt.Errorf("%s has the lines that the fault replaces %d times, so it is not clear which are meant", f.File, times)
	}
	return strings.Replace(string(content), f.From, f.To, 1), nil
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// fits reports what is wrong with the fault, without running anything.
func (f fault) fits(root string) error {
	if strings.TrimSpace(f.Breaks) == "" || len(f.Packages) == 0 {
		return errors.New("a fault says what it breaks, and which packages must notice")
	}
	if _, err := f.planted(root); err != nil {
		return err
	}
	first, _, _ := strings.Cut(f.Tests, "/")
	tests, err := regexp.Compile(first)
	if err != nil {
		return err
	}
	for _, name := range f.Packages {
		files, err := filepath.Glob(filepath.Join(root, name, "*_test.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, function := range testFunction.FindAllStringSubmatch(string(content), -1) {
				if tests.MatchString(function[1]) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("no test of %s matches %q", strings.Join(f.Packages, " "), f.Tests)
}
