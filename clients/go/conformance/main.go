// Command player drives the Go client as clients/conformance/PLAYER.md says: requests on stdin, answers and events on
// stdout, one line of JSON each.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

// longestLine is more than any request: payloads have up to 1 MiB, and there may be some of them.
const longestLine = 64 << 20

func main() {
	out := bufio.NewWriter(os.Stdout)
	lines := make(chan any, 1024)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				panic(err)
			}
			_, _ = out.Write(append(text, '\n'))
			if len(lines) == 0 {
				_ = out.Flush()
			}
		}
		_ = out.Flush()
	}()
	player := newPlayer(func(line any) { lines <- line })
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), longestLine)
	for in.Scan() {
		player.take(in.Bytes())
	}
	player.end()
	// Work that ignores its end may still tell something: nobody reads it any more.
	os.Exit(0)
}
