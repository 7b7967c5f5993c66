package database

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockContents locks what a file holds, whatever its name, until the file is closed. The byte that it locks lies beyond those of a database
// and of SQLite's own locks. The lock belongs to this opening of the file, so it lasts when SQLite closes another one.
func lockContents(file *os.File) (taken bool, err error) {
	region := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 1 << 62, Len: 1}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &region)
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES), err
}
