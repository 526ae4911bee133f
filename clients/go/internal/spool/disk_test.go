package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fails is a file whose next writes, or syncs, fail, a write after a part of it is written.
type fails struct {
	diskFile
	write, sync bool
}

var errFull = errors.New("no space left on device")

func (f *fails) Write(data []byte) (int, error) {
	if !f.write {
		return f.diskFile.Write(data)
	}
	_, _ = f.diskFile.Write(data[:len(data)/2])
	return len(data) / 2, errFull
}

func (f *fails) Sync() error {
	if f.sync {
		return errFull
	}
	return f.diskFile.Sync()
}

func opened(t *testing.T, directory string, count int) *Spool {
	t.Helper()
	s, torn, err := Open(Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: count, MaxBytes: 1 << 30})
	if err != nil || torn != nil {
		t.Fatal(err, torn)
	}
	t.Cleanup(s.Close)
	return s
}

func appended(s *Spool, name string) (told chan error) {
	told = make(chan error, 1)
	if err := s.Append([][]byte{Encode([]byte(name))}, func(err error) { told <- err }); err != nil {
		told <- err
	}
	return told
}

func left(t *testing.T, s *Spool) string {
	t.Helper()
	var names []string
	for {
		chunk, err := s.Read(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if chunk == nil {
			return strings.Join(names, " ")
		}
		names = append(names, string(chunk.Bodies[0]))
		if err := s.Advance(chunk); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADiskThatWasFullIsUsedAgainAndNothingOfItIsDamaged(t *testing.T) {
	for _, way := range []string{"write", "sync", "no new file"} {
		for _, restarted := range []bool{false, true} {
			t.Run(way, func(t *testing.T) {
				directory := t.TempDir()
				s := opened(t, directory, 1)
				if err := <-appended(s, "a"); err != nil {
					t.Fatal(err)
				}
				blocked := segmentPath(directory, 2)
				broken := &fails{s.active.file, way == "write", way == "sync"}
				switch way {
				case "no new file":
					s.Sync()
					if _, err := s.Read(1, 1); err != nil { // seals the first
						t.Fatal(err)
					}
					if err := os.Mkdir(blocked, 0o700); err != nil {
						t.Fatal(err)
					}
				default:
					s.active.file = broken
				}
				if err := <-appended(s, "b"); err == nil {
					t.Fatal("it was confirmed")
				}
				_ = os.Remove(blocked)
				broken.write, broken.sync = false, false
				if err := <-appended(s, "c"); err != nil {
					t.Fatal(err)
				}
				if s.Items() != 2 {
					t.Fatalf("%d items", s.Items())
				}
				if restarted {
					s.Close()
					s = opened(t, directory, 1)
				}
				if names := left(t, s); names != "a c" {
					t.Fatalf("left: %s", names)
				}
				if s.bytes != 0 || len(s.over) != 0 {
					t.Fatalf("%d bytes are counted of an empty spool", s.bytes)
				}
			})
		}
	}
}

func TestWhatWasWrittenBeforeAFailedWriteIsConfirmed(t *testing.T) {
	s := opened(t, t.TempDir(), 1_000)
	first := appended(s, "a")
	s.active.file = &fails{s.active.file, true, false}
	if err := <-appended(s, "b"); err == nil {
		t.Fatal("it was confirmed")
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if names := left(t, s); names != "a" {
		t.Fatalf("left: %s", names)
	}
}

func TestTheDirectoryOfANewSpoolIsSyncedInItsParent(t *testing.T) {
	var synced []string
	before := syncDirectory
	defer func() { syncDirectory = before }()
	syncDirectory = func(path string) error {
		synced = append(synced, path)
		return before(path)
	}
	root := t.TempDir()
	opened(t, filepath.Join(root, "a", "b"), 1).Close()
	for _, parent := range []string{root, filepath.Join(root, "a")} {
		if !slices.Contains(synced, parent) {
			t.Errorf("%s is not among %v", parent, synced)
		}
	}
}
