package launch

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"

	"tfmesos/shared/callback"
)

// lines cuts what is written into lines of callback.MaxLogLine bytes at most.
type lines struct {
	each func(text string)
	rest []byte
}

func (l *lines) write(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.rest = append(l.rest, p...)
			l.cut()
			return
		}
		l.rest = append(l.rest, p[:end]...)
		l.cut()
		l.emit(len(l.rest))
		p = p[end+1:]
	}
}

// cut hands on what is too long for one line, between two characters if it is text.
func (l *lines) cut() {
	for len(l.rest) > callback.MaxLogLine {
		end := callback.MaxLogLine
		for back := 0; back < utf8.UTFMax && !utf8.RuneStart(l.rest[end]); back++ {
			end--
		}
		l.emit(end)
	}
}

func (l *lines) emit(end int) {
	l.each(string(bytes.TrimSuffix(l.rest[:end], []byte("\r"))))
	l.rest = append(l.rest[:0], l.rest[end:]...)
}

// close hands on a last line without its newline.
func (l *lines) close() {
	if len(l.rest) > 0 {
		l.emit(len(l.rest))
	}
}

// copyOutput copies a stream of the child to ours and hands each line on. When ours is closed it goes on handing on.
func copyOutput(from io.Reader, to io.Writer, each func(text string)) {
	split := lines{each: each}
	defer split.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if to != nil {
				if _, broken := to.Write(buffer[:n]); broken != nil {
					to = nil
				}
			}
			split.write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// lastWords remembers the last lines of both streams.
type lastWords struct {
	mu    sync.Mutex
	lines map[string][]string
}

// lastWordsKept is how many lines are kept of each.
const lastWordsKept = 10

func (w *lastWords) add(stream, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := append(w.lines[stream], text)
	w.lines[stream] = kept[max(0, len(kept)-lastWordsKept):]
}

// get prefers stderr, where programs say what is wrong.
func (w *lastWords) get() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if words := w.lines["stderr"]; len(words) > 0 {
		return words
	}
	return w.lines["stdout"]
}
