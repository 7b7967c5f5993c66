//go:build unix

package server

import "syscall"

// mostDescriptors returns how many files the process may have open; 0 if that is not known.
func mostDescriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30)) //nolint:unconvert // its type differs between systems
}
