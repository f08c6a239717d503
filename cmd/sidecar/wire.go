package main

import (
	"context"
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

// client calls the scheduler.
type client interface {
	sidecar.Scheduler
	Close()
}

// byEnvironment returns the client of a sidecar that its scheduler has told everything.
func byEnvironment(config sidecar.Config) client { return schedclient.New(clientConfig(config)) }

// byArguments returns that of one which knows an address alone.
func byArguments(config sidecar.Config) client { return schedclient.NewEither(clientConfig(config)) }

func clientConfig(config sidecar.Config) schedclient.Config {
	return schedclient.Config{
		URLs: config.Callbacks, TaskID: config.TaskID, User: config.User, Token: config.Token.Reveal(),
		VerifySSL: config.VerifySSL, RequestTimeout: config.RequestTimeout,
	}
}

// start puts the parts together and runs them.
func start(ctx context.Context, config sidecar.Config, scheduler client, stdout, stderr io.Writer) int {
	signals, stop := receiveSignals()
	defer stop()
	defer scheduler.Close()
	config.Version = version
	config.Hostname, _ = os.Hostname() // for people only
	name := config.TaskID
	if config.Task.JobName != "" {
		name = config.Task.String()
	}
	output := sidecar.NewOutput()
	return sidecar.Run(ctx, sidecar.Parts{
		Setup:     config.Setup,
		Scheduler: scheduler,
		Launcher:  launch.New(stdout, stderr, output.Add),
		Output:    output,
		HoldPort:  holdPort,
		Probe:     launch.Probe,
		Signals:   signals,
		Log:       slog.New(slog.NewTextHandler(stderr, nil)).With(logkey.Task, name),
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
