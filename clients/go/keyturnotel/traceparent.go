package keyturnotel

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C Trace Context. Always this form, whatever propagators an application has for its own calls: workers in
// other languages read it.

const (
	parent = "traceparent"
	state  = "tracestate"
	// What the contract lets an item have; an item is never refused for what tracing adds.
	mostHeaders = 64
	mostBytes   = 8_192
	// What a reader has to pass on, at least.
	longestState = 512
)

var form = regexp.MustCompile(`^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$`)

// withTraceParent returns a copy, or the headers themselves when these cannot or need not have it.
func withTraceParent(headers map[string]string, active trace.SpanContext) map[string]string {
	size := 0
	for name, value := range headers {
		if strings.EqualFold(name, parent) {
			return headers
		}
		size += len(name) + len(value)
	}
	value := fmt.Sprintf("00-%s-%s-%02x", active.TraceID(), active.SpanID(), byte(active.TraceFlags()))
	size += len(parent) + len(value)
	if len(headers)+1 > mostHeaders || size > mostBytes {
		return headers
	}
	made := make(map[string]string, len(headers)+2)
	maps.Copy(made, headers)
	made[parent] = value
	// One without its parent is of another trace.
	delete(made, state)
	if said := active.TraceState().String(); said != "" && len(said) <= longestState && len(made) < mostHeaders && size+len(state)+len(said) <= mostBytes {
		made[state] = said
	}
	return made
}

// readTraceParent is false when there is none, or none that is one.
func readTraceParent(headers map[string]string) (trace.SpanContext, bool) {
	found := form.FindStringSubmatch(headers[parent])
	if found == nil {
		return trace.SpanContext{}, false
	}
	version, rest := found[1], found[5]
	// Later versions may add; of the first there is no more than this, and ff is none.
	if version == "ff" || (version == "00" && rest != "") {
		return trace.SpanContext{}, false
	}
	// The form has seen to it that they can be read; what has no bit set is no id, which IsValid says.
	traceID, _ := trace.TraceIDFromHex(found[2])
	spanID, _ := trace.SpanIDFromHex(found[3])
	flags, _ := strconv.ParseUint(found[4], 16, 8)
	config := trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags), Remote: true}
	if said, err := trace.ParseTraceState(headers[state]); err == nil {
		config.TraceState = said
	}
	context := trace.NewSpanContext(config)
	return context, context.IsValid()
}
