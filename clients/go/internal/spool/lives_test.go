package spool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNothingThatWasConfirmedIsLostOverManyLives appends, hands over, fails to write, ends and is killed at random. Each item that
// was confirmed is handed over, and in the order in which it was appended.
func TestNothingThatWasConfirmedIsLostOverManyLives(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { manyLives(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func manyLives(t *testing.T, chance *rand.Rand) {
	root := t.TempDir()
	next, confirmed, seen := 0, []int{}, map[int]bool{}
	for life := range 6 {
		directory := filepath.Join(root, fmt.Sprint(life))
		s, _, err := Open(Settings{Directory: directory, Queue: "q", Interval: time.Hour, Count: 1 + chance.IntN(4), MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for range chance.IntN(60) {
			switch chance.IntN(8) {
			case 0, 1, 2, 3:
				var records [][]byte
				var numbers []int
				for range 1 + chance.IntN(5) {
					records = append(records, Encode(append(fmt.Appendf(nil, "%d ", next), bytes.Repeat([]byte("."), chance.IntN(30_000))...)))
					numbers = append(numbers, next)
					next++
				}
				_ = s.Append(records, func(err error) {
					if err == nil {
						confirmed = append(confirmed, numbers...)
					}
				})
			case 4:
				if s.active != nil {
					way := chance.IntN(2)
					s.active.file = &fails{s.active.file, way == 0, way == 1}
				}
			case 5:
				s.Sync()
			default:
				chunk, err := s.Read(1+chance.IntN(10), 40_000)
				if err != nil {
					t.Fatal(err)
				}
				if chunk == nil {
					continue
				}
				for _, body := range chunk.Bodies {
					var number int
					if _, err := fmt.Sscan(strings.SplitN(string(body), " ", 2)[0], &number); err != nil {
						t.Fatal(err)
					}
					if number <= last {
						t.Fatalf("%d after %d", number, last)
					}
					last, seen[number] = number, true
				}
				if chance.IntN(6) > 0 {
					if err := s.Advance(chunk); err != nil {
						t.Fatal(err)
					}
				} else {
					last = -1
				}
			}
		}
		if chance.IntN(2) == 0 {
			s.Close()
		}
		// Else it was killed: the next life has what is in the files now.
		copied(t, directory, filepath.Join(root, fmt.Sprint(life+1)))
		s.Close()
	}
	s := opened(t, filepath.Join(root, "6"), 1)
	for _, name := range strings.Fields(strings.ReplaceAll(left(t, s), ".", "")) {
		var number int
		if _, err := fmt.Sscan(name, &number); err != nil {
			t.Fatal(err)
		}
		seen[number] = true
	}
	for _, number := range confirmed {
		if !seen[number] {
			t.Fatalf("item %d was confirmed, and never handed over", number)
		}
	}
	if len(confirmed) < 10 || s.bytes != 0 {
		t.Fatalf("%d items were confirmed, %d bytes are left", len(confirmed), s.bytes)
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	for _, entry := range entries {
		data, failed := os.ReadFile(filepath.Join(from, entry.Name()))
		if failed == nil {
			failed = os.WriteFile(filepath.Join(to, entry.Name()), data, 0o600)
		}
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
