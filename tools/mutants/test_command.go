package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	// mostMemory is how many bytes the tests of one mutant may use. The tests of the code as it stands use a twentieth of it. A mutant
	// that asks for memory without end would otherwise take all that the machine has.
	mostMemory = 4 << 30
	// memoryEach is how often their memory is looked at.
	memoryEach = 100 * time.Millisecond
)

// testCommand runs a built test, and kills it when it uses more than so many bytes. That is a failed test, by which the mutant is killed, and
// says nothing of the machine.
func testCommand(arguments []string, most int64) (code int) {
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	look := time.NewTicker(memoryEach)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			var failed *exec.ExitError
			if errors.As(err, &failed) && !failed.Exited() {
				fmt.Fprintln(os.Stderr, "mutants: the test ended by", failed.ProcessState)
				return 1
			}
			return command.ProcessState.ExitCode()
		case <-look.C:
			if used := memoryOf(command.Process.Pid); used > most {
				fmt.Fprintf(os.Stderr, "mutants: the test used %d MiB and was ended\n", used>>20)
				_ = command.Process.Kill()
				<-ended
				return 1
			}
		}
	}
}

// memoryOf returns how many bytes of memory a process uses, or 0 if the system does not say.
func memoryOf(pid int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(content)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
