package spool

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAPowerCutLosesNothingThatWasConfirmedAndDamagesNothing cuts the power after every step of a spool that goes through
// segments, a full disk, a sync that fails, and a start after a torn write.
func TestAPowerCutLosesNothingThatWasConfirmedAndDamagesNothing(t *testing.T) {
	for _, way := range []string{"nothing fails", "write", "first write of a segment", "sync", "torn before the start"} {
		t.Run(way, func(t *testing.T) {
			root := t.TempDir()
			var confirmed, handedOver []string
			segment := uint64(0)
			disk := cuttingPower(t, root, func(directory, when string) {
				again, _, err := Open(Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: 1, MaxBytes: 1 << 30})
				if err != nil {
					t.Errorf("%s: %v", when, err)
					return
				}
				defer again.Close()
				if again.next <= segment {
					t.Errorf("%s: the number %d would be used again, after %d", when, again.next, segment)
				}
				names := strings.Fields(left(t, again))
				for _, name := range confirmed {
					if !slices.Contains(names, name) && !slices.Contains(handedOver, name) {
						t.Errorf("%s: %s was confirmed; there are %v", when, name, names)
					}
				}
			})
			if way == "torn before the start" {
				disk.checking = true
				tornSegment(t, root)
				disk.checking = false
				confirmed = []string{"before"}
			}
			s := openedTorn(t, root)
			put := func(name string) {
				if err := <-appended(s, name); err == nil {
					confirmed = append(confirmed, name)
					segment = max(segment, s.next-1)
				}
			}
			put("a")
			newest := func() *cutFile {
				if file, ok := s.active.file.(*cutFile); ok {
					return file
				}
				t.Fatal("it is no file of this disk")
				return nil
			}
			switch way {
			case "write":
				newest().room = 7
			case "first write of a segment":
				s.seal()
				s.active = nil
				put("b")
				newest().room = 9
			case "sync":
				newest().fails = true
			}
			put("c")
			for _, file := range disk.files {
				file.room, file.fails = -1, false
			}
			put("d")
			for {
				chunk, err := s.Read(1, 1)
				if err != nil {
					t.Fatal(err)
				}
				if chunk == nil {
					break
				}
				handedOver = append(handedOver, string(chunk.Bodies[0]))
				if err := s.Advance(chunk); err != nil {
					t.Fatal(err)
				}
				disk.cut("handed over " + string(chunk.Bodies[0]))
			}
			put("e")
			if len(confirmed) < 3 || len(disk.seen) < 20 {
				t.Fatalf("only %v were confirmed, and the power was cut %d times", confirmed, len(disk.seen))
			}
		})
	}
}

// openedTorn lets what was torn be cut away.
func openedTorn(t *testing.T, directory string) *Spool {
	t.Helper()
	s, _, err := Open(Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: 1, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func tornSegment(t *testing.T, directory string) {
	t.Helper()
	s := openedTorn(t, directory)
	if err := <-appended(s, "before"); err != nil {
		t.Fatal(err)
	}
	path := s.active.file.Name()
	s.Close()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Write(Encode([]byte("torn"))[:9]); err != nil {
		t.Fatal(err)
	}
}
