package launch

import "os"

// pipes are our ends of the child's files, and its own ends until it is started.
type pipes struct {
	stdout, stderr *os.File
	control        *os.File // server mode: what server.py tells
	config         *os.File // server mode: what it is told
	child          []*os.File
}

// openPipes opens what the child needs as fd 0, 1, 2 and in server mode 3 and 4. Of ours it inherits nothing else: all
// files of a Go program are closed on exec.
func openPipes(server bool) (ends pipes, err error) {
	defer func() {
		if err != nil {
			ends.close()
		}
	}()
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return ends, err
	}
	ends.child = append(ends.child, stdin)
	outputs := []**os.File{&ends.stdout, &ends.stderr}
	if server {
		outputs = append(outputs, &ends.control)
	}
	for _, ours := range outputs {
		read, write, err := os.Pipe()
		if err != nil {
			return ends, err
		}
		*ours, ends.child = read, append(ends.child, write)
	}
	if server {
		read, write, err := os.Pipe()
		if err != nil {
			return ends, err
		}
		ends.config, ends.child = write, append(ends.child, read)
	}
	return ends, nil
}

// close closes what is open; closing twice does no harm.
func (p pipes) close() {
	for _, file := range append([]*os.File{p.stdout, p.stderr, p.control, p.config}, p.child...) {
		if file != nil {
			file.Close()
		}
	}
}
