package store

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options of a Store; the zero value is the usual one.
type Options struct {
	// Lease is how long a leader is believed to live after its last write; 0: 15 s.
	Lease time.Duration
	// Timeout bounds each call, tries and all; 0: 5 s.
	Timeout time.Duration
}

// Store is a Redis that runs are kept in. Its methods may be called from any goroutine.
type Store struct {
	client     *redis.Client
	address    string
	durability string
	lease      time.Duration
	timeout    time.Duration
}

func init() { logging.Disable() } // errors reach the caller; the library would write them to stderr as well

// Open connects to redis://[user[:password]@]host[:port][/db] and asks what it keeps on disk. The password may be
// percent-encoded, and only a '%' in it must be. No error shows it.
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) {
	if o.Lease == 0 {
		o.Lease = 15 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	opts, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = o.Timeout, o.Timeout, o.Timeout
	opts.ContextTimeoutEnabled = true
	opts.PoolSize = 4
	opts.DisableIdentity = true
	opts.Protocol = 2
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s := &Store{client: redis.NewClient(opts), address: opts.Addr, lease: o.Lease, timeout: o.Timeout}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.greet(ctx); err != nil {
		s.client.Close()
		return nil, s.wrap("connect", err)
	}
	return s, nil
}

// greet looks whether the server answers, asks about its durability, and loads the scripts so that the first Save is one
// round trip. Only the first must succeed: an ACL may forbid the rest.
func (s *Store) greet(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return err
	}
	pipe := s.client.Pipeline()
	info, server := pipe.Info(ctx, "persistence"), pipe.Info(ctx, "server")
	fsync := pipe.ConfigGet(ctx, "appendfsync")
	save := pipe.ConfigGet(ctx, "save")
	pipe.Exec(ctx)
	acquireScript.Load(ctx, s.client) // not in the pipeline: Load reads the answer at once
	writeScript.Load(ctx, s.client)
	s.durability = sayDurability(s.address, infoField(server.Val(), "redis_version"), infoField(info.Val(), "aof_enabled"), fsync.Val()["appendfsync"], save)
	return nil
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && key == name {
			return value
		}
	}
	return ""
}

func sayDurability(address, version, aof, fsync string, save *redis.MapStringStringCmd) string {
	server := strings.TrimSpace("Redis " + version)
	schedule, known := save.Val()["save"]
	switch {
	case aof == "1" && fsync != "":
		return fmt.Sprintf("%s at %s is append-only (fsync %s): it keeps the run over its restart", server, address, fsync)
	case aof == "1":
		return fmt.Sprintf("%s at %s is append-only: it keeps the run over its restart", server, address)
	case aof == "0" && known && schedule == "":
		return fmt.Sprintf("%s at %s keeps nothing on disk: its restart loses the run", server, address)
	case aof == "0":
		return fmt.Sprintf("%s at %s is not append-only: its restart loses what came after its last snapshot", server, address)
	}
	return fmt.Sprintf("%s at %s does not say what it keeps on disk: its restart may lose the run", server, address)
}

// Durability says, in a sentence for the log, what the server keeps over its own restart.
func (s *Store) Durability() string { return s.durability }

// Address returns host:port of the server, without credentials.
func (s *Store) Address() string { return s.address }

// Close closes all connections. Leases are neither released nor renewed any more.
func (s *Store) Close() error { return s.client.Close() }

// parseURL is no url.Parse: that one puts the whole URL, password and all, in its errors, and refuses passwords as people
// have them.
func parseURL(raw string) (*redis.Options, error) {
	const want = "store: redis URL: want redis://[user[:password]@]host[:port][/db]"
	rest, found := strings.CutPrefix(raw, "redis://")
	if !found {
		return nil, fmt.Errorf("%s", want)
	}
	opts := &redis.Options{}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, both := strings.Cut(rest[:at], ":")
		var err1, err2 error
		opts.Username, err1 = url.PathUnescape(user)
		opts.Password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil || !both {
			return nil, fmt.Errorf("%s, where a %% in user or password is written as %%25", want)
		}
		rest = rest[at+1:]
	}
	host, db, _ := strings.Cut(rest, "/")
	if n, err := strconv.ParseUint(db, 10, 16); err == nil {
		opts.DB = int(n)
	} else if db != "" {
		return nil, fmt.Errorf("%s: db %s is no number", want, quote(db))
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil { // no port, or no address at all
		name, port, err = net.SplitHostPort(host + ":6379")
	}
	if n, bad := strconv.ParseUint(port, 10, 16); name == "" || err != nil || bad != nil || n == 0 {
		return nil, fmt.Errorf("%s: %s is no host with a port", want, quote(host))
	}
	opts.Addr = net.JoinHostPort(name, port)
	return opts, nil
}
