package keyturn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Who asks, where the sidecar wants to know.

const (
	// readTokenEvery: for calls a file is not read more often.
	readTokenEvery = time.Second
	longestToken   = 8192
	tokenAllowed   = `a token as "keyturn token new" prints it, 1 to 8192 characters of ASCII, without spaces`
)

// tokenText is what HTTP lets through in a header, without spaces.
var tokenText = regexp.MustCompile(`^[\x21-\x7e]+$`)

// longCalls go on for long: for them the token of this very moment counts, not one of a second ago.
var longCalls = func() map[string]bool {
	names := map[string]bool{}
	for _, service := range []grpc.ServiceDesc{pb.CoordinatorService_ServiceDesc, pb.LeaderService_ServiceDesc, pb.AdminService_ServiceDesc} {
		for _, stream := range service.Streams {
			names["/"+service.ServiceName+"/"+stream.StreamName] = true
		}
	}
	return names
}()

// bearer puts the token on every call and stream. One of text, path and get is set.
type bearer struct {
	option string
	text   string
	path   string
	get    func(context.Context) (string, error)

	mu     sync.Mutex
	good   string
	readAt moment
}

// WithToken says who asks, where the sidecar wants to know (auth): a token as "keyturn token new" prints it. Of several
// options about tokens the last counts. Default: no token.
func WithToken(token string) Option {
	return func(s *settings) { s.token = &bearer{option: "token", text: token} }
}

// WithTokenFile is [WithToken] with a file that has the token. Who replaces the file replaces the token: streams look at it
// whenever they begin, calls once a second. While it cannot be read the last good token counts: who replaces it may be in the
// middle of that.
func WithTokenFile(path string) Option {
	return func(s *settings) { s.token = &bearer{option: "token_file", path: path} }
}

// WithTokenFunc is [WithToken] with a function that gives the token, asked for each call and stream, by any goroutine; its
// context ends with the call's. What it fails with is what the call fails with.
func WithTokenFunc(get func(context.Context) (string, error)) Option {
	return func(s *settings) { s.token = &bearer{option: "token_func", get: get} }
}

// WithInsecure lets a token be sent to another machine in clear text. Default: that is refused. It is not needed for loopback
// and sockets.
func WithInsecure() Option { return func(s *settings) { s.insecure = true } }

// loopback are names that lead to this machine, whatever a name server says; no name does, too.
var loopback = regexp.MustCompile(`(?i)^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])?:[^:]*$`)

// refuseClearToken: the sidecar would refuse it, too, but only when everybody on the way has read it.
func (s *settings) refuseClearToken(address string) error {
	if s.token == nil || s.tls != nil || s.insecure || strings.HasPrefix(address, "unix:") || loopback.MatchString(address) {
		return nil
	}
	description := fmt.Sprintf("it would be sent to %s in clear text; use WithTLS, or say WithInsecure", address)
	return &Error{
		Code: codes.InvalidArgument, Reason: reasonBadRequest, Message: "token: " + description,
		Violations: []Violation{{Field: "token", Description: description}},
	}
}

func (b *bearer) check() error {
	switch b.option {
	case "token":
		if err := tokenFits(b.text); err != nil {
			return wrongSetting(b.option, fmt.Sprintf("a text of %d characters", len(b.text)), tokenAllowed)
		}
	case "token_file":
		if err := b.read(); err != nil {
			return wrongSetting(b.option, b.path, "a file with a token: "+err.Error())
		}
	default:
		if b.get == nil {
			return wrongSetting(b.option, "nil", "a function that gives a token")
		}
	}
	return nil
}

// tokenFits: the token is a secret, no error shows it.
func tokenFits(token string) error {
	if len(token) > longestToken {
		return fmt.Errorf("the token has %d characters or more; at most %d are allowed", longestToken+1, longestToken)
	}
	if !tokenText.MatchString(token) {
		return errors.New("the token is empty, or has a space or a character beyond ASCII")
	}
	return nil
}

// read reads the file; what is in it counts only if it is a token. The lock is held, or nobody else has the bearer.
func (b *bearer) read() error {
	b.readAt = now()
	file, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer file.Close()
	// Room for the end of its line; what is longer is none.
	text, err := io.ReadAll(io.LimitReader(file, 2*longestToken))
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(text))
	if err := tokenFits(token); err != nil {
		return err
	}
	b.good = token
	return nil
}

func (b *bearer) current(ctx context.Context) (string, error) {
	if b.get != nil {
		token, err := b.ask(ctx)
		if err != nil {
			return "", err
		}
		return token, tokenFits(token)
	}
	if b.path == "" {
		return b.text, nil
	}
	info, _ := credentials.RequestInfoFromContext(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if longCalls[info.Method] || now().minus(b.readAt) >= readTokenEvery {
		// Else the last good one counts, as WithTokenFile says.
		_ = b.read()
	}
	return b.good, nil
}

// ask fails when the function panics: goroutines of the client call it.
func (b *bearer) ask(ctx context.Context) (token string, err error) {
	defer func() {
		if value := recover(); value != nil {
			token, err = "", fmt.Errorf("the function of WithTokenFunc panicked: %v", value)
		}
	}()
	return b.get(ctx)
}

// GetRequestMetadata is the header of one call or stream.
func (b *bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.current(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "no token: "+err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity is no: a sidecar beside its application is reached by loopback or a socket.
func (b *bearer) RequireTransportSecurity() bool { return false }
