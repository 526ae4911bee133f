package keyturn

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
)

// newOrigin is 120 random bits.
func newOrigin() string {
	var bits [15]byte
	if _, err := rand.Read(bits[:]); err != nil {
		panic("keyturn: the system gives no random numbers: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// idMaker makes ids that are unique everywhere: random bits that belong to the maker, and a count. A random id for each
// would be no more unique, longer, and dearer.
type idMaker struct {
	origin string
	count  atomic.Uint64
}

func (m *idMaker) next() string { return m.origin + "." + strconv.FormatUint(m.count.Add(1), 36) }

// named are the items, each with an id: sent again after a lost answer without one, they would be others. And with the
// context of ctx in their headers, if somebody traces.
func (c *Client) named(ctx context.Context, items []NewItem) []NewItem {
	named := make([]NewItem, len(items))
	for at, item := range items {
		named[at] = c.stamped(ctx, c.withID(item))
	}
	return named
}

func (c *Client) withID(item NewItem) NewItem {
	if item.ItemID == "" {
		item.ItemID = c.ids.next()
	}
	return item
}

// owned is a copy of all that the caller may change: what was handed over may be read, and sent again, long after the call
// that handed it over has returned.
func owned(item NewItem) NewItem {
	item.Payload = bytes.Clone(item.Payload)
	item.Headers = maps.Clone(item.Headers)
	item.After = slices.Clone(item.After)
	return item
}

func ownedItems(items []NewItem) []NewItem {
	made := make([]NewItem, len(items))
	for at, item := range items {
		made[at] = owned(item)
	}
	return made
}
