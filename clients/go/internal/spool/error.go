// Package spool keeps items on disk, first in, first out, while they cannot be handed over.
package spool

import "fmt"

// The problems of a spool.
const (
	// InUse: another producer, of this process or another, has the directory.
	InUse = "in_use"
	// OtherQueue: the directory has items of another queue.
	OtherQueue = "other_queue"
	// Damaged: a file is not what was written; nothing was skipped.
	Damaged = "damaged"
	// Torn: the last record was cut off when the process or the machine ended; it was never confirmed, and was cut away.
	Torn = "torn"
	// TooLarge: the item does not fit into the spool, empty or not.
	TooLarge = "too_large"
	// IO: the file system failed.
	IO = "io"
)

// Error is what went wrong, with the file that it concerns.
type Error struct {
	Problem string
	File    string
	What    string
	Cause   error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.File, e.What)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

func failed(file, what string, cause error) *Error {
	return &Error{Problem: IO, File: file, What: what, Cause: cause}
}
