package database

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	codes "modernc.org/sqlite/lib"
)

// explainFull puts before an error of a start what is full and what to do, if the cause is that nothing more can be stored. It leaves other
// errors as they are.
func explainFull(err error, address string) error {
	place := "the database's server"
	if path, isFile := strings.CutPrefix(address, "sqlite:"); isFile {
		place = path
	}
	switch code := sqliteCode(err); {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), code&0xff == codes.SQLITE_FULL, postgresCode(err) == "53100":
		return fmt.Errorf("the disk of %s is full, or its owner's share of it; free some space there, or move the database, and start again: %w", place, err)
	case errors.Is(err, syscall.EROFS), code&0xff == codes.SQLITE_READONLY, postgresCode(err) == "25006":
		return fmt.Errorf("%s takes no writes; make it writable and start again: %w", place, err)
	case errors.Is(err, syscall.EFBIG), code == codes.SQLITE_IOERR_WRITE, code == codes.SQLITE_IOERR_SHMSIZE, code == codes.SQLITE_IOERR_TRUNCATE:
		return fmt.Errorf("%s cannot grow; look at the free space of its disk and at the limit of file sizes (ulimit -f), and start again: %w", place, err)
	}
	return err
}
