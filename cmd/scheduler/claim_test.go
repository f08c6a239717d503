package main

import (
	"slices"
	"testing"
)

func TestKnownFault120PasswordsOfURLsAreHiddenInTheStoredArguments(t *testing.T) {
	got := withoutPasswords([]string{"scheduler", "run", "--redis", "redis://me:p@ss/w:o#rd@10.0.0.6:6379/0", "--redis=redis://:x@h:1", "--", "python", "a@b:c"})
	want := []string{"scheduler", "run", "--redis", "redis://me:***@10.0.0.6:6379/0", "--redis=redis://:***@h:1", "--", "python", "a@b:c"}
	if !slices.Equal(got, want) {
		t.Errorf("Redis would show\n%q\nwant\n%q", got, want)
	}
}
