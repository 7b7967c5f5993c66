package main

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionSaysWhatTheBuildKnows(t *testing.T) {
	info := func(pairs ...string) *debug.BuildInfo {
		made := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			made.Settings = append(made.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return made
	}
	clean := info("vcs.revision", "8ee02b0d", "vcs.time", "2026-11-22T15:51:10Z", "vcs.modified", "false")
	changed := info("vcs.revision", "8ee02b0d", "vcs.time", "2026-11-22T15:51:10Z", "vcs.modified", "true")
	for want, test := range map[string]struct {
		told build
		info *debug.BuildInfo
	}{
		"(commit 8ee02b0d, date 2026-11-22T15:51:10Z)": {build{}, clean},
		"(commit 8ee02b0d-dirty, date unknown)":        {build{}, changed},
		"(commit unknown, date unknown)":               {build{}, info()},
		"(commit abc, date unknown)":                   {build{commit: "abc"}, clean},
		"(commit abc, date 2027)":                      {build{"abc", "2027"}, nil},
		"(commit 8ee02b0d, date 2026-11-23)":           {build{date: "2026-11-23"}, clean},
	} {
		require.Equal(t, "openintent "+version+" "+want, newBuild(test.told, test.info).String())
	}
}

// The SDKs have the program's version. A release has its section in the changelog, and the image of its protos.
func TestARelease(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, read("sdk/python/pyproject.toml"), "\nversion = \""+version+"\"\n")
	require.Contains(t, read("sdk/typescript/package.json"), "\n  \"version\": \""+version+"\",\n")
	released := strings.TrimSuffix(version, "-dev")
	if released != version {
		return // not yet
	}
	require.Contains(t, read("CHANGELOG.md"), "\n## ["+released+"] - 20")
	require.NotEmpty(t, read("proto/released/"+released+".binpb"))
}
