package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"openintent/e2e/harness"
)

// The script itself compiles both forms and compares them.
func TestTheProtosForOtherLanguages(t *testing.T) {
	p := place{folder: t.TempDir()}
	p.output(t, "tar xzf "+packaged(t, "scripts/package-protos.sh", t.TempDir())+" --strip-components=1")
	plain, err := os.ReadFile(filepath.Join(p.folder, "plain/openintent/v1/messages.proto"))
	require.NoError(t, err)
	require.Contains(t, string(plain), "rpc Ask(AskRequest) returns (Message);")
	require.Contains(t, string(plain), "[deprecated = true]")
	require.NotContains(t, string(plain), "validate")
	require.NotContains(t, string(plain), "google.api")

	written, err := os.ReadFile(filepath.Join(p.folder, "openintent.binpb"))
	require.NoError(t, err)
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(written, &set))
	packages := make(map[string]string)
	for _, file := range set.GetFile() {
		packages[file.GetPackage()] = file.GetOptions().GetJavaPackage() + " " + file.GetOptions().GetCsharpNamespace()
	}
	require.Equal(t, "org.openintent.v1 OpenIntent.V1", packages["openintent.v1"])
	require.Contains(t, packages, "google.protobuf", "with what they import")
}

// The commands and the program for Python in docs/grpc.md work, also when the channel is there already.
func TestTheGeneratedClientInPython(t *testing.T) {
	interpreter := harness.Prepare(t, root, "scripts/python-env.sh", "grpc-python", "e2e/examples/testdata/grpc-requirements.txt")
	p := place{folder: t.TempDir(), environment: []string{
		"PATH=" + filepath.Dir(strings.TrimSpace(interpreter)) + string(os.PathListSeparator) + os.Getenv("PATH"), "PYTHONPATH=",
	}}
	archive := packaged(t, "scripts/package-protos.sh", p.folder)
	require.Equal(t, p.folder, filepath.Dir(archive))

	_, section, found := strings.Cut(page(t, "docs/grpc.md"), "**Python**")
	require.True(t, found)
	behind := func(language string) string { return blockBehind(t, "\n# Python\n"+section, "# Python", language) }
	commands, installing := strings.Replace(behind("sh"), "pip install grpcio-tools grpcio-status\n", "", 1), behind("sh")
	require.NotEqual(t, installing, commands, "the test has what the page installs")
	p.output(t, commands)

	h := harness.StartProcess(t, harness.Options{})
	program := strings.ReplaceAll(behind("python"), "127.0.0.1:50051", h.GRPCAddress())
	program = strings.ReplaceAll(program, "dev-key-001", harness.Key)
	folders, err := filepath.Glob(filepath.Join(p.folder, "openintent-protos-*", "plain"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	p.folder = filepath.Dir(folders[0])
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "first.py"), []byte(program), 0o600))
	for range 2 {
		require.Equal(t, behind("text"), p.output(t, "python first.py"))
	}
}
