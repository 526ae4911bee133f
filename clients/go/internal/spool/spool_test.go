package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keyturn/keyturn/clients/go/internal/spool"
)

func open(t *testing.T, directory string) *spool.Spool {
	t.Helper()
	s, torn, err := spool.Open(spool.Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: 1, MaxBytes: 1 << 30})
	if err != nil || torn != nil {
		t.Fatal(err, torn)
	}
	t.Cleanup(s.Close)
	return s
}

// fill appends so many items of so many bytes, each with its name, and reports those that were confirmed.
func fill(t *testing.T, s *spool.Spool, name string, count, size int) (confirmed []string) {
	t.Helper()
	for first := 0; first < count; first += 10 {
		var names []string
		var records [][]byte
		for n := first; n < min(first+10, count); n++ {
			names = append(names, fmt.Sprintf("%s-%d", name, n))
			records = append(records, spool.Encode(append([]byte(names[n-first]+" "), bytes.Repeat([]byte("."), size)...)))
		}
		err := s.Append(records, func(err error) {
			if err == nil {
				confirmed = append(confirmed, names...)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return confirmed
}

// handOver takes all that is there, or most chunks of it, as a replay does.
func handOver(t *testing.T, s *spool.Spool, chunks int) (names []string) {
	t.Helper()
	for range chunks {
		chunk, err := s.Read(1_000, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if chunk == nil {
			break
		}
		for _, body := range chunk.Bodies {
			name, _, _ := strings.Cut(string(body), " ")
			names = append(names, name)
		}
		// An error only says that the disk does not know it.
		_ = s.Advance(chunk)
	}
	return names
}

const all = 1_000_000

// Of every shape: the first batch is handed over, the process starts anew, a second batch is confirmed, the process starts
// anew, and hands over.
func TestWhatIsConfirmedAfterADrainIsHandedOverAfterARestart(t *testing.T) {
	for _, shape := range []struct {
		name                                 string
		first, firstSize, second, secondSize int
	}{
		{"the same", 100, 20_000, 100, 20_000},
		{"smaller", 100, 20_000, 100, 200},
		{"fewer", 300, 20_000, 3, 20_000},
		{"larger", 100, 20_000, 100, 40_000},
		{"grows from little", 100, 12_000, 100, 20_000},
		{"of several segments", 1_000, 20_000, 1_000, 20_000},
	} {
		t.Run(shape.name, func(t *testing.T) {
			directory := t.TempDir()
			first := open(t, directory)
			want := fill(t, first, "first", shape.first, shape.firstSize)
			got := handOver(t, first, all)
			first.Close()
			second := open(t, directory)
			want = append(want, fill(t, second, "second", shape.second, shape.secondSize)...)
			second.Close()
			third := open(t, directory)
			got = append(got, handOver(t, third, all)...)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%d were confirmed, %d handed over", len(want), len(got))
			}
		})
	}
}

func TestARestartInTheMiddleOfAReplayGoesOnWhereItWas(t *testing.T) {
	directory := t.TempDir()
	first := open(t, directory)
	want := fill(t, first, "a", 300, 20_000)
	got := handOver(t, first, 2)
	if len(got) == 0 || len(got) == len(want) {
		t.Fatalf("%d of %d in two chunks", len(got), len(want))
	}
	first.Close()
	got = append(got, handOver(t, open(t, directory), all)...)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%d were confirmed, %d handed over", len(want), len(got))
	}
}

func segments(t *testing.T, directory string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.spool"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestTheNumberOfASegmentIsNeverUsedAgain(t *testing.T) {
	directory := t.TempDir()
	seen := map[string]bool{}
	for range 4 {
		s := open(t, directory)
		fill(t, s, "a", 3, 100)
		for _, path := range segments(t, directory) {
			if seen[path] {
				t.Fatalf("%s was there before", path)
			}
			seen[path] = true
		}
		handOver(t, s, all)
		s.Close()
	}
}

func TestACursorGoesWithItsSegment(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	fill(t, s, "a", 300, 20_000)
	handOver(t, s, 1)
	if _, err := os.Stat(filepath.Join(directory, "cursor")); err != nil {
		t.Fatal(err)
	}
	handOver(t, s, all)
	if _, err := os.Stat(filepath.Join(directory, "cursor")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the cursor is left behind: %v", err)
	}
}

// TestACursorOfAnotherSegmentSkipsNothing puts the cursor of one spool beside the segments of another, which has the same
// number and is of the same size.
func TestACursorOfAnotherSegmentSkipsNothing(t *testing.T) {
	from := t.TempDir()
	s := open(t, from)
	fill(t, s, "a", 300, 20_000)
	handOver(t, s, 2)
	cursor, err := os.ReadFile(filepath.Join(from, "cursor"))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{20_000, 19_993} {
		directory := t.TempDir()
		other := open(t, directory)
		want := fill(t, other, "b", 300, size)
		other.Close()
		if err := os.WriteFile(filepath.Join(directory, "cursor"), cursor, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := handOver(t, open(t, directory), all); len(got) != len(want) {
			t.Fatalf("%d were confirmed, %d handed over", len(want), len(got))
		}
	}
}

func TestACursorThatCannotBeWrittenStopsNothing(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	// Nothing can take the place of a directory that is not empty.
	if err := os.MkdirAll(filepath.Join(directory, "cursor", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := fill(t, s, "a", 300, 20_000)
	if got := handOver(t, s, all); len(got) != len(want) {
		t.Fatalf("%d were confirmed, %d handed over", len(want), len(got))
	}
	if s.Items() != 0 {
		t.Fatalf("%d are left", s.Items())
	}
}

func TestAProcessThatGoesToAnotherDirectoryTakesItsSpoolNotWithIt(t *testing.T) {
	home := t.TempDir()
	chdir(t, home)
	s := open(t, "spool")
	chdir(t, t.TempDir())
	fill(t, s, "a", 3, 10)
	s.Close()
	chdir(t, home)
	again := open(t, "spool")
	defer again.Close()
	if again.Items() != 3 {
		t.Fatalf("%d items, of 3 that were confirmed", again.Items())
	}
}

func chdir(t *testing.T, directory string) {
	t.Helper()
	before, err := os.Getwd()
	if err == nil {
		err = os.Chdir(directory)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir(before) })
}
