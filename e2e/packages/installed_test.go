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

// Whoever has no Go installs the packages of this system and runs the program, with a PATH that has nothing else.
func TestTheProgramWithoutGo(t *testing.T) {
	folder := packed(t)
	t.Run("from the wheel", func(t *testing.T) { requireWheel(t, named(t, folder, "*.whl")[0]) })
	t.Run("from the npm packages", func(t *testing.T) {
		installed := installedByNpm(t, named(t, folder, "*.tgz"))
		requireCommands(t, installed)
		requireSentences(t, installed)
	})
}

// packed packs the program for this system as `make package` does, but for how hard it compresses, and returns the folder of the packages.
func packed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	packing := harness.Command(filepath.Join(root, "tools"), "go", "run", "./packages", "-version", programVersion(t), "-sources", "..",
		"-out", folder, "-level", "1", runtime.GOOS+"/"+runtime.GOARCH+"="+harness.Executable(t))
	output, err := packing.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return folder
}

// named returns the files of a folder whose names match a pattern.
func named(t *testing.T, folder, pattern string) []string {
	t.Helper()
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

// requireWheel checks that the wheel brings the program, as one command, and nothing else.
func requireWheel(t *testing.T, wheel string) {
	t.Helper()
	python, err := harness.Python()
	require.NoError(t, err)
	environment := filepath.Join(t.TempDir(), "environment")
	does(t, python, "-m", "venv", "--without-pip", environment)
	commands := filepath.Join(environment, "bin")
	does(t, filepath.Join(root, ".cache/python-installer/bin/pip"), "--python", filepath.Join(commands, "python"),
		"install", "--no-index", "--quiet", "--disable-pip-version-check", wheel)
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
	require.Contains(t, does(t, "openintentd", "completion", "bash"), "(openintentd complete bash ")
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
func installedByNpm(t *testing.T, tarballs []string) string {
	t.Helper()
	path := harness.Prepare(t, root, "scripts/node.sh", "bash", "-c", "echo $PATH")
	t.Setenv("PATH", path)
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	folder := t.TempDir()
	does(t, "npm", append([]string{
		"install", "--prefix", folder, "--offline", "--cache", t.TempDir(), "--no-audit", "--no-fund", "--loglevel=error",
	}, tarballs...)...)
	alone := t.TempDir()
	require.NoError(t, os.Symlink(node, filepath.Join(alone, "node")))
	t.Setenv("PATH", alone)
	return folder
}

// requireCommands checks that the server runs behind the launcher as it does alone: it answers, ends when it is told to, and its exit code is
// passed on.
func requireCommands(t *testing.T, folder string) {
	t.Helper()
	command := filepath.Join(folder, "node_modules/.bin/openintent")
	for _, name := range []string{"openintent", "openintentd"} {
		require.Contains(t, does(t, filepath.Join(filepath.Dir(command), name), "version"), "openintent "+programVersion(t)+" ")
	}
	server := harness.StartProcess(t, harness.Options{Program: command})
	require.Equal(t, "ready\n", does(t, command, "health", strings.TrimPrefix(server.BaseURL(), "http://")))
	require.NoError(t, server.Stop())
	require.Contains(t, server.Log(), `"msg":"stopping"`, "the program was told, and not only its launcher")

	code, _, stderr := done(t, exec.Command(command, "dance"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "openintent: there is no command dance")
}

// requireSentences breaks the installation, and checks that what is wrong is one sentence that says what to do, and no stack.
func requireSentences(t *testing.T, folder string) {
	t.Helper()
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
	require.NoError(t, os.WriteFile(launcher, []byte(strings.ReplaceAll(string(text), "process.platform", `"plan9"`)), 0o600))
	require.Contains(t, refused(), "openintent: there is no program for plan9-")
}
