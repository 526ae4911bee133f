package spool

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
)

// diskFile is an *os.File; a test has others, which fail.
type diskFile interface {
	Write(data []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
	Name() string
}

// segment is the one that is written to.
type segment struct {
	number uint64
	id     string
	file   diskFile
	title  int64
	// Whole records, and those of them that are safe.
	bytes, syncedBytes int64
	unsyncedItems      int
}

var errClosed = errors.New("the spool is closed")

// The lock is held in all of these. What they return tells those who waited, and is to be called without it.

func tell(confirmed []func()) {
	for _, one := range confirmed {
		one()
	}
}

func (s *Spool) write(records [][]byte) (confirmed []func(), err error) {
	if s.closed {
		return nil, failed(s.set.Directory, "takes nothing", errClosed)
	}
	size := int64(0)
	for _, record := range records {
		size += int64(len(record))
	}
	most := min(largestSegment, s.set.MaxBytes/segments)
	if s.active != nil && s.active.bytes > s.active.title && s.active.bytes+size > most {
		confirmed = s.seal()
	}
	if s.broken != nil {
		return confirmed, s.broken
	}
	if s.active == nil {
		if err := s.create(); err != nil {
			return confirmed, failed(s.set.Directory, "no file can be made", err)
		}
	}
	data := make([]byte, 0, size)
	for _, record := range records {
		data = append(data, record...)
	}
	if _, err := s.active.file.Write(data); err != nil {
		told := failed(s.active.file.Name(), "cannot be written", err)
		// What was written of it is cut away; what was whole before stays.
		s.cutTo(s.active.bytes)
		return append(confirmed, s.seal()...), told
	}
	s.active.bytes += size
	s.active.unsyncedItems += len(records)
	s.bytes += size
	s.items += len(records)
	return confirmed, nil
}

func (s *Spool) titleOf(id string) ([]byte, error) {
	text, err := json.Marshal(title{Spool: version, Queue: s.set.Queue, ID: id})
	return Encode(text), err
}

func newID() string {
	var bits [16]byte
	if _, err := rand.Read(bits[:]); err != nil {
		panic("keyturn: the system gives no random numbers: " + err.Error())
	}
	return hex.EncodeToString(bits[:])
}

// create makes a new segment, and its name safe. Its number is noted before, so that it is never used again.
func (s *Spool) create() error {
	id := newID()
	text, err := s.titleOf(id)
	if err != nil {
		return err
	}
	if err := writeNumber(s.set.Directory, s.next); err != nil {
		return err
	}
	path := segmentPath(s.set.Directory, s.next)
	number := s.next
	s.next++
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = syncDirectory(s.set.Directory)
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(path)
		return err
	}
	size := int64(len(text))
	s.active = &segment{number: number, id: id, file: file, title: size, bytes: size, syncedBytes: size}
	s.bytes += size
	return nil
}

// sync makes safe what was written. If it cannot be, nobody knows what of it is on disk, and the system may take it for
// written the next time: it is cut away, those who waited are told, and what comes goes into another file.
func (s *Spool) sync() (confirmed []func()) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	waiting := s.unsynced
	s.unsynced = nil
	if len(waiting) == 0 {
		return nil
	}
	var told error
	if err := s.active.file.Sync(); err != nil {
		told = failed(s.active.file.Name(), "cannot be synced", err)
		s.items -= s.active.unsyncedItems
		s.bytes -= s.active.bytes - s.active.syncedBytes
		s.active.bytes = s.active.syncedBytes
		s.cutTo(s.active.bytes)
		s.shut()
	} else {
		s.active.syncedBytes, s.active.unsyncedItems = s.active.bytes, 0
	}
	for _, confirm := range waiting {
		confirmed = append(confirmed, func() { confirm(told) })
	}
	return confirmed
}

// cutTo leaves what is whole. A file of which more is left than that would be damaged for the next start.
func (s *Spool) cutTo(whole int64) {
	if err := s.active.file.Truncate(whole); err != nil {
		s.broken = failed(s.active.file.Name(), "cannot be written, nor cut back to what is whole; nothing more is spooled before a restart", err)
	}
}

// seal: nothing is written to the newest segment any more, it may be read.
func (s *Spool) seal() (confirmed []func()) {
	confirmed = s.sync()
	s.shut()
	return confirmed
}

func (s *Spool) shut() {
	active := s.active
	if active == nil {
		return
	}
	s.active = nil
	// What it had is synced.
	_ = active.file.Close()
	one := sealed{number: active.number, id: active.id, path: active.file.Name(), bytes: active.bytes, offset: active.title}
	if active.bytes > active.title {
		s.sealed = append(s.sealed, one)
		return
	}
	s.over = append(s.over, one)
	_ = s.removeOver()
}
