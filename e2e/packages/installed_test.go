package packages

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// packed packs the program for this system as `make package` does, but for how hard it compresses, and returns the packages whose names
// match a pattern.
func packed(t *testing.T, pattern string) []string {
	t.Helper()
	folder := t.TempDir()
	packing := harness.Command(filepath.Join(root, "tools"), "go", "run", "./packages", "-version", programVersion(t), "-sources", "..",
		"-out", folder, "-level", "1", runtime.GOOS+"/"+runtime.GOARCH+"="+harness.Executable(t))
	output, err := packing.CombinedOutput()
	require.NoError(t, err, "%s", output)
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// done runs a command to its end and returns its exit code and what it said on standard output and standard error.
func done(t *testing.T, command *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, trouble strings.Builder
	command.Stdout, command.Stderr = &out, &trouble
	if err := command.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return command.ProcessState.ExitCode(), out.String(), trouble.String()
}

// does runs a command that succeeds and returns what it prints.
func does(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	code, stdout, stderr := done(t, exec.Command(name, arguments...))
	require.Zero(t, code, "%s %s\n%s%s", name, arguments, stdout, stderr)
	return stdout
}

// Whoever installs the wheel has the program, as one command, and nothing else. The PATH has neither Go nor anything else.
func TestTheWheelIsTheWholeProgram(t *testing.T) {
	python, err := harness.Python()
	require.NoError(t, err)
	wheel := packed(t, "*.whl")
	environment := filepath.Join(t.TempDir(), "environment")
	does(t, python, "-m", "venv", "--without-pip", environment)
	commands := filepath.Join(environment, "bin")
	does(t, filepath.Join(root, ".cache/python-installer/bin/pip"), "--python", filepath.Join(commands, "python"),
		"install", "--no-index", "--quiet", "--disable-pip-version-check", wheel[0])
	t.Setenv("PATH", commands)

	found, err := os.ReadDir(commands)
	require.NoError(t, err)
	installed := slices.DeleteFunc(found, func(entry os.DirEntry) bool {
		return strings.HasPrefix(entry.Name(), "python") || strings.HasPrefix(strings.ToLower(entry.Name()), "activate")
	})
	require.Len(t, installed, 1, "%s", installed)
	require.Equal(t, "openintentd", installed[0].Name())
	require.Contains(t, does(t, "openintentd", "version"), "openintent "+programVersion(t)+" ")
	require.Contains(t, does(t, "openintentd", "help"), "Usage: openintentd <command>")
	require.Contains(t, does(t, "openintentd", "completion", "bash"), " openintentd complete bash ")
	requireDemo(t, exec.Command("openintentd", "demo", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--pace=10ms"))
}

// requireDemo checks that agents answer in a demonstration, and that it ends when it is told to.
func requireDemo(t *testing.T, demo *exec.Cmd) {
	t.Helper()
	var trouble strings.Builder
	demo.Stderr = &trouble
	output, err := demo.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, demo.Start())
	answered := false
	for said := bufio.NewScanner(output); !answered && said.Scan(); {
		answered = strings.Contains(said.Text(), " has built ")
	}
	require.NoError(t, demo.Process.Signal(syscall.SIGTERM))
	_ = demo.Wait() // whether an act of the team was under way does not matter
	require.True(t, answered, "%s", &trouble)
}

// installedByNpm installs both packages, offline and in one command, and leaves a PATH that has node alone. It returns the folder.
func installedByNpm(t *testing.T) string {
	t.Helper()
	path := harness.Prepare(t, root, "scripts/node.sh", "bash", "-c", "echo $PATH")
	t.Setenv("PATH", path)
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	folder := t.TempDir()
	does(t, "npm", append([]string{
		"install", "--prefix", folder, "--offline", "--cache", t.TempDir(), "--no-audit", "--no-fund", "--loglevel=error",
	}, packed(t, "*.tgz")...)...)
	alone := t.TempDir()
	require.NoError(t, os.Symlink(node, filepath.Join(alone, "node")))
	t.Setenv("PATH", alone)
	return folder
}

// The server runs behind the launcher as it does alone: it answers, ends when it is told to, and its exit code is passed on.
func TestTheNpmPackagesRunTheProgram(t *testing.T) {
	folder := installedByNpm(t)
	command := filepath.Join(folder, "node_modules/.bin/openintent")
	for _, name := range []string{"openintent", "openintentd"} {
		require.Contains(t, does(t, filepath.Join(filepath.Dir(command), name), "version"), "openintent "+programVersion(t)+" ")
	}
	server := harness.StartProcess(t, harness.Options{Program: command})
	require.Equal(t, "ready\n", does(t, command, "health", server.HTTPAddress()))
	require.NoError(t, server.Stop())
	require.Contains(t, server.Log(), `"msg":"stopping"`, "the program was told, and not only its launcher")

	code, _, stderr := done(t, exec.Command(command, "dance"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "openintent: there is no command dance")
}

// What is wrong with an installation is one sentence that says what to do, and no stack.
func TestTheLauncherSaysWhatIsMissing(t *testing.T) {
	folder := installedByNpm(t)
	command := filepath.Join(folder, "node_modules/.bin/openintent")
	program, err := filepath.Glob(filepath.Join(folder, "node_modules/@openintent/server-*"))
	require.NoError(t, err)
	require.Len(t, program, 1)
	name := "@openintent/" + filepath.Base(program[0])
	refused := func() string {
		code, stdout, stderr := done(t, exec.Command(command, "version"))
		require.Equal(t, 126, code)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		return stderr
	}

	manifest := filepath.Join(program[0], "package.json")
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	other := strings.ReplaceAll(string(text), programVersion(t), "0.0.1")
	require.NoError(t, os.WriteFile(manifest, []byte(other), 0o600))
	require.Equal(t, "openintent: "+name+" has version 0.0.1 and @openintent/server has "+programVersion(t)+
		". Install both in the same version.\n", refused())

	require.NoError(t, os.RemoveAll(program[0]))
	require.Contains(t, refused(), "openintent: the package "+name+", which holds the program for this system, is not installed. "+
		"Install it beside @openintent/server, in the same version ("+programVersion(t)+").")

	launcher := filepath.Join(folder, "node_modules/@openintent/server/bin/openintent.js")
	text, err = os.ReadFile(launcher)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(launcher, []byte(strings.Replace(string(text), "process.platform", `"plan9"`, 1)), 0o600))
	require.Contains(t, refused(), "openintent: there is no program for plan9-")
}
