package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	largestSegment = 8 << 20
	// segments: space comes free by segments, so that a small spool has small ones.
	segments = 8
)

// Settings of a spool.
type Settings struct {
	Directory string
	Queue     string
	// What was written is synced after this long, or after so many items, whatever comes first.
	Interval time.Duration
	Count    int
	// All segments together.
	MaxBytes int64
}

// Chunk are items in the order in which they were appended.
type Chunk struct {
	Bodies [][]byte
	end    int64
}

// Spool is appended to its newest segment and read from its oldest, which is removed when all its items were handed over.
// An append is confirmed when it is synced. A segment is read when it is not written to any more.
//
// After a failure of the file system the segment is cut back to what is whole, and what comes goes into a new one: a disk
// that was full is used again as soon as it has room.
type Spool struct {
	set  Settings
	lock *os.File
	// All titles of a spool are as long.
	titleBytes int64

	mu     sync.Mutex
	sealed []sealed
	// Of the next segment.
	next uint64
	// The newest segment; nil until something is appended.
	active *segment
	// Of all segments.
	bytes int64
	items int
	// Who waits for what is written and not synced.
	unsynced []func(error)
	timer    *time.Timer
	// The oldest segment, while its items are handed over.
	reading []byte
	// Segments that were handed over and could not be removed.
	over []sealed
	// Set aside with an end that is not cut away for good: nothing is written to another file before it is.
	ragged *segment
	closed bool
}

// Open takes the directory, made if it is not there. torn tells of what was cut away.
func Open(set Settings) (s *Spool, torn *Error, err error) {
	// Where it is now, wherever the process goes.
	path, err := filepath.Abs(set.Directory)
	if err != nil {
		return nil, nil, failed(set.Directory, "cannot be found", err)
	}
	set.Directory = path
	if err := makeDirectory(path); err != nil {
		return nil, nil, err
	}
	held, err := lock(set.Directory)
	if err != nil {
		return nil, nil, err
	}
	had, err := look(set.Directory, set.Queue)
	if err != nil {
		unlock(held)
		return nil, nil, err
	}
	s = &Spool{set: set, lock: held, sealed: had.segments, next: had.next, items: had.items}
	for _, one := range had.segments {
		s.bytes += one.bytes
	}
	text, err := s.titleOf(newID())
	if err != nil {
		unlock(held)
		return nil, nil, err
	}
	s.titleBytes = int64(len(text))
	return s, had.torn, nil
}

// Items is how many are left, those on their way to disk included.
func (s *Spool) Items() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items
}

// NearlyEmpty is whether everything that is left stands in the segment that is being read.
func (s *Spool) NearlyEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active == nil && len(s.sealed) <= 1
}

// Room is how many bytes fit in, now; and into an empty spool.
func (s *Spool) Room() (left, ever int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A new segment may be needed for what comes.
	ever = s.set.MaxBytes - s.titleBytes
	return ever - s.bytes, ever
}

// Append writes records of [Encode]; confirm is called when they are synced, or are not safe. The caller has looked whether
// there is room. After an error nothing was appended, and confirm is not called: it may be tried again.
func (s *Spool) Append(records [][]byte, confirm func(error)) error {
	s.mu.Lock()
	confirmed, err := s.write(records)
	if err == nil {
		s.unsynced = append(s.unsynced, confirm)
		if s.active.unsyncedItems >= s.set.Count {
			confirmed = append(confirmed, s.sync()...)
		} else if s.timer == nil {
			s.timer = time.AfterFunc(s.set.Interval, s.Sync)
		}
	}
	s.mu.Unlock()
	tell(confirmed)
	return err
}

// Sync makes safe what was written, now.
func (s *Spool) Sync() {
	s.mu.Lock()
	confirmed := s.sync()
	s.mu.Unlock()
	tell(confirmed)
}

// Read returns the next items, up to most and about bytes, at least one; nil when there are none. They stay until Advance.
// After an error it may be tried again.
func (s *Spool) Read(most, bytes int) (*Chunk, error) {
	s.mu.Lock()
	var confirmed []func()
	if len(s.sealed) == 0 {
		confirmed = s.seal()
	}
	chunk, err := s.read(most, bytes)
	s.mu.Unlock()
	tell(confirmed)
	return chunk, err
}

func (s *Spool) read(most, bytes int) (*Chunk, error) {
	if len(s.sealed) == 0 {
		return nil, nil
	}
	one := s.sealed[0]
	if s.reading == nil {
		data, err := os.ReadFile(one.path)
		if err != nil {
			return nil, failed(one.path, "cannot be read", err)
		}
		s.reading = data[:min(int64(len(data)), one.bytes)]
	}
	chunk := &Chunk{end: one.offset}
	for size := 0; len(chunk.Bodies) < most && chunk.end < one.bytes; {
		body, ok := recordAt(s.reading, int(chunk.end))
		if !ok {
			s.reading = nil
			return nil, &Error{Problem: Damaged, File: one.path, What: fmt.Sprintf("damaged at byte %d; nothing is skipped. Mend the file, or stop the producer and move it away", chunk.end)}
		}
		if len(chunk.Bodies) > 0 && size+len(body) > bytes {
			break
		}
		chunk.Bodies = append(chunk.Bodies, body)
		size += len(body)
		chunk.end += header + int64(len(body))
	}
	return chunk, nil
}

// Advance is told that the items of the last chunk are done with. The error only says that the disk does not know it: after
// a restart they may be handed over once more.
func (s *Spool) Advance(chunk *Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &s.sealed[0]
	one.offset = chunk.end
	s.items -= len(chunk.Bodies)
	if one.offset < one.bytes {
		if err := writeCursor(s.set.Directory, position{one.number, one.id, one.offset}); err != nil {
			return failed(cursorPath(s.set.Directory), "cannot be written; after a restart items may be handed over once more, under the same ids", err)
		}
		return nil
	}
	s.over = append(s.over, *one)
	s.reading = nil
	s.sealed = s.sealed[1:]
	err := s.removeOver()
	removeCursor(s.set.Directory)
	return err
}

func (s *Spool) removeOver() error {
	var last error
	var left []sealed
	for _, one := range s.over {
		if err := os.Remove(one.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			left = append(left, one)
			last = failed(one.path, "cannot be removed; after a restart its items may be handed over once more, under the same ids", err)
			continue
		}
		s.bytes -= one.bytes
		if s.ragged != nil && s.ragged.number == one.number {
			s.smooth()
		}
	}
	s.over = left
	return last
}

// Close syncs what is not yet, and lets go of the directory. What is left is there for the next start.
func (s *Spool) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	confirmed := s.seal()
	_ = s.removeOver()
	_ = s.mend()
	s.smooth()
	unlock(s.lock)
	s.mu.Unlock()
	tell(confirmed)
}
