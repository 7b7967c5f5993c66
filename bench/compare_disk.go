package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// flushCost is how much longer a flush of the slow disk takes, in microseconds.
const flushCost = "1000"

const slowFlush = "flush of 1 ms more"

// slowDisk measures sends on a PostgreSQL with a slow disk: a library that is preloaded into it delays each flush.
func (c *comparison) slowDisk(ctx context.Context) error {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		c.leaveOut("the slow disk, as there is no gcc to compile it with")
		return nil
	}
	var open closers
	defer open.close()
	maintenance, err := c.startSlowPostgres(ctx, compiler, &open)
	if err != nil {
		return err
	}
	url, err := createDatabase(ctx, maintenance, "server")
	if err != nil {
		return err
	}
	t, err := startReplica(ctx, url)
	if err != nil {
		return err
	}
	open.add(t.stop)
	one, err := t.openChannels(ctx, 1)
	if err != nil {
		return err
	}
	if url, err = createDatabase(ctx, maintenance, "single"); err != nil {
		return err
	}
	single, err := openBaseline(ctx, url)
	if err != nil {
		return err
	}
	open.add(single.close)
	load, err := c.startLoad(ctx, &open)
	if err != nil {
		return err
	}
	if url, err = c.migratedDatabase(ctx, maintenance, "bare"); err != nil {
		return err
	}
	contests := []contest{
		{row: row{doSend, viaGRPC + "postgres", slowFlush}, measure: c.by(t.grpcSender(one))},
		{row: row{doSend, perMessage + "postgres", slowFlush}, measure: c.by(single.sender(1))},
		{row: row{doSend, bareInsert, slowFlush}, measure: c.job(load, "insert", url, 1)},
	}
	for range c.rounds {
		if err := c.take(ctx, c.callers, contests); err != nil {
			return err
		}
	}
	return nil
}

// startSlowPostgres returns the URL of a second PostgreSQL, which ends when the input of its starter ends.
func (c *comparison) startSlowPostgres(ctx context.Context, compiler string, open *closers) (string, error) {
	library := filepath.Join(c.scratch, "flush.so")
	compile := exec.CommandContext(ctx, compiler, "-O2", "-shared", "-fPIC", "-o", library,
		filepath.Join(c.peers, "slowdisk", "flush.c"), "-ldl")
	if output, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the slow disk does not compile: %w: %s", err, output)
	}
	starter := exec.CommandContext(ctx, "scripts/with-postgres.sh", "--durable",
		"sh", "-c", `echo "$`+postgresSetting+`"; exec cat`)
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, postgresSetting+"=") {
			starter.Env = append(starter.Env, setting)
		}
	}
	starter.Env = append(starter.Env, "LD_PRELOAD="+library, "OPENINTENT_BENCH_FLUSH_MICROSECONDS="+flushCost)
	starter.Stderr = os.Stderr
	starter.Cancel = func() error { return starter.Process.Signal(os.Interrupt) }
	input, err := starter.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := starter.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := starter.Start(); err != nil {
		return "", err
	}
	open.add(func() {
		_ = input.Close()
		_ = starter.Wait()
	})
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return "", errors.Join(errors.New("PostgreSQL on the slow disk does not start"), err)
	}
	return strings.TrimSpace(url), nil
}
