package examples

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// root is the path of the repository from this package.
const root = "../.."

// place is a copy of the examples, with an SDK installed from its package.
type place struct {
	folder string
	// environment is added to the environment of the test.
	environment []string
}

// newPlace copies the examples.
func newPlace(t *testing.T) place {
	t.Helper()
	p := place{folder: t.TempDir()}
	require.NoError(t, os.CopyFS(filepath.Join(p.folder, "examples"), os.DirFS(filepath.Join(root, "examples"))))
	return p
}

// output runs a line of shell in the place and returns what it prints.
func (p place) output(t *testing.T, line string, environment ...string) string {
	t.Helper()
	running := harness.Command(p.folder, "bash", "-c", line)
	running.Env = append(append(os.Environ(), p.environment...), environment...)
	var trouble strings.Builder
	running.Stderr = &trouble
	output, err := running.Output()
	require.NoError(t, err, "%s\nprinted:\n%s\n%s", line, output, trouble.String())
	return string(output)
}

// requireWithin checks that a program found its SDK in the folder where it was installed, and not among the sources.
func requireWithin(t *testing.T, folder, found string) {
	t.Helper()
	inside, err := filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	found, err = filepath.EvalSymlinks(strings.TrimSpace(found))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(found, inside+string(filepath.Separator)), "%s is not in %s", found, inside)
}

// installedOnce installs the SDK of a language from its package, once for all tests, and returns the path that the script prints.
func installedOnce(t *testing.T, language string) string {
	t.Helper()
	if installations[language] == "" {
		installations[language] = packaged(t, "scripts/examples-env.sh", language)
	}
	return installations[language]
}

// installations are the paths of what is installed, by language. The tests run one after the other.
var installations = make(map[string]string)

// packaged runs the script that builds or installs a package and returns the path that the script prints.
func packaged(t *testing.T, script string, arguments ...string) string {
	t.Helper()
	building := harness.Command(root, script, arguments...)
	var trouble strings.Builder
	building.Stderr = &trouble
	output, err := building.Output()
	require.NoError(t, err, trouble.String())
	return strings.TrimSpace(string(output))
}

// withGo unpacks the Go module next to a module for the examples, which requires it.
func withGo(t *testing.T) place {
	t.Helper()
	p := newPlace(t)
	archive, err := zip.OpenReader(packaged(t, "scripts/package-go.sh", t.TempDir()))
	require.NoError(t, err)
	defer func() { require.NoError(t, archive.Close()) }()
	require.NoError(t, os.CopyFS(p.folder, archive))
	modules, err := filepath.Glob(filepath.Join(p.folder, "openintent-*"))
	require.NoError(t, err)
	require.Len(t, modules, 1)
	module := filepath.Base(modules[0])

	p.environment = []string{"GOWORK=off"}
	p.output(t, "cd "+module+" && go build ./...")
	// With the module's own sums, Go need not ask the network for anything.
	p.output(t, "go mod init example.com/try && cp "+module+"/go.sum .")
	p.output(t, requiring(t, module))
	// The module has all sums that were needed. It has more: those of OpenTelemetry, which only its tracer needs.
	p.output(t, "! comm -23 <(cut -d' ' -f1,2 go.sum | sort) <(cut -d' ' -f1,2 "+module+"/go.sum | sort) | grep .")
	requireWithin(t, modules[0], p.output(t, "go list -f '{{.Dir}}' openintent/sdk/go"))
	return p
}

// withPython installs the wheel.
func withPython(t *testing.T) place {
	t.Helper()
	harness.Prepare(t, root, "scripts/python-env.sh", "python-package", "sdk/python/package-requirements.txt")
	p := newPlace(t)
	interpreter := installedOnce(t, "python")
	environment := filepath.Dir(filepath.Dir(interpreter))
	p.environment = []string{"PATH=" + filepath.Dir(interpreter) + string(os.PathListSeparator) + os.Getenv("PATH"), "PYTHONPATH="}
	requireWithin(t, environment, p.output(t, "python -c 'import openintent_channels; print(openintent_channels.__file__)'"))
	return p
}

// withTypeScript installs the npm package.
func withTypeScript(t *testing.T) place {
	t.Helper()
	path := harness.Prepare(t, root, "scripts/node.sh", "bash", "-c", "scripts/node-env.sh >/dev/null && echo $PATH")
	p := newPlace(t)
	p.environment = []string{"PATH=" + path}
	modules := installedOnce(t, "typescript")
	example := filepath.Join(p.folder, "examples/clarification/typescript")
	for _, left := range []string{"build", "node_modules", "package-lock.json"} { // left by somebody who tried the example in the checkout
		require.NoError(t, os.RemoveAll(filepath.Join(example, left)))
	}
	require.NoError(t, os.Symlink(modules, filepath.Join(example, "node_modules")))
	found := p.output(t, `cd examples/clarification/typescript &&
		node --input-type=module -e 'console.log(new URL(import.meta.resolve("@openintent/channels")).pathname)'`)
	requireWithin(t, filepath.Join(modules, "@openintent"), found)
	return p
}
