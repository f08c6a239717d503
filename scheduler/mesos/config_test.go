package mesos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tfmesos/scheduler/cluster"
)

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := New(Config{Master: "nowhere", Principal: "a:b"})
	for _, want := range []string{`"nowhere"`, "colon", "no name", "no user", "failover timeout 0s", "no logger"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal does not speak of %s: %v", want, err)
		}
	}
	config := testConfig("127.0.0.1:5050")
	config.Secret = "pa55"
	if _, err := New(config); err == nil || strings.Contains(err.Error(), "pa55") {
		t.Errorf("a secret without a principal: %v", err)
	}
}

func TestTheSecretShowsItselfNowhere(t *testing.T) {
	var out bytes.Buffer
	config := testConfig("127.0.0.1:5050")
	config.Principal, config.Secret = "tf", "pa55"
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", config.Secret)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", config.Secret)
	fmt.Fprintf(&out, "%v %+v %#v %s %q", config, config, config, config.Secret, config.Secret)
	if strings.Contains(out.String(), "pa55") {
		t.Errorf("the secret is in %s", out.String())
	}
}

func TestAFrameworkWithoutARoleUsesTheDefaultOne(t *testing.T) {
	config := testConfig("127.0.0.1:5050")
	config.Framework.Role = ""
	if got := config.frameworkInfo("").Roles; len(got) != 1 || got[0] != "*" {
		t.Errorf("roles are %q", got)
	}
}

func TestKnownFault059DelaysStayBelowFifteenSeconds(t *testing.T) {
	for attempt := range 1000 {
		if got := defaultTiming.backoff.Delay(attempt, 0.999999); got > 15*time.Second || attempt > 10 && got < 7*time.Second {
			t.Fatalf("after %d attempts the client waits %v", attempt, got)
		}
	}
}

func TestSilenceFollowsTheHeartbeats(t *testing.T) {
	for _, c := range []struct {
		interval *float64
		want     time.Duration
	}{
		{nil, 0}, {of(15.0), 75 * time.Second}, {of(0.0), 0}, {of(-1.0), 0}, {of(1e300), 0}, {of(1e-300), 1},
	} {
		if got := silence(c.interval, defaultTiming.silence); got != c.want {
			t.Errorf("an interval of %v s lets the stream be silent for %v, want %v", c.interval, got, c.want)
		}
	}
}

func TestAStreamThatBreaksSoonAfterEachSubscribedIsOpenedLessAndLessOften(t *testing.T) {
	m := newFakeMaster(t, nil)
	var out bytes.Buffer
	config := testConfig(m.URL)
	config.Logger = slog.New(slog.NewJSONHandler(&out, nil))
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.timing.backoff.First, c.timing.backoff.Max = time.Millisecond, time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() {
		ended <- c.Run(ctx, "", func(e cluster.Event) {
			if d, ok := e.(cluster.Disconnected); ok && d.Why == "" {
				t.Error("Disconnected does not say why")
			}
		})
	}()
	for range 5 {
		s := next(t, m.streams, "SUBSCRIBE")
		s.subscribed("F", 0)
		s.chunks <- nil
	}
	next(t, m.streams, "SUBSCRIBE")
	cancel()
	if err := next(t, ended, "end of Run"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `"attempt":4`) {
		t.Errorf("attempts are not counted over subscriptions that break at once:\n%s", out.String())
	}
}
