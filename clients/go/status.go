package keyturn

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrorFrom reads what a call of [Client.Admin] failed with as an [Error], or as a [TurnLostError]. Nil stays nil.
func ErrorFrom(err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	told := statusError(status.Convert(err).Proto(), TurnRef{})
	if errors.As(told, &known) && known.Reason == "" {
		// It comes from this side: the generated client has no other word for the end of its context.
		switch known.Code {
		case codes.Canceled:
			known.cause = context.Canceled
		case codes.DeadlineExceeded:
			known.cause = context.DeadlineExceeded
		}
	}
	return told
}

// statusError reads the status of a unary call, of a stream, or of one command.
func statusError(proto *rpcstatus.Status, ref TurnRef) error {
	found := &Error{Code: codes.Code(proto.GetCode()), Message: proto.GetMessage()}
	for _, part := range proto.GetDetails() {
		// Details that are not what they say they are do not hide the error itself: a proxy may have put anything here.
		detail, err := part.UnmarshalNew()
		if err != nil {
			continue
		}
		found.read(detail)
	}
	found.readTLS()
	found.readAccess()
	if found.Reason == reasonTurnLost {
		return &TurnLostError{TurnRef: ref, Cause: lossNamed(found.Metadata["cause"]), err: found}
	}
	return found
}

// readAccess: the sidecar knows what it wants, and not how this client is told of it.
func (e *Error) readAccess() {
	switch e.Code {
	case codes.Unauthenticated:
		e.cause = ErrUnauthenticated
		if e.Reason == reasonNoCredentials {
			e.Message += " (WithToken, WithTokenFile or WithTokenFunc of the client: a token that the sidecar knows)"
		}
	case codes.PermissionDenied:
		e.cause = ErrPermissionDenied
	}
}

func (e *Error) read(detail any) {
	switch detail := detail.(type) {
	case *errdetails.ErrorInfo:
		e.Reason, e.Metadata = detail.GetReason(), detail.GetMetadata()
	case *errdetails.BadRequest:
		for _, one := range detail.GetFieldViolations() {
			e.Violations = append(e.Violations, Violation{one.GetField(), one.GetDescription()})
		}
	case *errdetails.QuotaFailure:
		for _, one := range detail.GetViolations() {
			e.Full = append(e.Full, Violation{one.GetSubject(), one.GetDescription()})
		}
	case *errdetails.RetryInfo:
		e.RetryAfter = detail.GetRetryDelay().AsDuration()
	case *errdetails.ResourceInfo:
		e.Resource = detail.GetResourceName()
	}
}

func lossNamed(name string) LossCause {
	switch cause := LossCause(strings.ToLower(name)); cause {
	case LossLeaseExpired, LossEvicted, LossTakenOver, LossSettled:
		return cause
	}
	return LossUnknown
}

// contextError is what a call fails with whose context is over.
func contextError(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: codes.DeadlineExceeded, Message: "the context's deadline is over: " + cause.Error(), cause: both(ctx.Err(), cause)}
	}
	return &Error{Code: codes.Canceled, Message: "the call was called off by its context: " + cause.Error(), cause: both(ctx.Err(), cause)}
}

// both lets errors.Is find the context's own error and its cause.
func both(err, cause error) error {
	if errors.Is(cause, err) {
		return cause
	}
	return errors.Join(err, cause)
}

var codeNames = map[codes.Code]string{
	codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// CodeName is the name that gRPC gives to a code in all languages: ABORTED for 10, and so on. What is none of gRPC's is
// UNKNOWN.
func CodeName(code codes.Code) string { return codeName(code) }

func codeName(code codes.Code) string {
	if name, ok := codeNames[code]; ok {
		return name
	}
	return codeNames[codes.Unknown]
}
