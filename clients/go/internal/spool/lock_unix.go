//go:build unix

package spool

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lock takes the directory for this process: the system lets go of it when the process ends, however that is. That a
// process on another machine has the directory cannot be seen.
func lock(directory string) (*os.File, error) {
	path := filepath.Join(directory, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, failed(path, "cannot be taken", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &Error{Problem: InUse, File: path, What: "the directory is in use; each producer needs one of its own"}
	}
	return nil, failed(path, "cannot be taken", err)
}

func unlock(file *os.File) { _ = file.Close() }
