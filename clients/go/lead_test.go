package keyturn_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// working is a career that works until it is told to stop, and tells when it begins and why it ends.
func working(begun chan<- *keyturn.Term, ended chan<- error) keyturn.LeaderCareer {
	return keyturn.LeaderCareer{Execute: func(ctx context.Context, term *keyturn.Term) error {
		begun <- term
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}}
}

func TestWhatIsWrongWithALeadIsNamed(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	career := working(nil, nil)
	many := map[string]string{"a": strings.Repeat("x", 9_000)}
	for _, one := range []struct {
		name, group string
		career      keyturn.LeaderCareer
		opts        keyturn.LeadOptions
		words       []string
	}{
		{"a group", "no such name", career, keyturn.LeadOptions{}, []string{"group", `"no such name"`, "A-Z a-z 0-9"}},
		{"no work", "g", keyturn.LeaderCareer{}, keyturn.LeadOptions{}, []string{"execute", "nil", "a function"}},
		{"a ttl", "g", career, keyturn.LeadOptions{TTL: time.Millisecond}, []string{"ttl", "1ms", "500ms to 1h"}},
		{"a margin", "g", career, keyturn.LeadOptions{Margin: -time.Second}, []string{"margin", "-1s", "0s to 1h"}},
		{"an inauguration", "g", career, keyturn.LeadOptions{InaugurateTimeout: time.Millisecond}, []string{"inaugurate_timeout", "100ms to 24h"}},
		{"a hand-over", "g", career, keyturn.LeadOptions{HandOverTimeout: 25 * time.Hour}, []string{"hand_over_timeout", "25h0m0s", "100ms to 24h"}},
		{"progress", "g", career, keyturn.LeadOptions{Progress: "always"}, []string{"progress", `"always"`, `"timer" or "manual"`}},
		{"an id", "g", career, keyturn.LeadOptions{CandidateID: strings.Repeat("x", 257)}, []string{"candidate_id", "257", "1 to 256"}},
		{"metadata that is no text", "g", career, keyturn.LeadOptions{Metadata: map[string]string{"a": "\xff"}}, []string{"metadata", "UTF-8"}},
		{"a name in metadata that is no text", "g", career, keyturn.LeadOptions{Metadata: map[string]string{"\xff": "a"}}, []string{"metadata", "UTF-8"}},
		{"an id that is no text", "g", career, keyturn.LeadOptions{CandidateID: "\xff"}, []string{"candidate_id", "UTF-8"}},
		{"metadata", "g", career, keyturn.LeadOptions{Metadata: many}, []string{"metadata", "9001", "8192"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			_, err := client.Lead(context.Background(), one.group, one.career, one.opts)
			var wrong *keyturn.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("it was not refused: %v", err)
			}
			saysAll(t, err.Error(), one.words...)
		})
	}
}

func TestTheEndOfTheContextHandsOver(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	group := queueOf(t)
	begun, ended := make(chan *keyturn.Term, 1), make(chan error, 1)
	career := working(begun, ended)
	career.HandOver = func(ctx context.Context, _ *keyturn.Term, reason keyturn.HandOverReason) ([]byte, error) {
		if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) > 10*time.Second {
			t.Errorf("its deadline is %v, %v", deadline, bounded)
		}
		return []byte(reason), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	leadership := must(client.Lead(ctx, group, career, keyturn.LeadOptions{}))(t)
	term := <-begun
	if leadership.Term() != term.Number || leadership.Position() != 0 {
		t.Errorf("it leads with %d, not %d", leadership.Term(), term.Number)
	}
	cancel()
	var asked *keyturn.HandOverAskedError
	if err := <-ended; !errors.As(err, &asked) || asked.Reason != keyturn.HandOverYield || asked.Term != term.Number {
		t.Errorf("its work was ended by %v", err)
	}
	if err := leadership.Wait(); err != nil || leadership.Term() != 0 {
		t.Errorf("it ended with %v", err)
	}
	answer := must(client.Leaders().GetLeader(within(t, 20*time.Second), &keyturnv1.GetLeaderRequest{Group: group}))(t)
	if answer.Leader != nil || answer.Predecessor.GetHow() != keyturnv1.Succession_SUCCESSION_HANDED_OVER {
		t.Errorf("the sidecar says %v", answer)
	}
}

func TestAPhaseThatPanicsOrEndsItsGoroutineHasFailed(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panics": func() { panic("broken") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t, sharedSidecar(t).address)
			failed := make(chan struct{}, 10)
			first := keyturn.LeaderCareer{Execute: func(context.Context, *keyturn.Term) error {
				failed <- struct{}{}
				fail()
				return nil
			}}
			group := queueOf(t)
			must(client.Lead(context.Background(), group, first, keyturn.LeadOptions{}))(t)
			<-failed
			begun, ended := make(chan *keyturn.Term, 1), make(chan error, 1)
			must(client.Lead(context.Background(), group, working(begun, ended), keyturn.LeadOptions{}))(t)
			if before := (<-begun).Predecessor; before.How != keyturn.SuccessionHandedOver {
				t.Errorf("the one before %v", before)
			}
		})
	}
}

func TestALeaderThatIgnoresItsContextIsCutOffByAShutdown(t *testing.T) {
	t.Parallel()
	client := must(keyturn.Dial(sharedSidecar(t).address))(t)
	begun, lost, release := make(chan *keyturn.Term, 1), make(chan struct{}), make(chan struct{})
	career := keyturn.LeaderCareer{Execute: func(_ context.Context, term *keyturn.Term) error {
		begun <- term
		<-term.Lost()
		close(lost)
		<-release
		return nil
	}}
	leadership := must(client.Lead(context.Background(), queueOf(t), career, keyturn.LeadOptions{}))(t)
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = client.Shutdown(ctx)
	<-lost
	if err := leadership.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	close(release)
	if _, err := client.Lead(context.Background(), "g", career, keyturn.LeadOptions{}); !errors.Is(err, keyturn.ErrClosed) {
		t.Errorf("a closed client: %v", err)
	}
}

// The deadline of the hand-over is here by this process's clock, at the sidecar by its own: either may be first.
func TestAHandOverThatHangsIsToldWhyItsTermIsLost(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	begun, ended, loss := make(chan *keyturn.Term, 1), make(chan error, 1), make(chan keyturn.TermLoss, 1)
	career := working(begun, ended)
	career.HandOver = func(ctx context.Context, term *keyturn.Term, _ keyturn.HandOverReason) ([]byte, error) {
		<-ctx.Done()
		<-term.Lost()
		loss <- term.Loss()
		return nil, ctx.Err()
	}
	options := keyturn.LeadOptions{HandOverTimeout: 200 * time.Millisecond, Once: true}
	leadership := must(client.Lead(context.Background(), queueOf(t), career, options))(t)
	if early := (<-begun).Loss(); early != "" {
		t.Errorf("it is lost before it is: %q", early)
	}
	leadership.Yield()
	if told := <-loss; told != keyturn.TermLossHandOverTimeout {
		t.Errorf("it is lost because of %q", told)
	}
	if err := leadership.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestALeaderMayStopItselfAndYieldAtAnyTime(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	leaderships := make(chan *keyturn.Leadership, 1)
	phases := make(chan string, 10)
	career := keyturn.LeaderCareer{
		Inaugurate: func(context.Context, *keyturn.Term) error { phases <- "inaugurate"; return nil },
		Execute: func(ctx context.Context, _ *keyturn.Term) error {
			phases <- "execute"
			leadership := <-leaderships
			leadership.Yield()
			leadership.Yield()
			return leadership.Stop(ctx)
		},
		HandOver: func(context.Context, *keyturn.Term, keyturn.HandOverReason) ([]byte, error) {
			phases <- "hand over"
			return nil, nil
		},
	}
	leadership := must(client.Lead(context.Background(), queueOf(t), career, keyturn.LeadOptions{}))(t)
	leaderships <- leadership
	if err := leadership.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if told := []string{<-phases, <-phases, <-phases}; strings.Join(told, ", ") != "inaugurate, execute, hand over" || len(phases) > 0 {
		t.Errorf("it did %v", told)
	}
}
