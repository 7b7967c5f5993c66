package packages

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"openintent/e2e/harness"
)

// linuxPackage is what the tests read of the description of the packages for Linux.
type linuxPackage struct {
	Contents []struct {
		Src, Dst, Type, Packager string
	}
	Overrides map[string]struct{ Scripts map[string]string }
}

func describedForLinux(t *testing.T) (p linuxPackage) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/linux/nfpm.yaml")), &p))
	return p
}

// The unit names files that each package brings, and a user that its scripts make.
func TestThePackagesForLinuxHoldWhatTheUnitNames(t *testing.T) {
	unit := strings.ReplaceAll(read(t, "deploy/systemd/openintent.service"), "/usr/local/bin/", "/usr/bin/")
	command := strings.Fields(values(unit, "ExecStart=")[0])
	user, data := values(unit, "User=")[0], values(unit, "WorkingDirectory=")[0]
	settings := command[slices.Index(command, "--settings-file")+1]
	for _, packager := range []string{"deb", "rpm"} {
		var destinations, kept []string
		for _, content := range describedForLinux(t).Contents {
			if content.Packager == "" || content.Packager == packager {
				destinations = append(destinations, content.Dst)
				if strings.HasPrefix(content.Type, "config") {
					kept = append(kept, content.Dst)
				}
			}
		}
		require.Contains(t, destinations, command[0], packager)
		require.Equal(t, []string{settings}, kept, "an upgrade of the %s keeps the settings", packager)
		scripts := ""
		for _, script := range describedForLinux(t).Overrides[packager].Scripts {
			scripts += read(t, "deploy/linux/"+script)
		}
		require.Regexp(t, `(adduser|useradd) .*--home(-dir)? `+data+` .*`+user+"\n", scripts, packager)
		require.NotContains(t, scripts, "enable --now", "the server would take the development key")
	}
}

func TestTheScriptsOfPackagesAreScripts(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(root, "deploy/linux/*/*"))
	require.NoError(t, err)
	var used []string
	for _, packager := range describedForLinux(t).Overrides {
		for _, script := range packager.Scripts {
			used = append(used, filepath.Join(root, "deploy/linux", script))
		}
	}
	require.ElementsMatch(t, used, found)
	for _, script := range found {
		checked, err := harness.Command(filepath.Dir(script), "sh", "-n", filepath.Base(script)).CombinedOutput()
		require.NoError(t, err, "%s: %s", script, checked)
	}
}
