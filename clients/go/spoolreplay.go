package keyturn

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/keyturn/keyturn/clients/go/internal/spool"
	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How items get from the disk to the sidecar.

// spoolBytes is what one Submit from disk may take.
const spoolBytes = 1 << 20

// replay hands over what is on disk, oldest first, until nothing is left.
func (r *spoolRoute) replay() {
	defer r.running.Done()
	var pauses backOff
	told := ""
	for r.open.Err() == nil {
		chunk, err := r.spool.Read(mostItems, spoolBytes)
		if err == nil && chunk != nil {
			err = r.handOver(chunk)
		} else if err == nil && r.ended() {
			return
		}
		if err == nil {
			told = ""
			pauses.reset()
			continue
		}
		if r.open.Err() != nil {
			return
		}
		// What is on disk cannot be read. Nothing may pass it, and nothing of it is skipped; somebody may put it right.
		r.setReachable(false)
		if err.Error() != told {
			r.producer.tellError(spoolError(err), nil)
		}
		told = err.Error()
		pause(r.open, pauses.next(0))
	}
}

// ended is whether nothing is left on disk. When nothing was there yet when the sidecar went away, it is not asked at once
// again.
func (r *spoolRoute) ended() bool {
	r.mu.Lock()
	reachable := r.reachable
	r.mu.Unlock()
	if !reachable {
		var pauses backOff
		pause(r.open, pauses.next(0))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spool.Items() > 0 {
		return false
	}
	r.replaying = false
	r.tellChanged()
	return true
}

// handOver tries until every item of the chunk is settled. The error is that of the disk, or of the end.
func (r *spoolRoute) handOver(chunk *spool.Chunk) error {
	left, err := spooledItems(chunk)
	if err != nil {
		return err
	}
	var pauses backOff
	most, told := len(left), ""
	for len(left) > 0 {
		if r.open.Err() != nil {
			return context.Cause(r.open)
		}
		part := left[:min(most, len(left))]
		request := submitOf(r.producer.queue, part, roomTime, r.producer.opts.Durability)
		handed := r.producer.client.handOver(r.open, request, submitTime+roomTime)
		switch {
		case handed.results != nil:
			left = left[len(part):]
		case handed.errors != nil:
			left = r.without(left, handed.errors)
		case handed.tooMany:
			most = (len(part) + 1) / 2
		default:
			told = r.waits(handed, told, &pauses)
			continue
		}
		r.setReachable(true)
		pauses.reset()
	}
	r.noted(r.spool.Advance(chunk))
	r.mu.Lock()
	r.tellChanged()
	r.mu.Unlock()
	return nil
}

// noted: that the disk does not know what was handed over stops nothing, as the items keep their ids. It is told once.
func (r *spoolRoute) noted(err error) {
	said := ""
	if err != nil {
		said = err.Error()
		if said != r.notNoted {
			r.producer.tellError(spoolError(err), nil)
		}
	}
	r.notNoted = said
}

// waits before another try. A refusal is nothing about the items, so they are kept until somebody has put it right; it is
// told once.
func (r *spoolRoute) waits(handed handedOver, told string, pauses *backOff) string {
	r.setReachable(false)
	err := handed.again
	if handed.refused != nil {
		err = handed.refused
		if err.Error() != told && r.open.Err() == nil {
			r.producer.tellError(err, nil)
		}
	}
	pause(r.open, pauses.next(retryAfterOf(err)))
	return err.Error()
}

// without tells of the items that the sidecar refuses, and drops them.
func (r *spoolRoute) without(items []NewItem, errs map[int]error) []NewItem {
	kept := make([]NewItem, 0, len(items))
	for at := range items {
		if err := errs[at]; err != nil {
			r.producer.tellError(err, &items[at])
			continue
		}
		kept = append(kept, items[at])
	}
	return kept
}

func spooledItems(chunk *spool.Chunk) ([]NewItem, error) {
	items := make([]NewItem, len(chunk.Bodies))
	for at, body := range chunk.Bodies {
		var from pb.NewItem
		if err := proto.Unmarshal(body, &from); err != nil {
			return nil, &spool.Error{Problem: spool.Damaged, File: "the spool", What: "a record is no item", Cause: err}
		}
		items[at] = NewItem{
			Key: from.Key, Payload: from.Payload, Headers: from.Headers, ItemID: from.ItemId, IdempotencyKey: from.IdempotencyKey,
			Delay: from.Delay.AsDuration(), AfterUnknown: AfterUnknownRefuse,
		}
		if from.AfterUnknown == pb.AfterUnknown_AFTER_UNKNOWN_WAIT {
			items[at].AfterUnknown = AfterUnknownWait
		}
		for _, ref := range from.After {
			items[at].After = append(items[at].After, ItemRef{Queue: ref.Queue, ItemID: ref.ItemId})
		}
	}
	return items, nil
}
