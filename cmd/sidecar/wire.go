package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tfmesos/shared/logkey"
	"tfmesos/sidecar"
	"tfmesos/sidecar/boot"
	"tfmesos/sidecar/launch"
	"tfmesos/sidecar/schedclient"
)

// start puts the parts together and runs them.
func start(ctx context.Context, environ []string, stdout, stderr io.Writer) int {
	signals, stop := receiveSignals()
	defer stop()
	config, err := sidecar.FromEnv(environ)
	if err != nil {
		fmt.Fprintf(stderr, "sidecar: the environment is not what the scheduler sets:\n%v\n", err)
		return exitUsage
	}
	config.Version = version
	config.Hostname, _ = os.Hostname() // for people only
	client := schedclient.New(schedclient.Config{
		URLs: config.Callbacks, TaskID: config.TaskID, Token: config.Token.Reveal(),
		VerifySSL: config.VerifySSL, RequestTimeout: config.RequestTimeout,
	})
	defer client.Close()
	output := sidecar.NewOutput()
	return sidecar.Run(ctx, sidecar.Parts{
		Setup:     config.Setup,
		Scheduler: client,
		Launcher:  launch.New(stdout, stderr, output.Add),
		Output:    output,
		HoldPort:  holdPort,
		Probe:     launch.Probe,
		Signals:   signals,
		Log:       slog.New(slog.NewTextHandler(stderr, nil)).With(logkey.Task, config.Task.String()),
		Now:       time.Now,
		Fraction:  rand.Float64,
	})
}

// holdPort holds a port until the process ends: nothing ever gives it up.
func holdPort() (int, error) {
	port, err := launch.HoldPort()
	if err != nil {
		return 0, err
	}
	return port.Number(), nil
}

// handled are the signals that mean something to the sidecar. PIPE is among those it receives because an ignored one
// would be ignored by the child too, while one that is handled is the child's default again.
var handled = map[os.Signal]boot.Signal{
	syscall.SIGTERM: boot.TERM, syscall.SIGINT: boot.INT, syscall.SIGHUP: boot.HUP, syscall.SIGQUIT: boot.QUIT,
	syscall.SIGUSR1: boot.USR1, syscall.SIGUSR2: boot.USR2,
}

// receiveSignals translates the signals of the process until stop is called.
func receiveSignals() (signals <-chan boot.Signal, stop func()) {
	received, translated, done := make(chan os.Signal, 16), make(chan boot.Signal, 16), make(chan struct{})
	signal.Notify(received, syscall.SIGPIPE)
	for s := range handled {
		signal.Notify(received, s)
	}
	go func() {
		for {
			select {
			case s := <-received:
				if name, known := handled[s]; known {
					select {
					case translated <- name:
					case <-done:
					}
				}
			case <-done:
				return
			}
		}
	}()
	return translated, func() { signal.Stop(received); close(done) }
}
