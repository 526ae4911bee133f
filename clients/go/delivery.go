package keyturn

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// submitTime is how long one Submit of a batch may take.
	submitTime = 10 * time.Second
	// roomTime is how long a Submit waits for room: in a queue that is full for a moment room is told as soon as it is there.
	// When it is full for longer the sidecar says when to come again.
	roomTime = time.Second
)

// deliver brings a batch to the sidecar, or to the disk; it tries until every item is settled.
func (p *Producer) deliver(batch []*Pending) {
	var pauses backOff
	most := len(batch)
	var last error
	for left := p.alive(batch, nil); len(left) > 0; left = p.alive(left, last) {
		if p.route != nil && p.route.inUse() {
			left = p.route.take(left)
			continue
		}
		part := left[:min(most, len(left))]
		handed := p.handOverPart(part)
		switch {
		case handed.tooMany:
			most = (len(part) + 1) / 2
		case handed.again != nil:
			last = handed.again
			if !handed.isEnded && p.route != nil {
				p.route.begin()
				continue
			}
			pause(p.givenUp, min(pauses.next(retryAfterOf(last)), left[0].deadline.until()))
		default:
			left = append(p.settlePart(part, handed), left[len(part):]...)
		}
	}
}

// alive rejects those whose time is over.
func (p *Producer) alive(left []*Pending, last error) []*Pending {
	if p.givenUp.Err() != nil {
		for _, one := range left {
			p.settle(one, SubmitResult{}, context.Cause(p.givenUp))
		}
		return nil
	}
	at := now()
	kept := make([]*Pending, 0, len(left))
	for _, one := range left {
		if one.deadline <= at {
			p.settle(one, SubmitResult{}, &ProducerTimeoutError{ItemID: one.ItemID, Timeout: p.opts.Timeout, Err: last})
		} else {
			kept = append(kept, one)
		}
	}
	return kept
}

// handOverPart takes no longer than until the first deadline.
func (p *Producer) handOverPart(part []*Pending) handedOver {
	patience := submitTime
	if p.opts.Spool != nil {
		patience = p.opts.Spool.Patience
	}
	left := max(time.Millisecond, part[0].deadline.until())
	timeout := min(patience, left)
	items := make([]NewItem, len(part))
	for at, one := range part {
		items[at] = one.item
	}
	room := min(roomTime, left-timeout).Truncate(time.Millisecond)
	return p.client.handOver(p.givenUp, submitOf(p.queue, items, room, p.opts.Durability), timeout+room)
}

// settlePart returns what is left of the part, to be sent again.
func (p *Producer) settlePart(part []*Pending, handed handedOver) []*Pending {
	var left []*Pending
	for at, one := range part {
		switch {
		case handed.refused != nil:
			p.settle(one, SubmitResult{}, handed.refused)
		case handed.results != nil:
			p.settle(one, handed.results[at], nil)
		case handed.errors[at] != nil:
			p.settle(one, SubmitResult{}, handed.errors[at])
		default:
			left = append(left, one)
		}
	}
	return left
}

// handedOver is what one Submit of a batch means for its items. One of the fields is set.
type handedOver struct {
	// One for each, in order.
	results []SubmitResult
	// These, by their index, will never be accepted; nothing of the others was.
	errors map[int]error
	// More than the queue can ever hold together.
	tooMany bool
	// All of them are refused.
	refused error
	// Another try may do: nobody answered, and they may have been accepted, or there is no room now. isEnded: the call was ended here.
	again   error
	isEnded bool
}

func (c *Client) handOver(ctx context.Context, request *pb.SubmitRequest, timeout time.Duration) handedOver {
	results, err := c.submitBatch(ctx, request, timeout)
	if err == nil {
		return handedOver{results: results}
	}
	switch failureOf(err) {
	case refused:
		return refusal(err, len(request.GetItems()))
	case cancelled:
		// Whoever ended it says why.
		if ctx.Err() == nil {
			return handedOver{refused: err}
		}
	}
	return handedOver{again: err, isEnded: failureOf(err) == cancelled}
}

func refusal(err error, count int) handedOver {
	var told *Error
	if !errors.As(err, &told) || told.Code != codes.InvalidArgument {
		return handedOver{refused: err}
	}
	byItem := map[int]*Error{}
	tooMany := false
	for _, one := range told.Violations {
		at, ok := itemIndex(one.Field)
		if !ok || at >= count {
			tooMany = tooMany || one.Field == "items"
			continue
		}
		if byItem[at] == nil {
			byItem[at] = &Error{Code: told.Code, Reason: told.Reason, Metadata: told.Metadata}
		}
		byItem[at].Violations = append(byItem[at].Violations, one)
	}
	if len(byItem) == 0 {
		if tooMany && count > 1 {
			return handedOver{tooMany: true}
		}
		return handedOver{refused: err}
	}
	handed := handedOver{errors: map[int]error{}}
	for at, one := range byItem {
		one.Message = (&checks{violations: one.Violations}).err().(*Error).Message
		handed.errors[at] = one
	}
	return handed
}

// itemIndex is 3 for items[3].key.
func itemIndex(field string) (int, bool) {
	rest, ok := strings.CutPrefix(field, "items[")
	number, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return 0, false
	}
	at, err := strconv.Atoi(number)
	return at, err == nil && at >= 0
}
