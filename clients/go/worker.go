package keyturn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// worker is one turn of a consumer, from its delivery to its end.
type worker struct {
	consumer *Consumer
	work     *Work
	held     *heldTurn
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	span     traceSpan
	// Told to stop: what the handler returns as an error from now on gives the items back without counting an attempt.
	aborted atomic.Bool
	// The turn was given back though the handler has not ended.
	givenUp atomic.Bool
	// It was told that a stop cut its handler off.
	cut atomic.Bool
	// Why its items are given back.
	failure error
}

// newWorker begins to hold the turn.
func newWorker(k *Consumer, delivery *delivery) *worker {
	w := &worker{consumer: k, work: &Work{TurnInfo: delivery.turn, Items: delivery.items}}
	w.ctx, w.cancel = context.WithCancelCause(k.base)
	w.ctx, w.span = k.client.traceAttempt(w.ctx, w.work)
	w.held = k.client.over.hold(&delivery.turn, delivery.turn.since)
	w.held.watch(func(loss *TurnLostError) { w.cancel(loss) })
	if k.opts.MaxHold > 0 {
		w.timer = time.AfterFunc(k.opts.MaxHold, func() { w.cancel(ErrMaxHold) })
	}
	return w
}

func (w *worker) run() {
	k := w.consumer
	defer k.forget(w)
	defer w.span.end()
	defer w.letGo()
	if w.held.lost() != nil {
		// Lost before it began: nothing is started just to be stopped.
		w.lost(nil)
		return
	}
	// In a deferred function: a handler that ends its goroutine shall not keep turn and slot.
	verdict, err := verdictOn(errGoexit, len(w.work.Items)), errGoexit
	defer func() { w.conclude(verdict, err) }()
	verdict, err = w.handle()
}

func (w *worker) conclude(verdict *pb.NackRequest, err error) {
	switch {
	case w.givenUp.Load():
		w.consumer.leftSlot(false)
	case w.held.lost() != nil:
		w.lost(err)
	case err == nil:
		w.ack()
	default:
		w.nack(verdict, err)
	}
}

func (w *worker) letGo() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.consumer.client.over.release(w.held)
	w.cancel(ErrReleased)
}

// handle also reads what the error means: an error that panics when it is asked (a nil pointer that is returned as an error
// does) is a handler that panicked.
func (w *worker) handle() (verdict *pb.NackRequest, err error) {
	defer func() {
		if value := recover(); value != nil {
			stopped := &PanicError{Value: value, Stack: debug.Stack()}
			w.consumer.client.set.loudLogger().Error("keyturn: a handler panicked", append(w.named(), "panic", shortened(fmt.Sprint(value)), "stack", shortened(string(stopped.Stack)))...)
			verdict, err = verdictOn(stopped, len(w.work.Items)), stopped
		}
	}()
	defer w.consumer.client.set.inside.enter()()
	if err = w.consumer.handler(w.ctx, w.work); err != nil {
		verdict = verdictOn(err, len(w.work.Items))
	}
	return verdict, err
}

func (w *worker) abort(reason error) {
	w.aborted.Store(true)
	w.cancel(reason)
}

func (w *worker) giveUp() {
	w.givenUp.Store(true)
	w.consumer.cutOff(w)
	w.span.outcome(TraceRelease)
	w.consumer.client.releaseTurn(w.work.TurnRef)
	w.letGo()
}

func (w *worker) trouble(stage Stage, err error) {
	w.span.trouble(stage, err)
	w.consumer.trouble(Trouble{Stage: stage, Work: w.work, Err: err})
}

// lost: the items are somebody else's. Nothing is sent.
func (w *worker) lost(err error) {
	w.trouble(StageTurnLost, lossWith(w.held.lost(), err))
	w.consumer.leftSlot(false)
}

func (w *worker) ack() {
	request, err := w.ackRequest()
	if err != nil {
		// Another attempt would say the same, and the work is done: it never runs again.
		err := DeadLetter(messageOf(err))
		w.nack(verdictOn(err, len(w.work.Items)), err)
		return
	}
	w.settle(func() *command { return newAck(request) })
}

// ackRequest fails when what the handler said can never be sent.
func (w *worker) ackRequest() (*pb.AckRequest, error) {
	result, followUps := w.work.said()
	request := &pb.AckRequest{Queue: w.work.Queue, Key: w.work.Key, Token: w.work.Token, Result: result}
	var check checks
	for at, one := range followUps {
		item := w.consumer.client.withID(one.item)
		if w.span.to != nil {
			// It was caused by this attempt.
			item = w.consumer.client.stamped(w.ctx, item)
		}
		request.FollowUps = append(request.FollowUps, &pb.FollowUp{Queue: one.queue, Item: check.item(fmt.Sprintf("follow_ups[%d].item", at), &item)})
	}
	return request, firstOf(check.err(), textOf(request), ackFits(request))
}

// ackFits looks at what the contract allows.
func ackFits(request *pb.AckRequest) error {
	if bytes := len(request.Result); bytes > mostPayload {
		return fmt.Errorf("the result takes %d bytes; at most %d", bytes, mostPayload)
	}
	if count := len(request.FollowUps); count > mostItems {
		return fmt.Errorf("there are %d follow-ups; at most %d", count, mostItems)
	}
	if bytes := proto.Size(request) + fixedBytes; bytes > largestMessage {
		return fmt.Errorf("the result and the follow-ups take %d bytes; at most %d fit into one Ack", bytes, largestMessage)
	}
	return nil
}

func (w *worker) nack(verdict *pb.NackRequest, err error) {
	verdict.Queue, verdict.Key, verdict.Token = w.work.Queue, w.work.Key, w.work.Token
	if w.aborted.Load() && verdict.Kind == pb.NackKind_NACK_KIND_RETRY {
		verdict.Kind, verdict.Delay = pb.NackKind_NACK_KIND_RELEASE, nil
		w.consumer.cutOff(w)
	} else {
		if verdict.Kind == pb.NackKind_NACK_KIND_RETRY {
			w.attemptFailed(err, verdict.Error)
		}
		w.trouble(StageHandler, err)
	}
	w.failure = err
	w.settle(func() *command { return newNack(verdict) })
}

// named says which turn it is, for a logger.
func (w *worker) named() []any {
	return []any{"queue", w.work.Queue, "key", w.work.Key, "token", w.work.Token, "attempt", w.work.Attempt}
}

// settledBy looks what the sidecar did with the items.
func (w *worker) settledBy(c *command) {
	answer, ok := c.answer.(*pb.NackResponse)
	if !ok {
		w.span.outcome(TraceAck)
		return
	}
	if answer.GetDeadLettered() == 0 {
		w.span.outcome(outcomeOf(c))
		return
	}
	w.span.outcome(TraceDeadLetter)
	w.consumer.client.set.loudLogger().Warn("keyturn: dead letter: nobody tries it again before it is redriven", append(w.named(), "items", answer.GetDeadLettered(), "error", shortened(fmt.Sprint(w.failure)))...)
	w.trouble(StageDeadLetter, w.failure)
}

// settle leaves the slot when the call is sent, not when it is answered: the sidecar gets the next Acquire after it, so
// that it never gives more turns than there are slots.
func (w *worker) settle(make func() *command) {
	err := w.settlePatiently(make)
	if err == nil {
		return
	}
	if failureOf(err) == lost {
		w.trouble(StageTurnLost, err)
		return
	}
	w.trouble(StageSettle, err)
	if w.held.lost() != nil || failureOf(err) != refused {
		return
	}
	// Refused as it is, the turn is ours still: what it said is wrong, or the queue gives items once only.
	w.failure = err
	instead := releaseOf(w.work.TurnRef, shortened(err.Error()))
	if reasonOf(err) != reasonAtMostOnce {
		instead.Kind = pb.NackKind_NACK_KIND_RETRY
	}
	w.consumer.enterSlot()
	if err := w.settlePatiently(func() *command { return newNack(instead) }); err != nil {
		w.trouble(StageSettle, err)
	}
}

// settlePatiently goes on while the turn is ours, for as long as the options say. It begins in the slot, and ends outside.
func (w *worker) settlePatiently(make func() *command) error {
	k := w.consumer
	over := k.client.over
	// The end of the handler's context is no reason to stop, the loss of the turn is.
	ctx, cancel := context.WithCancelCause(k.base)
	defer cancel(nil)
	w.held.watch(func(loss *TurnLostError) { cancel(loss) })
	inSlot := true
	leave := func(isSettling bool) {
		if inSlot {
			k.leftSlot(isSettling)
		}
		inSlot = false
	}
	isSettling := false
	err := patiently(ctx, now().plus(k.opts.SettleTimeout), []failure{away, full}, func(left time.Duration) error {
		c := make()
		if isSettling {
			k.backInSlot()
			isSettling, inSlot = false, true
		}
		c.timeout = left
		over.start(ctx, c)
		if over.ordered() {
			leave(true)
			isSettling = true
		}
		err := over.wait(ctx, c)
		if err == nil {
			w.settledBy(c)
		}
		return err
	})
	if isSettling {
		k.settled()
	}
	leave(false)
	if loss := w.held.lost(); err != nil && loss != nil {
		return loss
	}
	return err
}
