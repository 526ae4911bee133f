package keyturn

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

// checks gathers what cannot be written into a message. One such call would take down the whole message that it shares with
// others; everything else the sidecar refuses itself, by the same names.
type checks struct {
	violations []Violation
}

func (c *checks) add(field, description string) {
	c.violations = append(c.violations, Violation{field, description})
}

func (c *checks) text(field, value string) string {
	if !utf8.ValidString(value) {
		c.add(field, fmt.Sprintf("%q is not allowed; allowed is UTF-8", value))
	}
	return value
}

// duration is nil for one that was not said.
func (c *checks) duration(field string, value time.Duration) *durationpb.Duration {
	switch {
	case value == 0:
		return nil
	case value == NoWait:
		return &durationpb.Duration{}
	case value < 0:
		c.add(field, fmt.Sprintf("%v is not allowed; allowed is 0 or more", value))
		return nil
	}
	return durationpb.New(value)
}

func (c *checks) count(field string, value int) uint32 {
	if value < 0 || uint64(value) > math.MaxUint32 {
		c.add(field, fmt.Sprintf("%d is not allowed; allowed is 0 to %d", value, uint32(math.MaxUint32)))
		return 0
	}
	return uint32(value)
}

// err is nil when nothing is wrong.
func (c *checks) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	told := make([]string, len(c.violations))
	for at, one := range c.violations {
		told[at] = one.Field + ": " + one.Description
	}
	return &Error{Code: codes.InvalidArgument, Reason: reasonBadRequest, Message: strings.Join(told, "; "), Violations: c.violations}
}

// durationWithin is nil unless the value is outside of the bounds.
func durationWithin(field string, value, least, most time.Duration) error {
	if value >= least && value <= most {
		return nil
	}
	if most == Forever {
		return wrongSetting(field, value, fmt.Sprintf("%v or more", least))
	}
	return wrongSetting(field, value, fmt.Sprintf("%v to %v", least, most))
}

func countWithin(field string, value, least, most int) error {
	if value >= least && value <= most {
		return nil
	}
	return wrongSetting(field, value, fmt.Sprintf("%d to %d", least, most))
}
