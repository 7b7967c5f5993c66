// Program packages packs built programs for those who have no Go: a wheel for each system, and the packages of npm, one for each system
// and one that has the commands and finds the other. It fetches nothing and runs nothing. The same programs give the same bytes.
//
//	packages -version 0.3.0 -date 2026-11-30T07:00:00Z -sources .. -out ../dist linux/amd64=PROGRAM windows/arm64=PROGRAM ...
package main

import (
	"compress/flate"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// packing is what all packages of one run share.
type packing struct {
	// version is the program's, as the sources have it.
	version string
	// made is the time of every file. It is in UTC, and at least the first that a zip can have.
	made time.Time
	// sources is the root of the repository.
	sources string
	out     string
	// level says how hard to compress, as compress/flate does.
	level int
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// run packs what a command line names, and prints the paths of the packages.
func run(arguments []string) error {
	var p packing
	var date string
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	flags.StringVar(&p.version, "version", "", "the program's version")
	flags.StringVar(&date, "date", "", "the time of all files, in the form of RFC 3339; 1980 without it")
	flags.StringVar(&p.sources, "sources", "..", "the root of the repository")
	flags.StringVar(&p.out, "out", "", "the folder to write into")
	flags.IntVar(&p.level, "level", flate.BestCompression, "how hard to compress, from 1 to 9")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if p.version == "" || p.out == "" || flags.NArg() == 0 {
		return errors.New("-version, -out and at least one SYSTEM/PROCESSOR=PROGRAM are needed")
	}
	var err error
	if p.made, err = timeOf(date); err != nil {
		return err
	}
	for _, pair := range flags.Args() {
		if err := p.pack(pair); err != nil {
			return fmt.Errorf("%s: %w", pair, err)
		}
	}
	return p.npmCommands()
}

// pack packs one program, named as SYSTEM/PROCESSOR=PATH.
func (p packing) pack(pair string) error {
	target, path, _ := strings.Cut(pair, "=")
	at := slices.IndexFunc(systems, func(s system) bool { return s.target == target })
	if at < 0 {
		return fmt.Errorf("there is no system of this name; there are %s", strings.Join(targets(), ", "))
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := p.wheel(systems[at], program); err != nil {
		return err
	}
	return p.npmProgram(systems[at], program)
}

// timeOf reads a date. A zip can have no time before 1980.
func timeOf(date string) (time.Time, error) {
	first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if date == "" {
		return first, nil
	}
	made, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return first, fmt.Errorf("-date must be as 2026-11-30T07:00:00Z, and is %q", date)
	}
	if made = made.UTC(); made.Before(first) {
		made = first
	}
	return made, nil
}

// source reads a file of the repository.
func (p packing) source(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.sources, name))
}

// write writes a finished package and prints its path.
func (p packing) write(name string, content []byte) error {
	path := filepath.Join(p.out, name)
	// Others install the packages, whatever the umask is.
	if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // nothing in a package is secret
		return err
	}
	fmt.Println(path)
	return nil
}

// file is one file of a package.
type file struct {
	name       string
	content    []byte
	executable bool
}

// mode is the file's mode, which does not depend on how the sources were checked out.
func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}
