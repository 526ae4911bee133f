package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// makeDirectory makes it, with those above it, and makes the names of all that it made safe.
func makeDirectory(path string) error {
	var parents []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return failed(path, "cannot be made", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return failed(path, "cannot be looked at", err)
	}
	if !info.IsDir() {
		return failed(path, "is no directory", errors.ErrUnsupported)
	}
	for _, parent := range parents {
		if err := syncDirectory(parent); err != nil {
			return failed(parent, "cannot be synced, so that a power cut may lose the spool", err)
		}
	}
	return nil
}

// syncDirectory: a file whose name is not on disk is not there after a power cut. Windows has no such call and needs none.
// A variable, so that a test sees what is synced.
var syncDirectory = func(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	return directory.Sync()
}
