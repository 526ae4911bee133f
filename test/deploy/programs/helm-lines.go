// The commands of helm, many in one process: each line of standard input is the arguments of one command, as JSON, and each line
// of standard output is the exit code and the output of that command.
//
// .ci/go-programs builds this file together with the source of helm: commands, flags and messages are those of helm.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log"
	"os"

	"github.com/spf13/cobra"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
)

type answer struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// Runs before the main function of helm, which is for one command.
func init() {
	answerLines()
	os.Exit(0)
}

func answerLines() {
	config := new(action.Configuration)
	cobra.OnInitialize(func() {
		if err := config.Init(settings.RESTClientGetter(), settings.Namespace(), "", debug); err != nil {
			log.Fatal(err)
		}
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var args []string
		if err := json.Unmarshal(lines.Bytes(), &args); err != nil {
			log.Fatal(err)
		}
		// A namespace or a release of the command before must not be seen by the next one.
		settings = cli.New()
		*config = action.Configuration{}
		if err := answers.Encode(run(config, args)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func run(config *action.Configuration, args []string) answer {
	var stdout, stderr bytes.Buffer
	// As helm has it, which is not known yet when this begins.
	log.SetFlags(log.Lshortfile)
	log.SetOutput(&stderr)
	command, err := newRootCmd(config, &stdout, args)
	if err != nil {
		log.Fatal(err)
	}
	command.SetArgs(args)
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	code := 0
	// Cobra has written the error.
	if command.Execute() != nil {
		code = 1
	}
	return answer{code, stdout.String(), stderr.String()}
}
