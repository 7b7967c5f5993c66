package database

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// removesOpenFiles says that the system cannot remove the name of a file that is open; a lock's file stays.
const removesOpenFiles = false

// lockExclusively locks a file until it is closed. taken says that another process holds it.
func lockExclusively(file *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{})
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err
}
