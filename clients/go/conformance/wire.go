package main

import (
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// What the driver says, as messages of the proto.

// wire is nil for what was not said.
func (m *millis) wire() *durationpb.Duration {
	if m == nil {
		return nil
	}
	return durationpb.New(m.or0())
}

func (i *item) wire() *keyturnv1.NewItem {
	made := &keyturnv1.NewItem{
		Key: i.Key, Payload: i.Payload, Headers: i.Headers, ItemId: i.ItemID, IdempotencyKey: i.IdempotencyKey, Delay: i.Delay.wire(),
		AfterUnknown: keyturnv1.AfterUnknown(named(keyturnv1.AfterUnknown_value, "AFTER_UNKNOWN_", i.AfterUnknown)),
	}
	for _, ref := range i.After {
		made.After = append(made.After, &keyturnv1.ItemRef{Queue: ref.Queue, ItemId: ref.ItemID})
	}
	return made
}

func wireItems(items []item) []*keyturnv1.NewItem {
	made := make([]*keyturnv1.NewItem, len(items))
	for at := range items {
		made[at] = items[at].wire()
	}
	return made
}

func (a *acquireFields) wire() *keyturnv1.AcquireRequest {
	return &keyturnv1.AcquireRequest{
		Queues: a.Queues, Key: a.Key, Ticket: a.Ticket, MaxTurns: count(a.MaxTurns), MaxItemsPerTurn: count(a.MaxItemsPerTurn),
		Wait: a.Wait.wire(), Lease: a.Lease.wire(),
	}
}

func count(said *int) uint32 {
	if said == nil {
		return 0
	}
	return uint32(*said)
}

func wireDurability(text string) keyturnv1.Durability {
	return keyturnv1.Durability(named(keyturnv1.Durability_value, "DURABILITY_", text))
}

func wireNackKind(text string) keyturnv1.NackKind {
	return keyturnv1.NackKind(named(keyturnv1.NackKind_value, "NACK_KIND_", text))
}

// named is the number of a word of the driver; 0 for what was not said, and one that there is not for what is wrong.
func named(values map[string]int32, prefix, text string) int32 {
	if text == "" {
		return 0
	}
	if value, known := values[prefix+strings.ToUpper(text)]; known {
		return value
	}
	return 1 << 20
}

// word is the word of the driver for a number.
func word(prefix string, value interface{ String() string }) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}
