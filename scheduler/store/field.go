package store

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"
)

// field is one field of a hash that shows a T.
type field[T any] struct {
	name string
	get  func(*T) string
	// set is nil for what is only shown to people and follows from other fields.
	set func(*T, string) error
}

// updatedAt is the time of the last Save that changed something in the hash.
const updatedAt = "updated_at"

func text[T any, S ~string](name string, at func(*T) *S) field[T] {
	return field[T]{name,
		func(v *T) string { return string(*at(v)) },
		func(v *T, s string) error { *at(v) = S(s); return nil }}
}

// word is a text that must be one of the known ones.
func word[T any, S ~string](name string, at func(*T) *S, known ...S) field[T] {
	f := text(name, at)
	f.set = func(v *T, s string) error {
		if !slices.Contains(known, S(s)) {
			return errors.New("is " + quote(s) + ", which this version does not know")
		}
		*at(v) = S(s)
		return nil
	}
	return f
}

func formatNumber(n, unset int) string {
	if n == unset {
		return ""
	}
	return strconv.Itoa(n)
}

func parseNumber(s string, unset int) (int, error) {
	if s == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, errors.New("is " + quote(s) + ", not a whole number from 0 on")
	}
	return n, nil
}

// count is a number that is always known.
func count[T any](name string, at func(*T) *int) field[T] {
	return field[T]{name,
		func(v *T) string { return strconv.Itoa(*at(v)) },
		func(v *T, s string) (err error) {
			if s == "" {
				return errors.New("is empty, not a number")
			}
			*at(v), err = parseNumber(s, 0)
			return err
		}}
}

// number is empty while it has the value unset.
func number[T any](name string, at func(*T) *int, unset int) field[T] {
	return field[T]{name,
		func(v *T) string { return formatNumber(*at(v), unset) },
		func(v *T, s string) (err error) {
			*at(v), err = parseNumber(s, unset)
			return err
		}}
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, errors.New("is " + quote(s) + ", not a time as in 2026-01-31T12:00:00Z")
	}
	return t.UTC(), nil
}

// instant is a time in RFC 3339 UTC, empty while it has not come.
func instant[T any](name string, at func(*T) *time.Time) field[T] {
	return field[T]{name,
		func(v *T) string { return formatTime(*at(v)) },
		func(v *T, s string) (err error) {
			*at(v), err = parseTime(s)
			return err
		}}
}

// span is a duration in Go's text, as in 16m0s, empty for none.
func span[T any](name string, at func(*T) *time.Duration) field[T] {
	return field[T]{name,
		func(v *T) string {
			if *at(v) == 0 {
				return ""
			}
			return at(v).String()
		},
		func(v *T, s string) error {
			if *at(v) = 0; s == "" {
				return nil
			}
			d, err := time.ParseDuration(s)
			if err != nil {
				return errors.New("is " + quote(s) + ", not a duration as in 16m0s")
			}
			*at(v) = d
			return nil
		}}
}

// structured is JSON in a field, empty for the empty value.
func structured[T, V any](name string, at func(*T) *V, size func(V) int) field[T] {
	return field[T]{name,
		func(v *T) string {
			if size(*at(v)) == 0 {
				return ""
			}
			return marshal(*at(v))
		},
		func(v *T, s string) error {
			if s == "" {
				return nil
			}
			if err := json.Unmarshal([]byte(s), at(v)); err != nil {
				return errors.New("is " + quote(s) + ", which is not the JSON it should be: " + err.Error())
			}
			return nil
		}}
}

// flag is "true", or empty for false.
func flag[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{name,
		func(v *T) string {
			if *at(v) {
				return "true"
			}
			return ""
		},
		func(v *T, s string) error {
			if s != "" && s != "true" {
				return errors.New("is " + quote(s) + ", neither true nor empty")
			}
			*at(v) = s == "true"
			return nil
		}}
}

func derived[T any](name string, get func(*T) string) field[T] { return field[T]{name: name, get: get} }

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // all that is stored as JSON is made of strings, numbers and bools
	}
	return string(text)
}

// encode returns name and value of each field in which after differs from before; all of them if before is nil.
func encode[T any](fields []field[T], before, after *T) []string {
	var pairs []string
	for _, f := range fields {
		value := f.get(after)
		if before == nil || f.get(before) != value {
			pairs = append(pairs, f.name, value)
		}
	}
	return pairs
}

// decode fills v from a hash that has every field.
func decode[T any](key string, fields []field[T], hash map[string]string, v *T) error {
	for _, f := range fields {
		if f.set == nil {
			continue
		}
		value, there := hash[f.name]
		if !there {
			return &CorruptError{key, f.name, "is missing"}
		}
		if err := f.set(v, value); err != nil {
			return &CorruptError{key, f.name, err.Error()}
		}
	}
	return nil
}

func names[T any](fields []field[T]) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.name)
	}
	return all
}
