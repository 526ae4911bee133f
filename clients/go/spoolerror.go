package keyturn

import (
	"errors"

	"github.com/keyturn/keyturn/clients/go/internal/spool"
)

// SpoolProblem says what is wrong with a spool.
type SpoolProblem string

// The problems.
const (
	// SpoolInUse means that another producer, of this process or another, has the directory.
	SpoolInUse SpoolProblem = spool.InUse
	// SpoolOtherQueue means that the directory has items of another queue.
	SpoolOtherQueue SpoolProblem = spool.OtherQueue
	// SpoolDamaged means that a file is not what was written; nothing was skipped.
	SpoolDamaged SpoolProblem = spool.Damaged
	// SpoolTorn means that the last record was cut off when the process or the machine ended; it was never confirmed, and was
	// cut away.
	SpoolTorn SpoolProblem = spool.Torn
	// SpoolTooLarge means that the item does not fit into the spool, empty or not.
	SpoolTooLarge SpoolProblem = spool.TooLarge
	// SpoolIO means that the file system failed.
	SpoolIO SpoolProblem = spool.IO
)

// SpoolError is what went wrong with a spool, with the file that it concerns.
type SpoolError struct {
	// Problem says what.
	Problem SpoolProblem
	// File that it concerns, or the directory.
	File string

	err error
}

// Error names the file, and what to do about it.
func (e *SpoolError) Error() string { return e.err.Error() }

// Unwrap returns what the file system said.
func (e *SpoolError) Unwrap() error { return errors.Unwrap(e.err) }

func spoolError(err error) error {
	var told *spool.Error
	if !errors.As(err, &told) {
		return err
	}
	return &SpoolError{Problem: SpoolProblem(told.Problem), File: told.File, err: told}
}
