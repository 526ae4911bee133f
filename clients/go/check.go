package keyturn

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

// checks gathers what is wrong, by the names of the proto.
type checks struct {
	violations []Violation
}

func (c *checks) add(field, description string) {
	c.violations = append(c.violations, Violation{field, description})
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
