//go:build unix && !linux

package database

import "os"

// lockContents locks nothing on systems whose locks would end when SQLite closes the file, or keep SQLite itself away. There two processes
// can open a file that somebody renames while one of them has it open.
func lockContents(*os.File) (taken bool, err error) { return false, nil }
