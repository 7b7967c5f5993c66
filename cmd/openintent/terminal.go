package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// terminal is where commands read and print.
type terminal struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// quiet leaves out notes and progress.
	quiet bool
	// ticks say when progress is shown; nil means at the usual times. Only tests set it.
	ticks <-chan time.Time
}

// standardTerminal returns the terminal on which the program was started.
func standardTerminal() terminal {
	return terminal{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
}

// warn prints a warning about something that does not stop a command.
func (t terminal) warn(format string, arguments ...any) {
	_, _ = fmt.Fprintln(t.stderr, "openintent: warning:", oneLine(fmt.Sprintf(format, arguments...)))
}

// note prints something for people in addition to a command's output.
func (t terminal) note(format string, arguments ...any) {
	if t.quiet {
		return
	}
	_, _ = fmt.Fprintln(t.stderr, oneLine(fmt.Sprintf(format, arguments...)))
}

// logger returns the log of a command that runs for long.
func (t terminal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(t.stderr, nil)) }

// complain prints an error as one line, whatever its causes contain.
func (t terminal) complain(err error) {
	_, _ = fmt.Fprintln(t.stderr, "openintent:", oneLine(sentence(err)))
}

// colours reports whether standard output shows colours: on a terminal, unless the user wants none.
func (t terminal) colours() bool {
	return isTerminal(t.stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// width returns how many columns a line of standard output has; 0 means any number, as in a file or a pipe.
func (t terminal) width() int { return widthOf(t.stdout) }

func widthOf(stream any) int {
	file, ok := stream.(*os.File)
	if !ok || !isTerminal(file) {
		return 0
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
