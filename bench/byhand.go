package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// byHand is one start without the scheduler.
type byHand struct {
	answer time.Duration // from the first exec until all servers take connections
	memory int           // peak of the largest, in KiB
}

// server is what people write: the whole import, and a server of the cluster in its arguments.
const server = `import json, sys
import tensorflow as tf
tf.distribute.Server(json.loads(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3])).join()`

// retryDial is the time between two attempts to connect: nothing tells us when a port begins to listen.
const retryDial = 2 * time.Millisecond

// withoutScheduler starts the three servers at once and ends them when all answer.
func (m *machine) withoutScheduler(ctx context.Context) (byHand, error) {
	var b byHand
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	addresses, err := freeAddresses(3)
	if err != nil {
		return b, err
	}
	cluster, err := json.Marshal(map[string][]string{"ps": addresses[:1], "worker": addresses[1:]})
	if err != nil {
		return b, err
	}
	commands := make([]*exec.Cmd, len(addresses))
	outputs := make([]bytes.Buffer, len(addresses))
	defer func() { // the servers never end by themselves
		for _, command := range commands {
			if command != nil && command.Process != nil {
				command.Process.Kill()
				command.Wait()
			}
		}
	}()
	submit := time.Now()
	for i := range addresses {
		job, index := "worker", i-1
		if i == 0 {
			job, index = "ps", 0
		}
		commands[i] = exec.CommandContext(ctx, m.python, "-c", server, string(cluster), job, strconv.Itoa(index))
		commands[i].Env, commands[i].Stderr = m.env, &outputs[i]
		if err := commands[i].Start(); err != nil {
			return b, err
		}
	}
	if err := allAnswer(ctx, addresses); err != nil {
		return b, fmt.Errorf("wait for the servers: %w", err)
	}
	b.answer = time.Since(submit)
	for _, command := range commands {
		b.memory = max(b.memory, peak(command.Process.Pid))
	}
	return b, nil
}

// freeAddresses returns addresses nobody listens at. They are not held: by hand there is nothing that would.
func freeAddresses(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}

// allAnswer waits until each address takes a connection.
func allAnswer(ctx context.Context, addresses []string) error {
	var group sync.WaitGroup
	for _, address := range addresses {
		group.Go(func() {
			ticker := time.NewTicker(retryDial)
			defer ticker.Stop()
			for ctx.Err() == nil {
				if connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
					connection.Close()
					return
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
