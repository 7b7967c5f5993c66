package main

import (
	"fmt"
	"runtime/debug"
)

// version is set by the release build (-ldflags "-X main.version=...").
var version = ""

// versionCommand prints the version.
type versionCommand struct{}

// Run prints the version: the release's, or what the Go tool knows about the build.
func (versionCommand) Run(to terminal) error {
	_, err := fmt.Fprintln(to.stdout, "openintent", currentVersion())
	return err
}

func currentVersion() string {
	if version != "" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "unknown"
}
