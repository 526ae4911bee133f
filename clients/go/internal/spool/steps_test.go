package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestAKillAtEveryByteLosesNothingThatWasConfirmed opens what a process leaves behind that is killed in the middle of a write, of
// every file that it writes, and of the first spools, which had no ids and no number.
func TestAKillAtEveryByteLosesNothingThatWasConfirmed(t *testing.T) {
	root := t.TempDir()
	made := filepath.Join(root, "made")
	s := opened(t, made, 1)
	for _, name := range []string{"a", "b", "c", "", "d", "e"} {
		if name != "" {
			if err := <-appended(s, name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if chunk, err := s.Read(1, 1); err != nil || s.Advance(chunk) != nil {
			t.Fatal(err)
		}
	}
	number := 0
	openedAs := func(change func(directory string) error) string {
		number++
		directory := filepath.Join(root, fmt.Sprint(number))
		copied(t, made, directory)
		if err := change(directory); err != nil {
			t.Fatal(err)
		}
		again, _, err := Open(Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: 1, MaxBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		return left(t, again)
	}
	cut := func(name string, to int) func(string) error {
		return func(directory string) error { return os.Truncate(filepath.Join(directory, name), int64(to)) }
	}
	newest := filepath.Base(segmentPath(made, 2))
	for _, name := range []string{"cursor", "number", newest} {
		data, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			t.Fatal(err)
		}
		for to := range len(data) {
			// The cursor saves work: without it "a" comes once more. What is cut off a segment was not confirmed.
			expected := []string{"b c d e"}
			switch name {
			case "cursor":
				expected = []string{"a b c d e"}
			case newest:
				expected = []string{"b c", "b c d"}
			}
			if got := openedAs(cut(name, to)); !slices.Contains(expected, got) {
				t.Fatalf("%s cut at byte %d: left are %s", name, to, got)
			}
		}
	}
	for name, data := range map[string]string{"number.new": "", "cursor.new": "kts1", filepath.Base(segmentPath(made, 3)): ""} {
		got := openedAs(func(directory string) error { return os.WriteFile(filepath.Join(directory, name), []byte(data), 0o600) })
		if got != "b c d e" {
			t.Fatalf("with %s: left are %s", name, got)
		}
	}
}

func TestADirectoryOfTheFirstVersionLosesNothing(t *testing.T) {
	directory := t.TempDir()
	title := Encode([]byte(`{"keyturn_go_spool":1,"queue":"q"}`))
	write := func(name string, records ...[]byte) {
		if err := os.WriteFile(filepath.Join(directory, name), slices.Concat(records...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("0000000001.spool", title, Encode([]byte("a")), Encode([]byte("b")))
	// That version could have left a cursor of another segment of the same number.
	write("cursor", Encode(fmt.Appendf(nil, `{"number":1,"offset":%d}`, len(title)+header+1)))
	s := opened(t, directory, 1)
	chunk, err := s.Read(1, 1)
	if err != nil || s.Advance(chunk) != nil {
		t.Fatal(err)
	}
	s.Close()
	again := opened(t, directory, 1)
	defer again.Close()
	if got := left(t, again); got != "a b" {
		t.Fatalf("left are %s", got)
	}
}
