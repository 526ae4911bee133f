package keyturn

import "context"

// Pending is an item that a producer was given, and what becomes of it.
type Pending struct {
	// ItemID of the item, yours or one that was made.
	ItemID string

	item NewItem
	size int
	// Not tried any more after this.
	deadline moment
	since    moment
	admitted chan struct{}
	done     chan struct{}
	result   SubmitResult
	err      error
}

// Done is closed when it is known what became of the item.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns what the sidecar decided, or DecisionSpooled when the item is safe on disk. The error is a [ProducerTimeoutError],
// ErrProducerClosed, a [SpoolError], the [Error] with which the sidecar refused the item, or that of ctx. What is known is
// told, whatever the context.
func (p *Pending) Wait(ctx context.Context) (SubmitResult, error) {
	select {
	case <-p.done:
		return p.result, p.err
	default:
	}
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
		return SubmitResult{}, contextError(ctx)
	}
}
