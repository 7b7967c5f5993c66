//go:build unix

package database

import (
	"errors"
	"os"
	"syscall"
)

// namesOf returns how many names an open file has.
func namesOf(file *os.File) (uint64, error) {
	found, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return uint64(found.Sys().(*syscall.Stat_t).Nlink), nil //nolint:unconvert // its type differs between systems
}

// removesOpenFiles says that the system can remove the name of a file that is open.
const removesOpenFiles = true

// lockExclusively locks a file until it is closed. taken says that another process holds it.
func lockExclusively(file *os.File) (taken bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err
}
