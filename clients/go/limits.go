package keyturn

import (
	"fmt"
	"regexp"
	"time"
)

// The limits of the contract. A sidecar may have lower ones, never higher ones: what is over these is refused by every one.
// So a producer with a spool looks before it says that an item is kept. All other calls leave it to the sidecar.
const (
	mostQueueBytes  = 128
	mostKeyBytes    = 1_024
	mostIDBytes     = 256
	mostPayload     = 1 << 20
	mostHeaders     = 64
	mostHeaderBytes = 8 << 10
	mostAfter       = 100
	longestDelay    = 30 * 24 * time.Hour
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}$`)

func checkQueue(field, queue string) error {
	var check checks
	check.queue(field, queue)
	return check.err()
}

func (c *checks) queue(field, queue string) {
	if !queueName.MatchString(queue) {
		c.add(field, fmt.Sprintf("%s is not allowed; allowed are 1 to %d characters of A-Z a-z 0-9 . _ : / -", shown(queue), mostQueueBytes))
	}
}

func (c *checks) length(field, text string, least, most int) {
	if len(text) < least || len(text) > most {
		c.add(field, fmt.Sprintf("%s of %d bytes is not allowed; allowed are %d to %d", shown(text), len(text), least, most))
	}
}

// limits of an item that is to be kept on disk for a sidecar that cannot be asked.
func (c *checks) limits(field string, item *NewItem) {
	c.length(field+".key", item.Key, 0, mostKeyBytes)
	c.length(field+".item_id", item.ItemID, 1, mostIDBytes)
	c.length(field+".idempotency_key", item.IdempotencyKey, 0, mostIDBytes)
	if len(item.Payload) > mostPayload {
		c.add(field+".payload", fmt.Sprintf("%d bytes are not allowed; allowed are %d", len(item.Payload), mostPayload))
	}
	bytes := 0
	for name, value := range item.Headers {
		bytes += len(name) + len(value)
	}
	if len(item.Headers) > mostHeaders || bytes > mostHeaderBytes {
		c.add(field+".headers", fmt.Sprintf("%d of %d bytes are not allowed; allowed are %d of %d bytes together", len(item.Headers), bytes, mostHeaders, mostHeaderBytes))
	}
	if item.Delay > longestDelay {
		c.add(field+".delay", fmt.Sprintf("%v is not allowed; allowed is up to %v", item.Delay, longestDelay))
	}
	if len(item.After) > mostAfter {
		c.add(field+".after", fmt.Sprintf("%d items are not allowed; allowed are %d", len(item.After), mostAfter))
	}
	seen := make(map[ItemRef]bool, len(item.After))
	for at, ref := range item.After {
		name := fmt.Sprintf("%s.after[%d]", field, at)
		c.queue(name+".queue", ref.Queue)
		c.length(name+".item_id", ref.ItemID, 1, mostIDBytes)
		if seen[ref] {
			c.add(name, fmt.Sprintf("%s once more is not allowed; allowed is each item once", shown(ref.ItemID)))
		}
		seen[ref] = true
	}
}

// shown is a text for people, quoted, not all of it when it is long.
func shown(text string) string {
	const most = 32
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
