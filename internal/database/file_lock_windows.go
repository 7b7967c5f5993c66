package database

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockContents locks what a file holds, whatever its name, until the file is closed. The bytes that it locks lie beyond those of a database
// and of SQLite's own locks.
func lockContents(file *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err
}

// namesOf returns how many names an open file has.
func namesOf(file *os.File) (uint64, error) {
	var found windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &found)
	return uint64(found.NumberOfLinks), err
}

// removesOpenFiles says that the system cannot remove the name of a file that is open; a lock's file stays.
const removesOpenFiles = false

// lockExclusively locks a file until it is closed. taken says that another process holds it.
func lockExclusively(file *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{})
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err
}
