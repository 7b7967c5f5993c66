package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Python returns the path of a Python that has the packages of scripts/python-requirements.txt. It installs the
// packages if necessary.
var Python = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("OPENINTENT_TEST_PYTHON"); path != "" {
		return path, nil
	}
	_, here, _, _ := runtime.Caller(0)
	command := exec.Command(filepath.Join(filepath.Dir(here), "../../scripts/python-env.sh"))
	command.Stderr = os.Stderr
	output, err := command.Output()
	return strings.TrimSpace(string(output)), err
})
