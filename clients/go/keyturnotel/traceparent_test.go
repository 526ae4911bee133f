package keyturnotel

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

type headerCase struct {
	What    string
	Flags   byte
	State   string
	Headers map[string]string
	Padding struct{ Headers, Bytes int }
	Adds    map[string]string
	Drops   []string
}

// cases are those of all languages.
func cases(t *testing.T) (all struct {
	Span    struct{ TraceID, SpanID string }
	Stamped []headerCase
	Read    []headerCase
	NotRead []string
}) {
	t.Helper()
	text, err := os.ReadFile("../../conformance/tracing.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.Stamped) == 0 || len(all.Read) == 0 || len(all.NotRead) == 0 {
		t.Fatalf("the cases are not there: %v", err)
	}
	return all
}

func contextOf(t *testing.T, one headerCase) trace.SpanContext {
	t.Helper()
	ids := cases(t).Span
	traceID, err1 := trace.TraceIDFromHex(ids.TraceID)
	spanID, err2 := trace.SpanIDFromHex(ids.SpanID)
	said, err3 := trace.ParseTraceState(one.State)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(one.Flags), TraceState: said, Remote: true,
	})
}

// S450: what is written is the same in all languages.
func TestWhatIsWritten(t *testing.T) {
	for _, one := range cases(t).Stamped {
		t.Run(one.What, func(t *testing.T) {
			headers := maps.Clone(one.Headers)
			for at := range one.Padding.Headers {
				headers[fmt.Sprintf("h%d", at)] = ""
			}
			if one.Padding.Bytes > 0 {
				headers["long"] = strings.Repeat("x", one.Padding.Bytes-len("long"))
			}
			before := maps.Clone(headers)
			expected := maps.Clone(headers)
			for _, name := range one.Drops {
				delete(expected, name)
			}
			maps.Copy(expected, one.Adds)
			written := withTraceParent(headers, contextOf(t, one))
			if !maps.Equal(written, expected) {
				t.Fatalf("%v was expected, there is %v", expected, written)
			}
			if !maps.Equal(headers, before) {
				t.Fatal("the caller's headers were changed")
			}
		})
	}
}

// S450: what is read, too.
func TestWhatIsRead(t *testing.T) {
	for _, one := range cases(t).Read {
		t.Run(one.What, func(t *testing.T) {
			read, ok := readTraceParent(one.Headers)
			if expected := contextOf(t, one); !ok || !read.Equal(expected) {
				t.Fatalf("%v was expected, there is %v (%v)", expected, read, ok)
			}
		})
	}
	for _, wrong := range cases(t).NotRead {
		t.Run(fmt.Sprintf("not read: %q", wrong), func(t *testing.T) {
			if read, ok := readTraceParent(map[string]string{parent: wrong}); ok {
				t.Fatalf("%v", read)
			}
		})
	}
	if _, ok := readTraceParent(nil); ok {
		t.Fatal("read where nothing is")
	}
}
