package httpapi

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

// capabilityLength is that of a capability in a path, in hex digits.
const capabilityLength = 64

// splitCapability returns the parts of a path to callback.ForFile("~CAPABILITY/FILE").
func splitCapability(target string) (capability, file string, ok bool) {
	rest, ok := strings.CutPrefix(target, callback.ForFile("~"))
	capability, file, found := strings.Cut(rest, "/")
	return capability, file, ok && found && len(capability) == capabilityLength
}

// fetcherOf returns who asks with a capability in the path: Mesos' fetcher sends no credentials. It is good for the files that
// the spec names for a launch that is not over, and for nothing else. All hashes are compared, so that the time tells nothing.
func fetcherOf(target string, c *cluster.Cluster) (who caller, ok bool) {
	capability, file, found := splitCapability(target)
	if !found {
		return caller{}, false
	}
	sum := cluster.HashToken(capability)
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if same(sum, t.DownloadSHA256) && t.Live() && names(c, t, file) {
			who, ok = caller{fetches: file}, true
		}
	}
	return who, ok
}

func names(c *cluster.Cluster, t *cluster.Task, file string) bool {
	job := c.Spec.Job(t.Name)
	return job != nil && slices.ContainsFunc(job.URIs, func(u cluster.URI) bool {
		return cluster.OwnFile(u.Value, c.Settings.Callbacks) == file
	})
}

// v0Download sends a file of the download folder. The folder is left by no name and no link (os.Root); what is no
// plain file is not there.
func (s *Server) v0Download(_ context.Context, r *request) error {
	name := pathValue(r.RequestCtx, "file")
	if r.who.fetches != "" {
		name = r.who.fetches
	}
	if s.config.DownloadDir == "" {
		return errNoRoute
	}
	file, size, ok := openIn(s.config.DownloadDir, name)
	if !ok {
		return errNoRoute
	}
	r.SetContentType("application/octet-stream")
	r.SetBodyStream(&slowly{Reader: io.LimitReader(file, size), file: file, conn: r.Conn(), wait: s.config.Limits.Write}, int(size))
	return nil
}

// CheckDownload tells whether the route can send a file of the folder: it has to be a plain file inside of it, under a name that
// a path can have as it is.
func CheckDownload(dir, name string) error {
	if err := checkTarget(callback.ForFile(name)); err != nil {
		return err
	}
	file, _, ok := openIn(dir, name)
	if !ok {
		return errNoRoute
	}
	return file.Close()
}

// openIn opens a plain file below a folder, and says how long it is. A FIFO must not hold us until somebody writes.
func openIn(dir, name string) (file *os.File, size int64, ok bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, false
	}
	defer root.Close()
	if file, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, 0, false
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, 0, false
	}
	return file, info.Size(), true
}

// slowly is the body of a large answer: the time to write is for each part of it, not for the whole.
type slowly struct {
	io.Reader
	file *os.File
	conn net.Conn
	wait time.Duration
}

// Read reads the next part.
func (b *slowly) Read(p []byte) (int, error) {
	if err := b.conn.SetWriteDeadline(time.Now().Add(b.wait)); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

// Close closes the file.
func (b *slowly) Close() error { return b.file.Close() }
