package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
}

// running is a test, or a package (without a name), that has not ended.
type running struct {
	said   strings.Builder
	hasSub bool
	// A test in it failed, which is counted already.
	subFailed bool
}

// count has what is known so far. A test with tests in it counts as these do.
type count struct {
	out                     io.Writer
	running                 map[[2]string]*running
	passed, failed, skipped int
	skippedTests            []string
}

func newCount(out io.Writer) *count { return &count{out: out, running: map[[2]string]*running{}} }

func (c *count) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *count) line(line string) {
	var told event
	if json.Unmarshal([]byte(line), &told) != nil || told.Action == "" {
		// What is said of a package that cannot be built, by some versions.
		c.show(line)
		if strings.HasPrefix(line, "FAIL") {
			c.failed++
		}
		return
	}
	c.event(told)
}

func (c *count) event(told event) {
	one := c.of(told.Package, told.Test)
	switch told.Action {
	case "output":
		if told.Test == "" {
			c.show(told.Output)
		} else {
			one.said.WriteString(told.Output)
		}
	case "pass", "fail", "skip":
		c.ended(told, one)
		delete(c.running, [2]string{told.Package, told.Test})
	}
}

func (c *count) of(pkg, test string) *running {
	name := [2]string{pkg, test}
	if c.running[name] == nil {
		c.running[name] = &running{}
		if over := nameOver(test); test != "" {
			c.of(pkg, over).hasSub = true
		}
	}
	return c.running[name]
}

// nameOver is the test that this one is in, or the package.
func nameOver(test string) string {
	if end := strings.LastIndex(test, "/"); end >= 0 {
		return test[:end]
	}
	return ""
}

func (c *count) ended(told event, one *running) {
	if told.Action == "fail" {
		c.show(one.said.String())
		if !one.subFailed {
			c.failed++
		}
		if told.Test != "" {
			c.of(told.Package, nameOver(told.Test)).subFailed = true
		}
		return
	}
	// A package says skip when it has no tests.
	if one.hasSub || told.Test == "" {
		return
	}
	if told.Action == "skip" {
		c.skipped++
		c.skippedTests = append(c.skippedTests, told.Test)
		c.show(one.said.String())
		return
	}
	c.passed++
}

func (c *count) show(text string) { _, _ = io.WriteString(c.out, text) }

// close says how it went, with skipped ones by name, and reports whether that is good.
func (c *count) close(isCI bool) bool {
	good := c.failed == 0
	if c.skipped > 0 {
		c.show(fmt.Sprintf("skipped: %s\n", strings.Join(c.skippedTests, ", ")))
		if isCI {
			c.show("in continuous integration nothing is skipped\n")
			c.failed += c.skipped
			good = false
		}
	}
	if c.passed+c.failed+c.skipped == 0 {
		c.show("no test has run\n")
		good = false
		c.failed++
	}
	c.show(fmt.Sprintf("%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped))
	return good
}
