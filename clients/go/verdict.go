package keyturn

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// GiveBack is an error that a [Handler] returns to say what shall become of the items. Make it with [RetryLater],
// [DeadLetter] or [Release]; it may be a variable that many handlers return. Any other error is a retry with the queue's
// back-off.
type GiveBack struct {
	// Kind says what shall become of them.
	Kind NackKind
	// Delay of a retry. Zero: the queue's back-off. [AtOnce]: none.
	Delay time.Duration
	// Done is how many items from the first are finished nevertheless.
	Done int
	// Message is kept as the items' last error, up to 8 KiB.
	Message string
}

// Error is the message.
func (g *GiveBack) Error() string { return g.Message }

// WithDone is one like it that says how many items from the first are finished nevertheless.
func (g *GiveBack) WithDone(items int) *GiveBack {
	made := *g
	made.Done = items
	return &made
}

// WithMessage is one like it that says what went wrong.
func (g *GiveBack) WithMessage(message string) *GiveBack {
	made := *g
	made.Message = message
	return &made
}

// RetryLater tries the items again after the delay, up to 30 days; the attempt counts. Zero: after the queue's back-off.
func RetryLater(delay time.Duration) *GiveBack {
	return &GiveBack{Kind: NackRetry, Delay: delay, Message: "the handler asked for a retry"}
}

// DeadLetter never tries the items again: they become dead letters, and this is why.
func DeadLetter(message string) *GiveBack {
	return &GiveBack{Kind: NackDeadLetter, Message: message}
}

// Release gives the items back for another worker: no attempt is counted, and there is no back-off.
func Release() *GiveBack {
	return &GiveBack{Kind: NackRelease, Message: "the handler released the item"}
}

// longestError is what a Nack may say, bytes.
const longestError = 8_192

// verdictOn is what a handler's error means for a turn of so many items. It is never done with more than these.
func verdictOn(err error, items int) *pb.NackRequest {
	verdict := &pb.NackRequest{Kind: pb.NackKind_NACK_KIND_RETRY, Error: shortened(err.Error())}
	var given *GiveBack
	if errors.As(err, &given) {
		verdict.Kind, verdict.Delay, verdict.Done = nackKinds[given.Kind], wireDuration(given.Delay), uint32(min(max(0, given.Done), items))
	}
	return verdict
}

func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= longestError {
		return text
	}
	end := longestError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// PanicError is a handler that panicked, as [ConsumeOptions.OnTrouble] is told of it: the items are tried again. The client's
// logger is told of it too, with the stack; without one it is [slog.Default], so that no panic is silent.
type PanicError struct {
	// Value that it panicked with.
	Value any
	// Stack where it did.
	Stack []byte
}

// Error tells the value.
func (p *PanicError) Error() string { return fmt.Sprintf("the handler panicked: %v", p.Value) }

// Unwrap returns the value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// errGoexit is a handler that ended its goroutine, as t.FailNow of a test does, instead of returning.
var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")
