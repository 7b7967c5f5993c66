package main

import (
	"fmt"
	"regexp"
)

// system is one of those that a release has programs for.
type system struct {
	// target is its name in Go.
	target string
	// platforms are the tags of its wheel. The program is linked statically, so that any Linux will do.
	platforms []string
	// os and cpu are its names in Node.js.
	os, cpu string
}

// The wheel of Linux names the oldest C library that pip knows of each kind, and macOS the oldest that Go's programs run on.
var systems = []system{
	{"linux/amd64", []string{"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}, "linux", "x64"},
	{"linux/arm64", []string{"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}, "linux", "arm64"},
	{"darwin/amd64", []string{"macosx_12_0_x86_64"}, "darwin", "x64"},
	{"darwin/arm64", []string{"macosx_12_0_arm64"}, "darwin", "arm64"},
	{"windows/amd64", []string{"win_amd64"}, "win32", "x64"},
	{"windows/arm64", []string{"win_arm64"}, "win32", "arm64"},
}

func targets() (names []string) {
	for _, s := range systems {
		names = append(names, s.target)
	}
	return names
}

// program is the name that a program has on the system.
func (s system) program(name string) string {
	if s.os == "win32" {
		return name + ".exe"
	}
	return name
}

var versionForm = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(dev|alpha|beta|rc)(?:\.(\d+))?)?$`)

// pythonVersion writes a version as Python does: 0.3.0-dev is 0.3.0.dev0, 0.3.0-rc.1 is 0.3.0rc1.
func pythonVersion(version string) (string, error) {
	parts := versionForm.FindStringSubmatch(version)
	if parts == nil {
		return "", fmt.Errorf("a version is as 0.3.0, 0.3.0-dev or 0.3.0-rc.1, and this one is %q", version)
	}
	name := map[string]string{"": "", "dev": ".dev", "alpha": "a", "beta": "b", "rc": "rc"}[parts[2]]
	number := parts[3]
	if name != "" && number == "" {
		number = "0"
	}
	return parts[1] + name + number, nil
}
