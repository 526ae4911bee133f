package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
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
// After a failure of the file system nothing more is appended, because nobody knows what is on disk; what is there is
// still read.
type Spool struct {
	set   Settings
	lock  *os.File
	title []byte

	mu     sync.Mutex
	sealed []sealed
	next   uint64
	// The newest segment; nil until something is appended.
	active      *os.File
	activeBytes int64
	number      uint64
	// Of all segments.
	bytes int64
	items int
	// What is written and not synced, and who waits for that.
	unsynced []func(error)
	written  int
	timer    *time.Timer
	// The oldest segment, while its items are handed over.
	reading []byte
	broken  *Error
	closed  bool
}

// Open takes the directory, made if it is not there. torn tells of what was cut away.
func Open(set Settings) (s *Spool, torn *Error, err error) {
	if err := makeDirectory(set.Directory); err != nil {
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
	text, err := json.Marshal(title{Spool: version, Queue: set.Queue})
	if err != nil {
		unlock(held)
		return nil, nil, err
	}
	s = &Spool{set: set, lock: held, title: Encode(text), sealed: had.segments, next: had.next, items: had.items}
	for _, one := range had.segments {
		s.bytes += one.bytes
	}
	return s, had.torn, nil
}

// Items is how many are left, those on their way to disk included.
func (s *Spool) Items() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items
}

// Broken is why nothing more is appended, or nil.
func (s *Spool) Broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		return nil
	}
	return s.broken
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
	ever = s.set.MaxBytes - int64(len(s.title))
	return ever - s.bytes, ever
}

// Append writes records of [Encode]; confirm is called when they are synced, or may be on disk or not. The caller has
// looked whether there is room.
func (s *Spool) Append(records [][]byte, confirm func(error)) {
	s.mu.Lock()
	err := s.write(records)
	if err != nil {
		s.mu.Unlock()
		confirm(err)
		return
	}
	s.unsynced = append(s.unsynced, confirm)
	s.written += len(records)
	if s.written < s.set.Count {
		if s.timer == nil {
			s.timer = time.AfterFunc(s.set.Interval, s.Sync)
		}
		s.mu.Unlock()
		return
	}
	confirmed := s.sync()
	s.mu.Unlock()
	confirmed()
}

// Sync makes safe what was written, now.
func (s *Spool) Sync() {
	s.mu.Lock()
	confirmed := s.sync()
	s.mu.Unlock()
	confirmed()
}

// Read returns the next items, up to most and about bytes, at least one; nil when there are none. They stay until Advance.
func (s *Spool) Read(most, bytes int) (*Chunk, error) {
	s.mu.Lock()
	if len(s.sealed) == 0 {
		confirmed := s.seal()
		s.mu.Unlock()
		confirmed()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
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
			return nil, &Error{Problem: Damaged, File: one.path, What: fmt.Sprintf("damaged at byte %d", chunk.end)}
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

// Advance is told that the items of the last chunk are done with.
func (s *Spool) Advance(chunk *Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &s.sealed[0]
	one.offset = chunk.end
	s.items -= len(chunk.Bodies)
	if one.offset < one.bytes {
		if err := writeCursor(s.set.Directory, position{one.number, one.offset}); err != nil {
			return failed(one.path, "what was handed over cannot be noted", err)
		}
		return nil
	}
	if err := os.Remove(one.path); err != nil {
		return failed(one.path, "what was handed over cannot be removed", err)
	}
	s.bytes -= one.bytes
	s.reading = nil
	s.sealed = s.sealed[1:]
	return nil
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
	unlock(s.lock)
	s.mu.Unlock()
	confirmed()
}

func (s *Spool) write(records [][]byte) error {
	if s.broken != nil {
		return s.broken
	}
	size := int64(0)
	for _, record := range records {
		size += int64(len(record))
	}
	most := min(largestSegment, s.set.MaxBytes/segments)
	if s.active != nil && s.activeBytes > int64(len(s.title)) && s.activeBytes+size > most {
		// Whoever waits is told with the lock held: the caller of Append is not among them yet.
		s.seal()()
	}
	if s.broken != nil {
		return s.broken
	}
	if s.active == nil {
		if err := s.create(); err != nil {
			return s.fail(err)
		}
	}
	data := make([]byte, 0, size)
	for _, record := range records {
		data = append(data, record...)
	}
	if _, err := s.active.Write(data); err != nil {
		return s.fail(err)
	}
	s.activeBytes += size
	s.bytes += size
	s.items += len(records)
	return nil
}

// create makes a new segment, and its name safe.
func (s *Spool) create() error {
	path := segmentPath(s.set.Directory, s.next)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.active, s.number = file, s.next
	s.next++
	s.activeBytes = int64(len(s.title))
	s.bytes += s.activeBytes
	if _, err := file.Write(s.title); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return syncDirectory(s.set.Directory)
}

// syncDirectory: a file whose name is not on disk is not there after a power cut. Windows has no such call and needs none.
func syncDirectory(path string) error {
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

// sync returns what tells those who waited, to be called without the lock.
func (s *Spool) sync() (confirmed func()) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	waiting := s.unsynced
	s.unsynced, s.written = nil, 0
	if len(waiting) == 0 {
		return func() {}
	}
	var err error
	if s.broken != nil {
		err = s.broken
	} else if failure := s.active.Sync(); failure != nil {
		err = s.fail(failure)
	}
	return func() {
		for _, confirm := range waiting {
			confirm(err)
		}
	}
}

// seal: nothing is written to the newest segment any more, it may be read.
func (s *Spool) seal() (confirmed func()) {
	confirmed = s.sync()
	if s.active == nil {
		return confirmed
	}
	file := s.active
	s.active = nil
	if err := file.Close(); err != nil {
		_ = s.fail(err)
	}
	titled := int64(len(s.title))
	if s.activeBytes > titled {
		s.sealed = append(s.sealed, sealed{number: s.number, path: file.Name(), bytes: s.activeBytes, offset: titled})
	}
	return confirmed
}

func (s *Spool) fail(err error) error {
	if s.broken == nil {
		s.broken = failed(s.set.Directory, "cannot be written", err)
	}
	return s.broken
}
