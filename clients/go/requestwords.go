package keyturn

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// The words of this package as those of the proto, and what cannot be written at all.

// textOf is an error if a text of the request is no UTF-8. One such call would take down the whole message that it shares
// with others; everything else that is wrong the sidecar refuses itself, by the same names.
func textOf(request proto.Message) error {
	var check checks
	check.message("", request.ProtoReflect())
	return check.err()
}

func (c *checks) message(prefix string, message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := prefix + string(field.Name())
		switch {
		case field.IsMap():
			value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				c.text(name, key.String())
				c.text(name, value.String())
				return true
			})
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			for at := range value.List().Len() {
				c.text(fmt.Sprintf("%s[%d]", name, at), value.List().Get(at).String())
			}
		case field.IsList() && field.Kind() == protoreflect.MessageKind:
			for at := range value.List().Len() {
				c.message(fmt.Sprintf("%s[%d].", name, at), value.List().Get(at).Message())
			}
		case field.Kind() == protoreflect.MessageKind:
			c.message(name+".", value.Message())
		case field.Kind() == protoreflect.StringKind:
			c.text(name, value.String())
		}
		return true
	})
}

func (c *checks) text(field, value string) string {
	if !utf8.ValidString(value) {
		c.add(field, fmt.Sprintf("%q is not allowed; allowed is UTF-8", value))
	}
	return value
}

// item copies the headers. The payload is a copy already, of whoever took it from the application.
func (c *checks) item(field string, item *NewItem) *pb.NewItem {
	made := &pb.NewItem{
		Key: c.text(field+".key", item.Key), Payload: item.Payload, ItemId: c.text(field+".item_id", item.ItemID),
		IdempotencyKey: c.text(field+".idempotency_key", item.IdempotencyKey), Delay: c.duration(field+".delay", item.Delay),
		AfterUnknown: c.afterUnknown(field+".after_unknown", item.AfterUnknown),
	}
	if len(item.Headers) > 0 {
		made.Headers = make(map[string]string, len(item.Headers))
		for name, value := range item.Headers {
			made.Headers[c.text(field+".headers", name)] = c.text(field+".headers", value)
		}
	}
	for at, ref := range item.After {
		name := fmt.Sprintf("%s.after[%d]", field, at)
		made.After = append(made.After, &pb.ItemRef{Queue: c.text(name+".queue", ref.Queue), ItemId: c.text(name+".item_id", ref.ItemID)})
	}
	return made
}

var nackKinds = map[NackKind]pb.NackKind{
	NackRetry: pb.NackKind_NACK_KIND_RETRY, NackRelease: pb.NackKind_NACK_KIND_RELEASE, NackDeadLetter: pb.NackKind_NACK_KIND_DEAD_LETTER,
}

func (c *checks) durability(field string, durability Durability) pb.Durability {
	switch durability {
	case "":
		return pb.Durability_DURABILITY_UNSPECIFIED
	case DurabilityOnFlush:
		return pb.Durability_DURABILITY_ON_FLUSH
	case DurabilityInterval:
		return pb.Durability_DURABILITY_INTERVAL
	case DurabilityCount:
		return pb.Durability_DURABILITY_COUNT
	case DurabilityMemory:
		return pb.Durability_DURABILITY_MEMORY
	}
	c.add(field, fmt.Sprintf("%q is not allowed; allowed are on_flush, interval, count and memory", string(durability)))
	return pb.Durability_DURABILITY_UNSPECIFIED
}

func (c *checks) afterUnknown(field string, what AfterUnknown) pb.AfterUnknown {
	switch what {
	case "", AfterUnknownRefuse:
		return pb.AfterUnknown_AFTER_UNKNOWN_REFUSE
	case AfterUnknownWait:
		return pb.AfterUnknown_AFTER_UNKNOWN_WAIT
	}
	c.add(field, fmt.Sprintf("%q is not allowed; allowed are refuse and wait", string(what)))
	return pb.AfterUnknown_AFTER_UNKNOWN_UNSPECIFIED
}
