package packages

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// instructions returns the instructions of the image's last stage by their names, with continued lines as one.
func instructions(t *testing.T) map[string][]string {
	_, last, found := strings.Cut(read(t, "Dockerfile"), "\nFROM scratch\n")
	require.True(t, found, "the image begins with nothing")
	require.NotContains(t, last, "\nFROM ")
	all := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(last, "\\\n", " ")) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && name != "#" {
			all[name] = append(all[name], strings.TrimSpace(arguments))
		}
	}
	return all
}

func TestTheImageHoldsTheProgramAndRunsItWithoutRights(t *testing.T) {
	image := instructions(t)
	require.Equal(t, []string{"65532:65532"}, image["USER"], "a number, so that Kubernetes knows that it is not root")
	require.Equal(t, []string{"--from=build --chown=65532:65532 /image/data /data"}, image["COPY"][2:], "the user's only folder")
	require.Empty(t, image["RUN"])
	require.Empty(t, image["ADD"])
	for name, want := range map[string][]string{"ENTRYPOINT": {"/openintent"}, "CMD": {"serve"}} {
		var words []string
		require.Len(t, image[name], 1)
		require.NoError(t, json.Unmarshal([]byte(image[name][0]), &words), "there is no shell, so it is a list")
		require.Equal(t, want, words)
	}
	_, probe, found := strings.Cut(image["HEALTHCHECK"][0], " CMD ")
	require.True(t, found)
	require.Equal(t, `["/openintent", "health"]`, probe)
}

func TestTheImagesVariablesAreSettings(t *testing.T) {
	known := settings()
	for _, word := range strings.Fields(instructions(t)["ENV"][0]) {
		name, value, _ := strings.Cut(word, "=")
		require.Contains(t, known, name)
		require.NotContains(t, name, "KEY")
		if name == "OPENINTENT_STOP_TIMEOUT" {
			timeout, err := time.ParseDuration(value)
			require.NoError(t, err)
			require.Less(t, timeout, 10*time.Second, "Docker kills after ten seconds")
		}
	}
}

func TestTheImageIsBuiltWithTheGoOfTheModule(t *testing.T) {
	version := strings.TrimSuffix(values(read(t, "go.mod"), "go ")[0], ".0")
	require.Contains(t, read(t, "Dockerfile"), "FROM --platform=$BUILDPLATFORM golang:"+version+" AS build\n")
}
