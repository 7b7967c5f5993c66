package main

import (
	"fmt"
	"runtime/debug"
)

// version is that of the sources. Between two releases it is the next one with -dev at its end.
const version = "0.3.0-dev"

// These are set by a build that names them (-ldflags "-X main.commit=..."); see build in the Makefile.
var commit, date string

// unknown stands for what nobody has told the build.
const unknown = "unknown"

// versionCommand prints the version.
type versionCommand struct{}

// Run prints the version with the commit and its date.
func (versionCommand) Run(to terminal) error {
	_, err := fmt.Fprintln(to.stdout, thisBuild())
	return err
}

// build is where the program comes from.
type build struct{ commit, date string }

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return newBuild(build{commit, date}, info)
}

// newBuild returns what the build was told and, for the rest, what the Go tool has found out about the checkout. A
// commit from which the sources differ is marked so, and its date is not that of the sources. info may be nil.
func newBuild(told build, info *debug.BuildInfo) build {
	found := build{}
	if info != nil {
		found = checkout(info)
	}
	if told.commit != "" { // then the checkout's date is another commit's
		found.date = ""
	}
	return build{commit: first(told.commit, found.commit), date: first(told.date, found.date)}
}

// checkout reads what the Go tool has found out.
func checkout(info *debug.BuildInfo) (found build) {
	settings := make(map[string]string)
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	found.commit, found.date = settings["vcs.revision"], settings["vcs.time"]
	if settings["vcs.modified"] == "true" {
		found.commit, found.date = found.commit+"-dirty", ""
	}
	return found
}

// first returns the first text that is not empty, or unknown.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return unknown
}

// String returns one line for people and scripts.
func (b build) String() string {
	return fmt.Sprintf("openintent %s (commit %s, date %s)", version, b.commit, b.date)
}
