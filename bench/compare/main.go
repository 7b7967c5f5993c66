package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// job is a line of the load's input.
type job struct {
	Work     string
	Address  string
	Callers  int
	Channels int
	Seconds  float64
}

// answer is the line that answers a job.
type answer struct {
	figure
	Error string `json:",omitempty"`
}

// jobs begin a load: they prepare what it needs, which lasts until the context ends.
var jobs = map[string]func(context.Context, job) (worker, error){
	"publish":       publisher,
	"publish async": asyncPublisher,
	"request":       requester,
	"ask":           asker,
	"insert":        inserter,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "drive":
		return drive()
	case len(arguments) >= 2 && arguments[0] == "nats":
		return serveNATS(arguments[1], len(arguments) > 2 && arguments[2] == "always")
	}
	return errors.New("usage: compare drive, or compare nats DIRECTORY [always]")
}

func drive() error {
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var given job
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			return err
		}
		measured, err := given.do()
		reply := answer{figure: measured}
		if err != nil {
			reply.Error = err.Error()
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return nil
}

func (j job) do() (figure, error) {
	begin, ok := jobs[j.Work]
	if !ok {
		return figure{}, fmt.Errorf("there is no job %q", j.Work)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	work, err := begin(ctx, j)
	if err != nil {
		return figure{}, err
	}
	return load(ctx, j, work)
}
