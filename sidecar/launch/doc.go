// Package launch holds the task's port and runs its child: it starts the process, hands its output and its words on,
// passes signals to it and ends everything that came of it.
//
// The sidecar is a subreaper: each descendant that loses its parent becomes its child, so those that have called setsid or
// forked twice are found and reaped as well. One thread starts the child and waits for all of them; it lives as long as the
// tree does, since the child is killed when the thread that started it ends (Pdeathsig).
//
// server.py is the Python of server mode. It is told its configuration and tells how far it is through two pipes.
package launch
