package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionSaysWhatTheBuildKnows(t *testing.T) {
	info := func(version string, pairs ...string) *debug.BuildInfo {
		made := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(pairs); i += 2 {
			made.Settings = append(made.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return made
	}
	clean := info("v0.1.0", "vcs.revision", "8ee02b0d", "vcs.time", "2026-11-22T15:51:10Z", "vcs.modified", "false")
	changed := info("v0.1.1-0.2026+dirty", "vcs.revision", "8ee02b0d", "vcs.time", "2026-11-22T15:51:10Z", "vcs.modified", "true")
	for want, test := range map[string]struct {
		told build
		info *debug.BuildInfo
	}{
		"openintent 0.1.0 (commit 8ee02b0d, date 2026-11-22T15:51:10Z)":       {build{}, clean},
		"openintent 0.1.1-0.2026+dirty (commit 8ee02b0d-dirty, date unknown)": {build{}, changed},
		"openintent unknown (commit unknown, date unknown)":                   {build{}, info("(devel)")},
		"openintent 0.2.0 (commit 8ee02b0d, date 2026-11-22T15:51:10Z)":       {build{version: "v0.2.0"}, clean},
		"openintent 0.1.0 (commit abc, date unknown)":                         {build{commit: "abc"}, clean},
		"openintent 0.3.0 (commit abc, date 2027)":                            {build{"0.3.0", "abc", "2027"}, nil},
		"openintent 0.3.0 (commit unknown, date unknown)":                     {build{version: "0.3.0"}, info("")},
		"openintent 0.1.0 (commit 8ee02b0d, date 2026-11-23)":                 {build{date: "2026-11-23"}, clean},
	} {
		require.Equal(t, want, newBuild(test.told, test.info).String())
	}
}
