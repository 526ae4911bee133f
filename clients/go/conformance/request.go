package main

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

type fields = map[string]any

// request has the arguments of all ops. What was not said is nil.
type request struct {
	ID     int    `json:"id"`
	Op     string `json:"op"`
	Client string `json:"client"`
	Handle string `json:"handle"`

	Address    string  `json:"address"`
	Transport  *string `json:"transport"`
	ConsumerID *string `json:"consumer_id"`
	SessionID  *string `json:"session_id"`
	SessionTTL *millis `json:"session_ttl_ms"`
	Margin     *millis `json:"margin_ms"`
	OpenCalls  *int    `json:"open_commands"`
	OpenBytes  *int    `json:"open_bytes"`
	TLS        *struct {
		CA         string `json:"ca"`
		Cert       string `json:"cert"`
		Key        string `json:"key"`
		ServerName string `json:"server_name"`
	} `json:"tls"`
	Bearer *bearer `json:"bearer"`

	acquireFields
	leadFields
	Queue          string  `json:"queue"`
	IdempotencyKey string  `json:"idempotency_key"`
	Timeout        *millis `json:"timeout_ms"`
	Token          uint64  `json:"token"`
	Abandoned      bool    `json:"abandoned"`
	Result         octets  `json:"result"`

	Items       []item  `json:"items"`
	WaitForRoom *millis `json:"wait_for_room_ms"`
	Durability  string  `json:"durability"`

	FollowUps []followUp     `json:"follow_ups"`
	Next      *acquireFields `json:"next"`
	Kind      string         `json:"kind"`
	Delay     *millis        `json:"delay_ms"`
	Error     string         `json:"error"`
	Done      int            `json:"done"`
	Turns     []struct {
		Queue string `json:"queue"`
		Key   string `json:"key"`
		Token uint64 `json:"token"`
	} `json:"turns"`
	ItemID string `json:"item_id"`
	Call   int    `json:"call"`
	Leave  bool   `json:"leave"`

	Order       string   `json:"order"`
	MaxHold     *millis  `json:"max_hold_ms"`
	Work        work     `json:"work"`
	Concurrency *int     `json:"concurrency"`
	With        *outcome `json:"with"`

	Count    *int    `json:"count"`
	Interval *millis `json:"interval_ms"`
	MaxItems *int    `json:"max_items"`
	MaxBytes *int    `json:"max_bytes"`
	WhenFull string  `json:"when_full"`
	Item     item    `json:"item"`
	Spool    *struct {
		Directory string  `json:"directory"`
		Interval  *millis `json:"interval_ms"`
		Count     *int    `json:"count"`
		MaxBytes  *int64  `json:"max_bytes"`
	} `json:"spool"`

	Keys     int     `json:"keys"`
	InFlight int     `json:"in_flight"`
	Seconds  float64 `json:"seconds"`
}

type acquireFields struct {
	Queues          []string `json:"queues"`
	Key             string   `json:"key"`
	Ticket          string   `json:"ticket"`
	MaxTurns        *int     `json:"max_turns"`
	MaxItemsPerTurn *int     `json:"max_items_per_turn"`
	Wait            *millis  `json:"wait_ms"`
	Lease           *millis  `json:"lease_ms"`
}

type item struct {
	Key            string            `json:"key"`
	Payload        octets            `json:"payload"`
	Headers        map[string]string `json:"headers"`
	ItemID         string            `json:"item_id"`
	IdempotencyKey string            `json:"idempotency_key"`
	Delay          *millis           `json:"delay_ms"`
	After          []struct {
		Queue  string `json:"queue"`
		ItemID string `json:"item_id"`
	} `json:"after"`
	AfterUnknown string `json:"after_unknown"`
}

type followUp struct {
	Queue string `json:"queue"`
	Item  item   `json:"item"`
}

type work struct {
	Held        bool               `json:"held"`
	Does        *outcome           `json:"does"`
	Takes       *millis            `json:"takes_ms"`
	ByPayload   map[string]outcome `json:"by_payload"`
	Ledger      string             `json:"ledger"`
	IgnoresLoss bool               `json:"ignores_loss"`
}

type outcome struct {
	Ack        bool       `json:"ack"`
	Result     octets     `json:"result"`
	FollowUps  []followUp `json:"follow_ups"`
	Retry      bool       `json:"retry"`
	Delay      *millis    `json:"delay_ms"`
	DeadLetter *string    `json:"dead_letter"`
	Release    bool       `json:"release"`
	Done       int        `json:"done"`
	Throw      *string    `json:"throw"`
	Value      *string    `json:"value"`
	State      octets     `json:"state"`
}

// millis is a duration in JSON.
type millis float64

// or0 is the duration, zero if it was not said.
func (m *millis) or0() time.Duration {
	if m == nil {
		return 0
	}
	return time.Duration(float64(*m) * float64(time.Millisecond))
}

// orNone is the duration of a wait or a delay: in this client zero is not said, and NoWait is zero.
func (m *millis) orNone() time.Duration {
	if m != nil && *m == 0 {
		return keyturn.NoWait
	}
	return m.or0()
}

// said is a count. In this client zero is not said; what says a wrong one is below it.
func said(count *int) int {
	switch {
	case count == nil:
		return 0
	case *count == 0:
		return -1
	}
	return *count
}

// octets are a text, or {"base64": …} where they are not UTF-8.
type octets []byte

func (o *octets) UnmarshalJSON(from []byte) error {
	var text string
	if json.Unmarshal(from, &text) == nil {
		*o = octets(text)
		return nil
	}
	var coded struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(from, &coded)
	*o = coded.Base64
	return err
}

func shownBytes(bytes []byte) any {
	if utf8.Valid(bytes) {
		return string(bytes)
	}
	return fields{"base64": base64.StdEncoding.EncodeToString(bytes)}
}

func (i *item) newItem() keyturn.NewItem {
	made := keyturn.NewItem{
		Key: i.Key, Payload: i.Payload, Headers: i.Headers, ItemID: i.ItemID, IdempotencyKey: i.IdempotencyKey,
		Delay: i.Delay.orNone(), AfterUnknown: keyturn.AfterUnknown(i.AfterUnknown),
	}
	for _, ref := range i.After {
		made.After = append(made.After, keyturn.ItemRef{Queue: ref.Queue, ItemID: ref.ItemID})
	}
	return made
}

func newItems(items []item) []keyturn.NewItem {
	made := make([]keyturn.NewItem, len(items))
	for at := range items {
		made[at] = items[at].newItem()
	}
	return made
}
