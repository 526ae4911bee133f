package spool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// position is how far the oldest segment was handed over. It saves work, it is not needed: where it is missing or cut off,
// the segment is handed over from its start, and the sidecar knows the items again by their ids. So it is never synced, and
// nothing stops when it cannot be written.
//
// It fits the segment of which it was written and no other: what it wrongly skipped would be lost. So it names the id of the
// segment besides the number, points to the beginning of a record or to the end, and goes with its segment.
type position struct {
	Number  uint64 `json:"number"`
	Segment string `json:"segment"`
	Offset  int64  `json:"offset"`
}

// leaves are the records that are not handed over.
func (p position) leaves(one sealed, starts []int64) []int64 {
	if p.Number != one.number || p.Segment != one.id || p.Segment == "" {
		return starts
	}
	if p.Offset == one.bytes {
		return nil
	}
	if at := slices.Index(starts, p.Offset); at >= 0 {
		return starts[at:]
	}
	return starts
}

func cursorPath(directory string) string { return filepath.Join(directory, "cursor") }

func readCursor(directory string) position {
	var at position
	data, err := os.ReadFile(cursorPath(directory))
	if err != nil {
		return position{}
	}
	if body, ok := recordAt(data, 0); !ok || json.Unmarshal(body, &at) != nil {
		return position{}
	}
	return at
}

func writeCursor(directory string, at position) error {
	body, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return replace(cursorPath(directory), Encode(body), false)
}

// removeCursor: one that stays fits nothing.
func removeCursor(directory string) { _ = os.Remove(cursorPath(directory)) }

// The number of the newest segment that there ever was: numbers are never used again, also when all segments are gone.

func numberPath(directory string) string { return filepath.Join(directory, "number") }

func readNumber(directory string) uint64 {
	data, err := os.ReadFile(numberPath(directory))
	if err != nil {
		return 0
	}
	body, _ := recordAt(data, 0)
	number, err := strconv.ParseUint(string(body), 10, 63)
	if err != nil {
		return 0
	}
	return number
}

// writeNumber is safe when the directory is synced.
func writeNumber(directory string, number uint64) error {
	return replace(numberPath(directory), Encode([]byte(strconv.FormatUint(number, 10))), true)
}

// replace puts a whole file in the place of another: a full disk leaves the old one.
func replace(path string, data []byte, safe bool) error {
	made := path + ".new"
	file, err := openFile(made, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && safe {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		_ = os.Remove(made)
	}
	return err
}
