package detector

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
)

// zookeeper is a server that speaks as much of ZooKeeper's protocol as a detector needs. Its test decides what it does.
type zookeeper struct {
	t        *testing.T
	listener net.Listener

	mu       sync.Mutex
	nodes    map[string]string // below /mesos; nil: not even that is there
	digest   string            // wanted to read; empty: anybody may
	mute     bool              // answers nothing any more
	deaf     bool              // no watch strikes
	expired  bool              // refuses to go on with a session
	vanish   string            // this node is gone by the time it is read
	conns    map[net.Conn]bool
	watchers map[net.Conn]bool
	lists    int
	sessions int
	zxid     int64
}

func newZooKeeper(t *testing.T, nodes map[string]string) *zookeeper {
	t.Helper()
	z := &zookeeper{t: t, nodes: maps.Clone(nodes), conns: map[net.Conn]bool{}, watchers: map[net.Conn]bool{}}
	z.listen("127.0.0.1:0")
	t.Cleanup(z.stop)
	return z
}

func (z *zookeeper) listen(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		z.t.Fatal(err)
	}
	z.listener = listener
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			z.mu.Lock()
			z.conns[conn] = true
			z.mu.Unlock()
			go z.serve(conn)
		}
	}()
}

// stop ends the server with all of its connections.
func (z *zookeeper) stop() {
	z.listener.Close()
	z.cut()
}

func (z *zookeeper) cut() {
	z.mu.Lock()
	defer z.mu.Unlock()
	for conn := range z.conns {
		conn.Close()
	}
}

func (z *zookeeper) address() string { return z.listener.Addr().String() }

// change changes the server and strikes the watches.
func (z *zookeeper) change(f func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f()
	if z.deaf {
		return
	}
	for conn := range z.watchers {
		z.answer(conn, -1, 0, int32(4), int32(3), "/mesos") // NodeChildrenChanged, connected
	}
	clear(z.watchers)
}

func (z *zookeeper) serve(conn net.Conn) {
	defer func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		delete(z.conns, conn)
		delete(z.watchers, conn)
		conn.Close()
	}()
	hello := packet(conn)
	if len(hello) < 24 {
		return
	}
	session := int64(binary.BigEndian.Uint64(hello[16:]))
	z.mu.Lock()
	if z.mute {
		z.mu.Unlock()
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	if session != 0 && z.expired {
		session, z.expired = 0, false
	} else if session == 0 {
		z.sessions++
		session = int64(z.sessions)
	}
	send(conn, int32(0), int32(10000), session, string(make([]byte, 16)))
	z.mu.Unlock()
	allowed := ""
	for {
		request := packet(conn)
		if len(request) < 8 {
			return
		}
		xid, kind := int32(binary.BigEndian.Uint32(request)), int32(binary.BigEndian.Uint32(request[4:]))
		if !z.handle(conn, xid, kind, request[8:], &allowed) {
			return
		}
	}
}

const noNode, noAuth = -101, -102

func (z *zookeeper) handle(conn net.Conn, xid, kind int32, body []byte, allowed *string) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.mute {
		return true
	}
	may := z.digest == "" || z.digest == *allowed
	switch kind {
	case 100: // auth
		_, rest := text(body[4:])
		*allowed, _ = text(rest)
		z.answer(conn, xid, 0)
	case 12: // getChildren2
		z.lists++
		path, rest := text(body)
		switch {
		case !may:
			z.answer(conn, xid, noAuth)
		case z.nodes == nil || path != "/mesos":
			z.answer(conn, xid, noNode)
		default:
			if rest[0] == 1 {
				z.watchers[conn] = true
			}
			z.answer(conn, xid, 0, slices.Sorted(maps.Keys(z.nodes)), make([]byte, 68))
		}
	case 4: // getData
		path, _ := text(body)
		name := path[len("/mesos/"):]
		data, found := z.nodes[name]
		if name == z.vanish {
			delete(z.nodes, name)
			found = false
		}
		if !found {
			z.answer(conn, xid, noNode)
		} else {
			z.answer(conn, xid, 0, data, make([]byte, 68))
		}
	case -11: // close
		z.answer(conn, xid, 0)
		return false
	default: // ping, setWatches
		z.answer(conn, xid, 0)
	}
	return true
}

func (z *zookeeper) answer(conn net.Conn, xid int32, code int32, parts ...any) {
	z.zxid++
	send(conn, append([]any{xid, z.zxid, code}, parts...)...)
}

func packet(conn net.Conn) []byte {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil
	}
	return body
}

func send(conn net.Conn, parts ...any) {
	var b bytes.Buffer
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			_ = binary.Write(&b, binary.BigEndian, int32(len(part)))
			b.WriteString(part)
		case []string:
			_ = binary.Write(&b, binary.BigEndian, int32(len(part)))
			for _, s := range part {
				_ = binary.Write(&b, binary.BigEndian, int32(len(s)))
				b.WriteString(s)
			}
		case []byte:
			b.Write(part)
		default:
			_ = binary.Write(&b, binary.BigEndian, part)
		}
	}
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...))
}

func text(body []byte) (string, []byte) {
	n := int32(binary.BigEndian.Uint32(body))
	return string(body[4 : 4+n]), body[4+n:]
}
