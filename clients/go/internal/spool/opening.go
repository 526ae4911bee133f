package spool

import (
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
	// ID that no other segment has, whatever its number.
	ID string `json:"id"`
}

// sealed is a segment that is not written to any more.
type sealed struct {
	number uint64
	id     string
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
	f := &found{next: readNumber(directory) + 1}
	for rank, number := range numbers {
		f.next = max(f.next, number+1)
		if err := f.segment(segmentPath(directory, number), number, queue, rank == len(numbers)-1, at); err != nil {
			return nil, err
		}
	}
	if len(f.segments) == 0 || f.segments[0].number != at.Number {
		removeCursor(directory)
	}
	return f, nil
}

func (f *found) segment(path string, number uint64, queue string, isLast bool, at position) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return failed(path, "cannot be read", err)
	}
	one := sealed{number: number, path: path}
	var starts []int64
	offset := 0
	for {
		body, ok := recordAt(data, offset)
		if !ok {
			break
		}
		if offset == 0 {
			if one.id, err = checkTitle(path, body, queue); err != nil {
				return err
			}
		} else {
			starts = append(starts, int64(offset))
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
	one.bytes = int64(offset)
	left := at.leaves(one, starts)
	if len(left) == 0 {
		return removed(path)
	}
	one.offset = left[0]
	f.items += len(left)
	f.segments = append(f.segments, one)
	return nil
}

func (f *found) cut(path string, whole int64, torn int) error {
	if torn > 0 {
		f.torn = &Error{Problem: Torn, File: path, What: fmt.Sprintf("its last record was cut off; %d bytes from byte %d on, which were never confirmed, are cut away", torn, whole)}
	}
	if err := truncate(path, whole); err != nil {
		return failed(path, "cannot be cut", err)
	}
	return nil
}

// truncate is safe when it returns: what was cut away must not come back in front of later segments.
func truncate(path string, size int64) error {
	file, err := openFile(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	err = file.Truncate(size)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func removed(path string) error {
	if err := os.Remove(path); err != nil {
		return failed(path, "cannot be removed", err)
	}
	return nil
}

func checkTitle(path string, body []byte, queue string) (id string, err error) {
	var found title
	if err = json.Unmarshal(body, &found); err != nil || found.Spool == 0 {
		return "", &Error{Problem: Damaged, File: path, What: "its first record is not that of a spool of this client"}
	}
	if found.Spool != version {
		return "", &Error{Problem: Damaged, File: path, What: fmt.Sprintf("it is of version %d; version %d is known here", found.Spool, version)}
	}
	if found.Queue != queue {
		what := fmt.Sprintf("it has items of queue %s, this producer is for %s; each needs a directory of its own", found.Queue, queue)
		return "", &Error{Problem: OtherQueue, File: path, What: what}
	}
	return found.ID, nil
}
