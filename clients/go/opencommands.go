package keyturn

import (
	"fmt"
	"sort"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// largestMessage: one of more bytes is not taken.
const largestMessage = 4<<20 - 64

// openLimits bound the calls that are not answered yet. They are kept until then, because they may have to be sent again.
type openLimits struct {
	commands int
	bytes    int
}

// openCommands are commands without their answer. No two have the same id; an id is used again when its command is open
// no more: whoever lets go of a command that was sent has its answer, or gives up the stream.
type openCommands struct {
	limits openLimits
	// By id. 0 is never one, so that it can name nothing.
	places []*command
	free   []uint32
	asked  uint64
	// Calls of the application, those included that it waits for no more, and what they take.
	workers int
	bytes   int
}

func newOpenCommands(limits openLimits) *openCommands {
	return &openCommands{limits: limits, places: make([]*command, 1, 64)}
}

// refusal is what stands against one more call of the application.
func (o *openCommands) refusal(c *command) error {
	if c.invalid != nil {
		return c.invalid
	}
	if c.bytes > largestMessage {
		// The estimate is generous. On a session what is truly too large would end the stream for everybody.
		if bytes := proto.Size(&c.wire); bytes > largestMessage {
			return &Error{Code: codes.InvalidArgument, Message: fmt.Sprintf("the call takes %d bytes; at most %d", bytes, largestMessage)}
		}
	}
	most := o.limits.commands
	if c.keepsOrEnds {
		// Calls that end or keep turns find an eighth more room: without them nothing would ever be answered.
		most += most/8 + 1
	}
	if o.workers >= most {
		return tooMany("%d calls are open; at most %d may be (MaxOpenCalls)", o.workers, most)
	}
	if o.bytes+c.bytes > o.limits.bytes {
		return tooMany("open calls take %d bytes, this one %d; at most %d (MaxOpenBytes)", o.bytes, c.bytes, o.limits.bytes)
	}
	return nil
}

func tooMany(format string, args ...any) error {
	return &Error{Code: codes.ResourceExhausted, Message: fmt.Sprintf(format, args...)}
}

func (o *openCommands) add(c *command) {
	if last := len(o.free) - 1; last >= 0 {
		c.wire.Id = o.free[last]
		o.free = o.free[:last]
	} else {
		c.wire.Id = uint32(len(o.places))
		o.places = append(o.places, nil)
	}
	o.asked++
	c.place = o.asked
	o.places[c.wire.Id] = c
	if c.own == nil {
		o.workers++
		o.bytes += c.bytes
	}
}

func (o *openCommands) has(c *command) bool { return o.find(c.wire.Id) == c }

func (o *openCommands) find(id uint32) *command {
	if int(id) >= len(o.places) {
		return nil
	}
	return o.places[id]
}

func (o *openCommands) remove(c *command) {
	if !o.has(c) {
		return
	}
	o.places[c.wire.Id] = nil
	o.free = append(o.free, c.wire.Id)
	if c.own == nil {
		o.workers--
		o.bytes -= c.bytes
	}
}

func (o *openCommands) isEmpty() bool { return len(o.free) == len(o.places)-1 }

// inOrder are all of them, in the order in which they were asked.
func (o *openCommands) inOrder() []*command {
	all := make([]*command, 0, o.workers)
	for _, c := range o.places {
		if c != nil {
			all = append(all, c)
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].place < all[b].place })
	return all
}

// workersInOrder are those of the application.
func (o *openCommands) workersInOrder() []*command {
	all := o.inOrder()
	workers := all[:0]
	for _, c := range all {
		if c.own == nil {
			workers = append(workers, c)
		}
	}
	return workers
}
