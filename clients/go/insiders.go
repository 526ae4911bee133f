package keyturn

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
)

// insiders are goroutines that run code of the application for which Close waits: closing the client there would wait for itself.
// Close has no context, and a context would not know a goroutine, so that they are known by their numbers.
type insiders struct{ numbers sync.Map }

// enter begins such code, and returns what ends it.
func (i *insiders) enter() (leave func()) {
	number := goroutineNumber()
	if _, nested := i.numbers.LoadOrStore(number, struct{}{}); nested || number == 0 {
		return func() {}
	}
	return func() { i.numbers.Delete(number) }
}

// refusal is nil outside.
func (i *insiders) refusal() error {
	number := goroutineNumber()
	if _, inside := i.numbers.Load(number); !inside || number == 0 {
		return nil
	}
	const message = "a handler or a callback must not close its own client, which would wait for it: let another goroutine do that"
	return &Error{Code: codes.FailedPrecondition, Message: message}
}

// goroutineNumber is in the first line of a stack: "goroutine 17 [running]:". No number is given twice. 0, of a line that says
// none, is nobody's.
func goroutineNumber() uint64 {
	var line [64]byte
	text := bytes.TrimPrefix(line[:runtime.Stack(line[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	number, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return number
}
