package keyturn

import (
	"time"
)

// How a producer sends what it has.

func (p *Producer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// send hands over one batch after another: so the order holds, whatever is tried again. It ends when the producer is
// closed and empty.
func (p *Producer) send() {
	defer p.end()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, wait, over := p.nextBatch()
		if over {
			return
		}
		if len(batch) > 0 {
			p.deliver(batch)
			continue
		}
		timer.Reset(wait)
		select {
		case <-p.wake:
		case <-timer.C:
		case <-p.givenUp.Done():
		}
	}
}

func (p *Producer) end() {
	if p.route != nil {
		p.route.close()
	}
	p.client.mu.Lock()
	delete(p.client.producers, p)
	p.client.mu.Unlock()
	p.giveUp(ErrProducerClosed)
	close(p.ended)
}

// nextBatch is what is due, else how long that takes. over: nothing is left, and nothing comes.
func (p *Producer) nextBatch() (batch []*Pending, wait time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil, time.Hour, p.closed
	}
	wait = p.waiting[0].since.plus(p.opts.Interval).until()
	isFull := len(p.waiting) >= p.opts.Count || p.waitingBytes >= largestBatch
	if !isFull && !p.closed && p.flushing == 0 && wait > 0 && p.givenUp.Err() == nil {
		return nil, wait, false
	}
	end, bytes := 0, 0
	for end < len(p.waiting) && end < p.opts.Count && (end == 0 || bytes+p.waiting[end].size <= largestBatch) {
		bytes += p.waiting[end].size
		end++
	}
	batch = append(batch, p.waiting[:end]...)
	clear(p.waiting[:end])
	p.waiting = p.waiting[end:]
	p.waitingBytes -= bytes
	p.sent += end
	p.sentBytes += bytes
	return batch, 0, false
}

// settle tells what became of an item that was on its way.
func (p *Producer) settle(one *Pending, result SubmitResult, err error) {
	one.result, one.err = result, err
	p.mu.Lock()
	p.sent--
	p.sentBytes -= one.size
	delete(p.unsettled, one)
	p.admit()
	p.mu.Unlock()
	close(one.done)
	if err != nil {
		p.tellError(err, &one.item)
	}
}

func (p *Producer) tellError(err error, item *NewItem) {
	p.client.set.logger.Warn("keyturn: trouble of a producer", "queue", p.queue, "error", err)
	if p.opts.OnError == nil {
		return
	}
	// The producer's goroutine tells, and with a spool the replay and whoever syncs.
	p.telling.Lock()
	defer p.telling.Unlock()
	p.client.set.aloneInside("OnError", func() { p.opts.OnError(err, item) })
}
