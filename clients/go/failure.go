package keyturn

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"
)

// failure is what an error means for the one who asked.
type failure int

const (
	// refused: it will be refused again.
	refused failure = iota
	// away: nothing was heard from a sidecar that takes work; the call may have been carried out or not.
	away
	// full: refused for now, nothing was done.
	full
	// lost: the turn is not ours.
	lost
	// cancelled: the call was ended by whoever may.
	cancelled
)

func failureOf(err error) failure {
	var turnLost *TurnLostError
	if errors.As(err, &turnLost) {
		return lost
	}
	var told *Error
	if !errors.As(err, &told) {
		return refused
	}
	switch told.Code {
	case codes.Unavailable, codes.DeadlineExceeded:
		return away
	case codes.Internal, codes.Unknown:
		// Without a reason it comes from the transport, which has several words for a connection that broke.
		if told.Reason == "" {
			return away
		}
	case codes.ResourceExhausted:
		return full
	case codes.Canceled:
		return cancelled
	}
	return refused
}

func codeOf(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	var turnLost *TurnLostError
	if errors.As(err, &turnLost) {
		return codes.Aborted
	}
	var told *Error
	if errors.As(err, &told) {
		return told.Code
	}
	return codes.Unknown
}

func reasonOf(err error) string {
	var told *Error
	if errors.As(err, &told) {
		return told.Reason
	}
	return ""
}

func retryAfterOf(err error) time.Duration {
	var told *Error
	if errors.As(err, &told) {
		return told.RetryAfter
	}
	return 0
}
