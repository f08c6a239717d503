package spec

import (
	"strings"
	"testing"
)

func TestKnownFault032RolesThatMesosForbidsAreRefusedAndOthersKept(t *testing.T) {
	for role, want := range map[string]string{"a": "a", "": "", "*": "*", "a/b": "a/b", "Ä.b-c/d": "Ä.b-c/d"} {
		s, err := FromFlags(Flags{Defaults: Defaults{Role: role}, Worker: "1"})
		if err != nil || s.Role != want {
			t.Errorf("role %q becomes %q (%v), want %q", role, s.Role, err, want)
		}
	}
	for _, role := range []string{" a ", "-x", "..", ".", "a b", "a/", "/a", "a//b", "a/../b", "a/*", "a/-b", "a\tb"} {
		if s, err := FromFlags(Flags{Defaults: Defaults{Role: role}, Worker: "1"}); err == nil || !strings.Contains(err.Error(), "--role") {
			t.Errorf("role %q becomes %q (%v), want a refusal that names --role", role, s.Role, err)
		}
	}
}
