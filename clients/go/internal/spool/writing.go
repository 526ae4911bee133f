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

// openFile is a variable, so that a test has files of its own.
var openFile = func(path string, flags int) (diskFile, error) { return os.OpenFile(path, flags, 0o600) }

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
	if s.active == nil {
		if err := s.mend(); err != nil {
			return confirmed, err
		}
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
		s.cutOff()
		confirmed = append(confirmed, s.makeSafe()...)
		s.shut()
		return confirmed, told
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
	file, err := openFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		// The name; the title is synced with the first items, and a file without any is nothing.
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
	if len(s.unsynced) == 0 {
		return nil
	}
	return s.makeSafe()
}

func (s *Spool) makeSafe() (confirmed []func()) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	waiting := s.unsynced
	s.unsynced = nil
	var told error
	if err := s.active.file.Sync(); err != nil {
		told = failed(s.active.file.Name(), "cannot be synced", err)
		s.items -= s.active.unsyncedItems
		s.bytes -= s.active.bytes - s.active.syncedBytes
		s.active.bytes, s.active.unsyncedItems = s.active.syncedBytes, 0
		s.ragged = s.active
		s.shut()
	} else {
		s.active.syncedBytes, s.active.unsyncedItems = s.active.bytes, 0
	}
	for _, confirm := range waiting {
		confirmed = append(confirmed, func() { confirm(told) })
	}
	return confirmed
}

// cutOff leaves what is whole. It is safe when the file is synced: in front of later segments, what a power cut brings back
// would be damage.
func (s *Spool) cutOff() {
	if err := s.active.file.Truncate(s.active.bytes); err != nil {
		s.ragged = s.active
	}
}

// mend cuts away, for good, what a failure left of the segment that was set aside last. A disk that was full may have room.
func (s *Spool) mend() error {
	if s.ragged == nil {
		return nil
	}
	file := s.ragged.file
	err := file.Truncate(s.ragged.bytes)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return failed(file.Name(), "cannot be cut back to what is whole", err)
	}
	s.smooth()
	return nil
}

// smooth: there is no end to be cut away any more.
func (s *Spool) smooth() {
	if s.ragged != nil {
		_ = s.ragged.file.Close()
		s.ragged = nil
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
	if s.ragged != active {
		// What it had is synced.
		_ = active.file.Close()
	}
	one := sealed{number: active.number, id: active.id, path: active.file.Name(), bytes: active.bytes, offset: active.title}
	if active.bytes > active.title {
		s.sealed = append(s.sealed, one)
		return
	}
	s.over = append(s.over, one)
	_ = s.removeOver()
}
