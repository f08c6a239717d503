package mesos

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

const (
	// maxRecord bounds one event. Mesos has no bound; a record with the offers of every agent may be tens of MiB.
	maxRecord = 64 << 20
	// keptBuffer is how large a buffer is kept from one record to the next.
	keptBuffer = 1 << 20
)

// recordReader cuts a stream into records: the length in decimal, a newline, so many bytes, and nothing between records.
// How the stream was cut into chunks and reads has no meaning.
type recordReader struct {
	from   *bufio.Reader
	buffer bytes.Buffer
}

func newRecordReader(from io.Reader) *recordReader {
	return &recordReader{from: bufio.NewReaderSize(from, 32<<10)}
}

// next returns the next record that is not empty, valid until the call after it. io.EOF means that the stream has ended
// between records. Memory grows with the bytes that have come, not with a length that was only announced.
func (r *recordReader) next() ([]byte, error) {
	for {
		length, err := r.length()
		if err != nil {
			return nil, err
		}
		if length == 0 {
			continue
		}
		if r.buffer.Cap() > keptBuffer {
			r.buffer = bytes.Buffer{}
		}
		r.buffer.Reset()
		if n, err := io.CopyN(&r.buffer, r.from, length); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read a record of %d bytes after %d: %w", length, n, err)
		}
		return r.buffer.Bytes(), nil
	}
}

// length reads the line before a record.
func (r *recordReader) length() (int64, error) {
	var length int64
	for digits := 0; ; digits++ {
		b, err := r.from.ReadByte()
		switch {
		case err == io.EOF && digits > 0:
			return 0, fmt.Errorf("read the length of a record: %w", io.ErrUnexpectedEOF)
		case err == io.EOF:
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("read the length of a record: %w", err)
		case b == '\n' && digits > 0:
			return length, nil
		case b < '0' || b > '9':
			return 0, fmt.Errorf("the length of a record has the byte %q", b)
		}
		length = length*10 + int64(b-'0')
		if length > maxRecord || digits >= len("67108864") {
			return 0, fmt.Errorf("a record is longer than %d bytes", maxRecord)
		}
	}
}
