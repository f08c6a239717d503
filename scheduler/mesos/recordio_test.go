package mesos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func frame(records ...string) (text string) {
	for _, r := range records {
		text += fmt.Sprintf("%d\n%s", len(r), r)
	}
	return text
}

// readAll reads records to the error, which it returns as nil if it is the regular end.
func readAll(from io.Reader) (records []string, err error) {
	for r := newRecordReader(from); ; {
		record, err := r.next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, string(record))
	}
}

func TestKnownFault062RecordsCutAtAnyByte(t *testing.T) {
	want := []string{"a", "two\n2\n", strings.Repeat("x", 1000), "\x00"}
	stream := frame(want...)
	for cut := range len(stream) {
		got, err := readAll(io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])))
		if err != nil || !cmp.Equal(got, want) {
			t.Fatalf("cut at byte %d: read %q, %v", cut, got, err)
		}
	}
	if got, err := readAll(iotest.OneByteReader(strings.NewReader(stream))); err != nil || !cmp.Equal(got, want) {
		t.Errorf("byte by byte: read %q, %v", got, err)
	}
	if got, err := readAll(iotest.DataErrReader(strings.NewReader(stream))); err != nil || !cmp.Equal(got, want) {
		t.Errorf("end together with the last bytes: read %q, %v", got, err)
	}
}

func TestKnownFault062BrokenRecordsAreErrors(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		records      int
		cut          bool
	}{
		{"no number", frame("ok") + "abc\n", 1, false},
		{"empty line", frame("ok") + "\nok", 1, false},
		{"sign", "+2\nok", 0, false},
		{"negative", "-2\nok", 0, false},
		{"blank", " 2\nok", 0, false},
		{"carriage return", "2\r\nok", 0, false},
		{"newline after a record", frame("ok") + "\n" + frame("ok"), 1, false},
		{"more than the limit", "67108865\n", 0, false},
		{"far more than the limit", "99999999999\n", 0, false},
		{"more than an integer", strings.Repeat("9", 400), 0, false},
		{"endless zeros", strings.Repeat("0", 400), 0, false},
		{"cut in the length", frame("ok") + "1", 1, true},
		{"cut after the length", frame("ok") + "10\n", 1, true},
		{"cut in the record", frame("ok") + "10\nhalf", 1, true},
	} {
		got, err := readAll(strings.NewReader(c.stream))
		if err == nil || len(got) != c.records || errors.Is(err, io.ErrUnexpectedEOF) != c.cut {
			t.Errorf("%s: read %q and the error %v", c.name, got, err)
		}
	}
}

func TestKnownFault062EmptyRecordsAreSkipped(t *testing.T) {
	got, err := readAll(strings.NewReader("0\n0\n" + frame("ok") + "0\n00\n"))
	if err != nil || !cmp.Equal(got, []string{"ok"}) {
		t.Errorf("read %q, %v; want only the record that is not empty", got, err)
	}
}

func TestALengthThatIsOnlyAnnouncedTakesNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readAll(strings.NewReader("67108864\nshort"))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 4<<20 {
		t.Errorf("a record cut after 5 bytes took %d bytes of memory (error %v)", used, err)
	}
}

func TestARecordMayBeLargerThanFourMiB(t *testing.T) {
	large := strings.Repeat("x", 10<<20)
	got, err := readAll(strings.NewReader(frame(large, "small")))
	if err != nil || !cmp.Equal(got, []string{large, "small"}) {
		t.Errorf("read %d records, %v; want one of 10 MiB and one after it", len(got), err)
	}
}

func FuzzRecords(f *testing.F) {
	for _, seed := range []string{"", "0\n", "2\nok", "2\nok3\nyes", "99999999999\n", "abc\n", "5\nx"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := readAll(bytes.NewReader(stream))
		bytewise, again := readAll(iotest.OneByteReader(bytes.NewReader(stream)))
		if !cmp.Equal(whole, bytewise) || (err == nil) != (again == nil) {
			t.Fatalf("%q depends on how it is cut: %q, %v and %q, %v", stream, whole, err, bytewise, again)
		}
		for _, record := range whole {
			_, _ = decode([]byte(record)) // must not panic
		}
	})
}

func TestAnEventThatMakesTheDecoderPanicIsAnError(t *testing.T) {
	// A type, then a field nobody knows whose length overflows the index of the generated code (CVE-2021-3121).
	record := append([]byte{0x08, 0x08, 0xa2, 0x06}, binary.AppendUvarint(nil, math.MaxInt64-11)...)
	if event, err := decode(record); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("decoded %v, %v; want the error that the decoder panicked", event, err)
	}
}
