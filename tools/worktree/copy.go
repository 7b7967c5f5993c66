// Package worktree copies the repository for tools that change code and run its tests.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Copy copies the working tree at root, with all that git does not ignore, into a new directory whose name begins with prefix. What the
// scripts have installed is shared.
func Copy(ctx context.Context, root, prefix string) (string, error) {
	listing := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names, err := listing.Output()
	if err != nil {
		return "", fmt.Errorf("git lists no files: %w", err)
	}
	directory, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		if err := copyFile(filepath.Join(root, string(name)), filepath.Join(directory, string(name))); err != nil {
			return "", errors.Join(err, os.RemoveAll(directory))
		}
	}
	if err := os.Symlink(filepath.Join(root, ".cache"), filepath.Join(directory, ".cache")); err != nil {
		return "", errors.Join(err, os.RemoveAll(directory))
	}
	return directory, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // git lists a file that somebody has removed
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
