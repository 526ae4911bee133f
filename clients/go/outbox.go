package keyturn

import pb "github.com/keyturn/keyturn/clients/go/keyturnv1"

// Bounds of one message. The sidecar takes up to 4 MiB; beyond some hundred commands a larger one is not faster.
const (
	commandsPerMessage = 1_024
	bytesPerMessage    = 1 << 20
)

// outbox holds commands that are open and not yet written to the stream, in order.
type outbox struct {
	open    *openCommands
	waiting []*command
	at      int
	// What the session asks itself goes first: it is little, and other things depend on it in time.
	urgent []*command
}

func (o *outbox) push(c *command)       { o.waiting = append(o.waiting, c) }
func (o *outbox) pushUrgent(c *command) { o.urgent = append(o.urgent, c) }

// clear is for a new stream: what was not written to the old one is asked for anew by its owner.
func (o *outbox) clear() {
	o.waiting, o.urgent, o.at = nil, nil, 0
}

// batch appends the next message's commands to into.
func (o *outbox) batch(into []*pb.Command, sentAt moment) []*pb.Command {
	bytes := 0
	take := func(c *command) {
		bytes += c.bytes
		c.sent, c.sentAt = true, sentAt
		into = append(into, &c.wire)
	}
	for _, c := range o.urgent {
		if o.open.has(c) {
			take(c)
		}
	}
	clear(o.urgent)
	o.urgent = o.urgent[:0]
	for o.at < len(o.waiting) && len(into) < commandsPerMessage {
		c := o.waiting[o.at]
		if len(into) > 0 && bytes+c.bytes > bytesPerMessage {
			break
		}
		// Abandoned before it was sent: nobody needs to know.
		if o.open.has(c) {
			take(c)
		}
		o.waiting[o.at] = nil
		o.at++
	}
	if o.at == len(o.waiting) {
		o.waiting, o.at = o.waiting[:0], 0
	}
	return into
}
