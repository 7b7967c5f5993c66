package packages

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/server"
)

// root is the path of the repository from this package.
const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// settings returns the settings of the server: the flag of each by its variable.
func settings() map[string]string {
	flags := make(map[string]string)
	config := reflect.TypeFor[server.Config]()
	for i := range config.NumField() {
		if variable := config.Field(i).Tag.Get("env"); variable != "" {
			flags[variable] = config.Field(i).Tag.Get("name")
		}
	}
	return flags
}

// programVersion is the version of the sources.
func programVersion(t *testing.T) string {
	found := regexp.MustCompile(`(?m)^const version = "(.*)"$`).FindStringSubmatch(read(t, "cmd/openintent/version.go"))
	require.NotNil(t, found)
	return found[1]
}

// values returns what follows each "name=" or "name " at the beginning of a line.
func values(text, name string) (found []string) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			found = append(found, value)
		}
	}
	return found
}
