//go:build !unix

package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// lock takes the directory for this process with a file that is there as long as it has it. After a crash it is left, and
// has to be removed by hand.
func lock(directory string) (*os.File, error) {
	path := filepath.Join(directory, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		what := "the directory is in use; each producer needs one of its own. If its process is gone, remove the file"
		return nil, &Error{Problem: InUse, File: path, What: what}
	}
	if err != nil {
		return nil, failed(path, "cannot be taken", err)
	}
	return file, nil
}

func unlock(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}
