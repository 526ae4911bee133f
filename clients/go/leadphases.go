package keyturn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// What the career of a leader runs, each phase in a goroutine of its own and without the lock.

func (l *Leadership) inaugurates(t *Term) {
	err := l.run(t, "inauguration", func() error {
		if l.career.Inaugurate == nil {
			return nil
		}
		return l.career.Inaugurate(t.ctx, t)
	})
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	switch {
	case t.loss != "":
		l.finish(t, nil, true)
	case err != nil:
		l.finish(t, nil, false)
	case t.asked != "":
		l.leaveOffice(t)
	default:
		t.phase = inaugurated
		l.say(inauguratedSaid(t.Number))
	}
}

func (l *Leadership) executes(t *Term) {
	err := l.run(t, "work", func() error { return l.career.Execute(t.ctx, t) })
	// To stop because one was told to is no failure.
	failed := err != nil && (t.ctx.Err() == nil || !(errors.Is(err, t.ctx.Err()) || errors.Is(err, context.Cause(t.ctx))))
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	t.phase = ended
	switch {
	case t.loss != "":
		l.finish(t, nil, true)
	case t.asked != "":
		l.leaveOffice(t)
	default:
		l.yield(failed)
	}
}

func (l *Leadership) handsOver(t *Term, reason HandOverReason, by moment) {
	ctx, cancel := context.WithTimeout(t.lostCtx, by.until())
	defer cancel()
	var state []byte
	err := l.run(t, "hand-over", func() (err error) {
		state, err = l.career.HandOver(ctx, t, reason)
		if err == nil && len(state) > mostState {
			err = wrongSetting("state", fmt.Sprintf("%d bytes", len(state)), fmt.Sprintf("up to %d bytes", mostState))
		}
		return err
	})
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	if err != nil {
		l.finish(t, nil, true)
		return
	}
	l.finish(t, state, t.loss != "" && len(state) == 0)
}

// run tells what goes wrong in a phase, a panic too. A goroutine that ends by itself (runtime.Goexit) has failed.
func (l *Leadership) run(t *Term, phase string, do func() error) (err error) {
	told := []any{"group", l.group, "term", t.Number, "phase", phase}
	returned := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if value := recover(); value != nil {
				stopped := &PanicError{Value: value, Stack: debug.Stack()}
				l.client.set.loudLogger().Error("keyturn: a leader panicked", append(told, "panic", value, "stack", string(stopped.Stack))...)
				err = stopped
			}
			returned <- err
		}()
		defer l.client.set.inside.enter()()
		err = do()
	}()
	var panicked *PanicError
	if err = <-returned; err != nil && !errors.As(err, &panicked) {
		l.client.set.loudLogger().Warn("keyturn: a phase of a leader ended with an error", append(told, "error", err)...)
	}
	return err
}
