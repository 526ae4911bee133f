package spool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

const version = 1

var segmentName = regexp.MustCompile(`^(\d{10})\.spool$`)

// title is the first record of a segment: it says whose items follow.
type title struct {
	Spool int    `json:"keyturn_go_spool"`
	Queue string `json:"queue"`
}

// sealed is a segment that is not written to any more.
type sealed struct {
	number uint64
	path   string
	// Up to where it is read.
	bytes int64
	// Where the items that are not handed over begin.
	offset int64
}

// found is what a directory had.
type found struct {
	segments []sealed
	items    int
	torn     *Error
	next     uint64
}

func segmentPath(directory string, number uint64) string {
	return filepath.Join(directory, fmt.Sprintf("%010d.spool", number))
}

// look reads through the segments, oldest first. A record that is cut off at the very end is what a process leaves behind
// that is killed; anything else that cannot be read is damage, and is never skipped.
func look(directory, queue string) (*found, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, failed(directory, "cannot be read", err)
	}
	var numbers []uint64
	for _, entry := range entries {
		if match := segmentName.FindStringSubmatch(entry.Name()); match != nil {
			number, _ := strconv.ParseUint(match[1], 10, 64)
			numbers = append(numbers, number)
		}
	}
	at := readCursor(directory)
	f := &found{next: 1}
	for rank, number := range numbers {
		f.next = number + 1
		if err := f.segment(segmentPath(directory, number), number, queue, rank == len(numbers)-1, at); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *found) segment(path string, number uint64, queue string, isLast bool, at position) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return failed(path, "cannot be read", err)
	}
	var starts []int
	offset := 0
	for {
		body, ok := recordAt(data, offset)
		if !ok {
			break
		}
		if offset == 0 {
			if err := checkTitle(path, body, queue); err != nil {
				return err
			}
		} else {
			starts = append(starts, offset)
		}
		offset += header + len(body)
	}
	if torn := len(data) - offset; torn > 0 || offset == 0 {
		if !isLast || hasRecordAfter(data, offset+1) {
			what := fmt.Sprintf("damaged at byte %d of %d; nothing of it was used. Move the file away, or mend it", offset, len(data))
			return &Error{Problem: Damaged, File: path, What: what}
		}
		if err := f.cut(path, int64(offset), torn); err != nil {
			return err
		}
	}
	one := sealed{number: number, path: path, bytes: int64(offset), offset: int64(offset)}
	for _, start := range starts {
		if at.segment == number && int64(start) < at.offset {
			continue
		}
		one.offset = min(one.offset, int64(start))
		f.items++
	}
	if one.offset == one.bytes {
		return removed(path)
	}
	f.segments = append(f.segments, one)
	return nil
}

func (f *found) cut(path string, whole int64, torn int) error {
	if torn > 0 {
		f.torn = &Error{Problem: Torn, File: path, What: fmt.Sprintf("its last record was cut off; %d bytes from byte %d on, which were never confirmed, are cut away", torn, whole)}
	}
	if err := os.Truncate(path, whole); err != nil {
		return failed(path, "cannot be cut", err)
	}
	return nil
}

func removed(path string) error {
	if err := os.Remove(path); err != nil {
		return failed(path, "cannot be removed", err)
	}
	return nil
}

func checkTitle(path string, body []byte, queue string) error {
	var found title
	if err := json.Unmarshal(body, &found); err != nil || found.Spool == 0 {
		return &Error{Problem: Damaged, File: path, What: "its first record is not that of a spool of this client"}
	}
	if found.Spool != version {
		return &Error{Problem: Damaged, File: path, What: fmt.Sprintf("it is of version %d; version %d is known here", found.Spool, version)}
	}
	if found.Queue != queue {
		what := fmt.Sprintf("it has items of queue %s, this producer is for %s; each needs a directory of its own", found.Queue, queue)
		return &Error{Problem: OtherQueue, File: path, What: what}
	}
	return nil
}

// position is how far the oldest segment was handed over. It saves work, it is not needed: where it is missing or cut off,
// the segment is handed over from its start, and the sidecar knows the items again by their ids. So it is never synced.
type position struct {
	segment uint64
	offset  int64
}

func cursorPath(directory string) string { return filepath.Join(directory, "cursor") }

func readCursor(directory string) position {
	data, err := os.ReadFile(cursorPath(directory))
	if err != nil {
		return position{}
	}
	body, ok := recordAt(data, 0)
	if !ok || len(body) != 16 {
		return position{}
	}
	return position{binary.LittleEndian.Uint64(body), int64(binary.LittleEndian.Uint64(body[8:]))}
}

func writeCursor(directory string, at position) error {
	var body [16]byte
	binary.LittleEndian.PutUint64(body[:], at.segment)
	binary.LittleEndian.PutUint64(body[8:], uint64(at.offset))
	return os.WriteFile(cursorPath(directory), Encode(body[:]), 0o600)
}

// makeDirectory makes it, and its name safe.
func makeDirectory(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return failed(directory, "cannot be made", err)
	}
	info, err := os.Stat(directory)
	if err != nil {
		return failed(directory, "cannot be looked at", err)
	}
	if !info.IsDir() {
		return failed(directory, "is no directory", errors.ErrUnsupported)
	}
	return nil
}
