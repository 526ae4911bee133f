package keyturn

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
)

// Why a sidecar cannot be reached, in words that name its address.

// reach is what is known of the way to the sidecar, one for a client.
type reach struct {
	address string

	mu   sync.Mutex
	last error
}

// connectionError is what gRPC puts around the reason why there is no connection.
var connectionError = regexp.MustCompile(`(?:last connection error: )?connection error: desc = ("(?:[^"\\]|\\.)*")`)

const closedAtOnce = "the sidecar closed the connection before it said anything: it may want TLS (WithTLS), or be about to stop"

func reasonIn(text string) string {
	return connectionError.ReplaceAllStringFunc(text, func(found string) string {
		inside, err := strconv.Unquote(connectionError.FindStringSubmatch(found)[1])
		if err != nil {
			return found
		}
		inside = strings.TrimPrefix(strings.TrimPrefix(inside, "transport: "), "Error while dialing: ")
		if cause, silent := strings.CutPrefix(inside, "error reading server preface: "); silent {
			return closedAtOnce + " (" + cause + ")"
		}
		return inside
	})
}

// explain puts the failure of a connection into words, and remembers it.
func (s *settings) explain(err error) error {
	err = s.plain.explain(s.watch.explain(err))
	var told *Error
	if !errors.As(err, &told) || told.Code != codes.Unavailable || told.Reason != "" {
		return err
	}
	if !isAboutTLS(err) && !connectionError.MatchString(told.Message) {
		return err
	}
	explained := &Error{Code: told.Code, Message: "cannot reach " + s.reach.address + ": " + reasonIn(told.Message), cause: told.cause}
	s.reach.mu.Lock()
	s.reach.last = explained
	s.reach.mu.Unlock()
	return explained
}

// noAnswerYet: neither a connection, nor a reason why there is none.
func (r *reach) noAnswerYet() error {
	return &Error{Code: codes.Unavailable, Message: "cannot reach " + r.address + ": no answer yet"}
}

// stands: a call was answered.
func (r *reach) stands() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = nil
}

// why is nil as long as a connection stands, or nobody wants one. Between two attempts a connection is idle, too.
func (r *reach) why(conn *grpc.ClientConn) error {
	state := conn.GetState()
	if state == connectivity.Ready {
		r.stands()
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil && state != connectivity.Idle {
		return r.noAnswerYet()
	}
	return r.last
}

// because adds why the sidecar cannot be reached to what ended a call meanwhile.
func (e *Error) because(why error) *Error {
	if why == nil {
		return e
	}
	made := *e
	made.Message += ": " + messageOf(why)
	return &made
}

func messageOf(err error) string {
	var told *Error
	if errors.As(err, &told) {
		return told.Message
	}
	return err.Error()
}
