package keyturn

import (
	"context"
	"fmt"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// largestBatch is what items of one message may take: 4 MiB are allowed, and sizes are estimates.
	largestBatch = 3_500_000
	mostItems    = 1_000
	// Tags, lengths and numbers of an item; tag and lengths of a header, or of another item that it waits for.
	itemOverhead = 64
	pairOverhead = 16
)

// SubmitOptions are the options of [Client.Submit] and [Client.SubmitMany]. The zero value is fine.
type SubmitOptions struct {
	// WaitForRoom is how long to wait for room in a full queue, up to 5 min. Zero: none.
	WaitForRoom time.Duration
	// Durability says what has happened when an item is accepted. Empty: as the queue has it. Refused if it cannot give it.
	Durability Durability
	// Timeout is how long to go on trying when the sidecar is away, for each message. Zero: 10 s and WaitForRoom.
	Timeout time.Duration
}

func (o *SubmitOptions) check() error {
	var check checks
	check.durability("durability", o.Durability)
	if err := check.err(); err != nil {
		return err
	}
	if o.Timeout < 0 {
		return wrongSetting("timeout", o.Timeout, "0s or more")
	}
	return durationWithin("wait_for_room", o.WaitForRoom, 0, longestWait)
}

// Submit hands one item over, for Keyturn to keep until a worker takes it. It gets an id if it has none, the same on every
// try, so that a lost answer makes no second item.
func (c *Client) Submit(ctx context.Context, queue string, item NewItem, opts ...SubmitOptions) (SubmitResult, error) {
	results, err := c.submitAll(ctx, queue, []NewItem{item}, opts, func(cause error, _ []SubmitResult, _ []NewItem) error { return cause })
	if err != nil {
		return SubmitResult{}, err
	}
	return results[0], nil
}

// SubmitMany hands items over in order, in as many messages as it takes. Each message is accepted as a whole or not at all,
// and none is sent before the one before it was. There is one result per item, in order; the error is a [SubmitManyError].
func (c *Client) SubmitMany(ctx context.Context, queue string, items []NewItem, opts ...SubmitOptions) ([]SubmitResult, error) {
	return c.submitAll(ctx, queue, items, opts, func(cause error, results []SubmitResult, rest []NewItem) error {
		return &SubmitManyError{Results: results, Rest: rest, Err: cause}
	})
}

func (c *Client) submitAll(ctx context.Context, queue string, items []NewItem, opts []SubmitOptions, failed func(error, []SubmitResult, []NewItem) error) ([]SubmitResult, error) {
	var options SubmitOptions
	if len(opts) > 0 {
		options = opts[len(opts)-1]
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	named := c.named(ctx, items)
	batches, err := batchesOf(named)
	if err != nil {
		return nil, failed(err, nil, named)
	}
	results := make([]SubmitResult, 0, len(named))
	for _, batch := range batches {
		part, err := c.submitPatiently(ctx, queue, batch, options)
		if err != nil {
			return nil, failed(err, results, named[len(results):])
		}
		results = append(results, part...)
	}
	return results, nil
}

// batchesOf cuts at 1,000 items and below the size of a message. All items are looked at before the first is sent.
func batchesOf(items []NewItem) ([][]NewItem, error) {
	var batches [][]NewItem
	first, bytes := 0, 0
	for at := range items {
		size, err := checkedSize(&items[at], at)
		if err != nil {
			return nil, err
		}
		if at-first == mostItems || (at > first && bytes+size > largestBatch) {
			batches = append(batches, items[first:at])
			first, bytes = at, 0
		}
		bytes += size
	}
	if first < len(items) {
		batches = append(batches, items[first:])
	}
	return batches, nil
}

// checkedSize is about how many bytes the item takes in a message, rather too many; and what cannot be sent at all.
func checkedSize(item *NewItem, at int) (int, error) {
	var check checks
	field := fmt.Sprintf("items[%d]", at)
	check.item(field, item)
	size := itemOverhead + len(item.Key) + len(item.Payload) + len(item.ItemID) + len(item.IdempotencyKey)
	for name, value := range item.Headers {
		size += pairOverhead + len(name) + len(value)
	}
	for _, ref := range item.After {
		size += pairOverhead + len(ref.Queue) + len(ref.ItemID)
	}
	if size > largestBatch {
		check.add(field, fmt.Sprintf("takes %d bytes; allowed are %d with everything", size, largestBatch))
	}
	return size, check.err()
}

func (c *Client) submitPatiently(ctx context.Context, queue string, items []NewItem, options SubmitOptions) ([]SubmitResult, error) {
	patience := options.Timeout
	if patience == 0 {
		patience = options.WaitForRoom + callGrace
	}
	var results []SubmitResult
	items = ownedItems(items)
	err := patiently(ctx, now().plus(patience), []failure{away}, func(left time.Duration) error {
		var err error
		results, err = c.submitBatch(ctx, submitOf(queue, items, options.WaitForRoom, options.Durability), left)
		return err
	})
	return results, err
}

// submitBatch has items that were looked at, and that nobody changes.
func (c *Client) submitBatch(ctx context.Context, request *pb.SubmitRequest, timeout time.Duration) ([]SubmitResult, error) {
	command := newCheckedSubmit(request)
	command.timeout = timeout
	if err := ask(ctx, c.over, command); err != nil {
		return nil, err
	}
	from, err := answered[*pb.SubmitResponse](command)
	if err != nil {
		return nil, err
	}
	if len(from.GetResults()) != len(request.GetItems()) {
		return nil, badAnswer(fmt.Sprintf("the answer has %d results for %d items", len(from.GetResults()), len(request.GetItems())))
	}
	return submitResults(from.GetResults())
}
