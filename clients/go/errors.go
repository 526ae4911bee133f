package keyturn

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrClosed is what calls fail with when the client was closed.
	ErrClosed = errors.New("the client was closed")
	// ErrUnauthenticated is in errors of calls of which the sidecar does not know who asks (NO_CREDENTIALS), or for which the
	// client has no token to show: see [WithToken].
	ErrUnauthenticated = errors.New("the sidecar does not know who asks")
	// ErrPermissionDenied is in errors of calls that the settings of the sidecar (auth.rights) do not allow (NOT_ALLOWED): verb
	// and what are in the Metadata of the [Error].
	ErrPermissionDenied = errors.New("the sidecar does not let who asks do this")
	// ErrLeave, as the cause with which a call's context is cancelled, gives up the place of the call's ticket too.
	ErrLeave = errors.New("the caller leaves its place")
	// ErrStopped is the cause of a handler's context when the stop of its consumer runs out of time.
	ErrStopped = errors.New("the consumer was stopped, and the time for handlers to finish is over")
	// ErrMaxHold is the cause of a handler's context when it has held its turn for MaxHold.
	ErrMaxHold = errors.New("the handler has held its turn for MaxHold")
	// ErrReleased is the cause of the context of a turn that was given back.
	ErrReleased = errors.New("the turn was given back")
)

// Violation is one wrong field of a call or an option.
type Violation struct {
	// Field by its name in the proto, with indexes: items[3].key.
	Field string
	// Description has the value that was given, and what is allowed.
	Description string
}

// Error is a call that was refused, or did not come through, or an option that is wrong (codes.InvalidArgument).
type Error struct {
	// Code of the gRPC status.
	Code codes.Code
	// Reason of the contract, as QUEUE_FULL; empty when the error did not come from the sidecar itself.
	Reason string
	// Message says what went wrong.
	Message string
	// Violations are the wrong fields, each with what is allowed.
	Violations []Violation
	// RetryAfter is when the same call is worth another try; zero: the sidecar did not say.
	RetryAfter time.Duration
	// Metadata has more about the reason: cause of TURN_LOST, limit of LIMIT.
	Metadata map[string]string
	// Full says what is full, and of what.
	Full []Violation
	// Resource is what was not found.
	Resource string

	cause error
}

// Error tells the code, the reason and the message.
func (e *Error) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s: %s", codeName(e.Code), e.Message)
	}
	return fmt.Sprintf("%s (%s): %s", codeName(e.Code), e.Reason, e.Message)
}

// Unwrap returns what led to the error on this side ([ErrClosed], or the cause of the call's context), or says of which kind it
// is: [ErrUnauthenticated], [ErrPermissionDenied].
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus makes status.Code and status.Convert work.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// TurnLostError means that the turn is, or must be taken for, somebody else's: stop working on it.
type TurnLostError struct {
	// TurnRef names the turn.
	TurnRef
	// Cause says why it is lost.
	Cause LossCause

	err *Error
}

// Error names the turn and the cause.
func (e *TurnLostError) Error() string {
	return fmt.Sprintf("the turn of key %q of queue %s is lost: %s", e.Key, e.Queue, lossWords[e.Cause])
}

// Unwrap returns the [Error] with code Aborted and reason TURN_LOST.
func (e *TurnLostError) Unwrap() error {
	if e.err != nil {
		return e.err
	}
	return &Error{Code: codes.Aborted, Reason: reasonTurnLost, Message: e.Error()}
}

// GRPCStatus makes status.Code and status.Convert work.
func (e *TurnLostError) GRPCStatus() *status.Status { return status.New(codes.Aborted, e.Error()) }

const (
	reasonTurnLost        = "TURN_LOST"
	reasonSessionReplaced = "SESSION_REPLACED"
	reasonAtMostOnce      = "AT_MOST_ONCE"
	reasonBadRequest      = "BAD_REQUEST"
	reasonNoCredentials   = "NO_CREDENTIALS"
)

var lossWords = map[LossCause]string{
	LossLeaseExpired: "its lease or max_hold ended",
	LossEvicted:      "its holder was evicted",
	LossTakenOver:    "a waiting caller took it over",
	LossSettled:      "somebody else settled it",
	LossUnknown:      "the sidecar knows nothing of it",
	LossUnreachable:  "nothing was heard from the sidecar for so long that it may have ended",
	LossReplaced:     "another client has the session",
	LossClosed:       "the client was closed",
}

func turnLost(ref TurnRef, cause LossCause) *TurnLostError {
	return &TurnLostError{TurnRef: ref, Cause: cause}
}

// ItemFailedError means that an item has no result and gets none.
type ItemFailedError struct {
	// ItemRef names the item.
	ItemRef
	// State is ItemDead, ItemDiscarded, ItemSuperseded or ItemUnknown.
	State ItemState
	// LastError is what the worker said, if it failed.
	LastError string
	// Attempt is how many attempts there were.
	Attempt int
}

// Error names the item and what happened to it.
func (e *ItemFailedError) Error() string {
	what := map[ItemState]string{
		ItemDead:       "is a dead letter",
		ItemDiscarded:  "was discarded",
		ItemSuperseded: "was superseded by a newer one",
		ItemUnknown:    "is not known, or was forgotten",
	}[e.State]
	text := fmt.Sprintf("item %s of queue %s %s", e.ItemID, e.Queue, what)
	if e.LastError != "" {
		text += ": " + e.LastError
	}
	return text
}

// SubmitManyError means that some messages of a SubmitMany were accepted before one failed.
type SubmitManyError struct {
	// Results of the first items, in order: these are settled.
	Results []SubmitResult
	// Rest are the items after them, with their ids, of which a first part may have been accepted: sending them again is safe.
	Rest []NewItem
	// Err is what the failed message failed with.
	Err error
}

// Error tells how far it came, and why no further.
func (e *SubmitManyError) Error() string {
	return fmt.Sprintf("%d items were handed over, %d were not: %v", len(e.Results), len(e.Rest), e.Err)
}

// Unwrap returns what the failed message failed with.
func (e *SubmitManyError) Unwrap() error { return e.Err }

// wrongSetting names an option, its value, and what is allowed.
func wrongSetting(field string, value any, allowed string) *Error {
	if text, ok := value.(string); ok {
		value = fmt.Sprintf("%q", text)
	}
	if wait, ok := value.(time.Duration); ok && wait == NoWait {
		value = "NoWait"
	}
	description := fmt.Sprintf("%v is not allowed; allowed is %s", value, allowed)
	return &Error{
		Code: codes.InvalidArgument, Reason: reasonBadRequest, Message: field + ": " + description,
		Violations: []Violation{{Field: field, Description: description}},
	}
}

func badAnswer(what string) *Error {
	return &Error{Code: codes.Internal, Reason: "BAD_ANSWER", Message: what}
}

func closedError() *Error {
	return &Error{Code: codes.Canceled, Message: ErrClosed.Error(), cause: ErrClosed}
}
