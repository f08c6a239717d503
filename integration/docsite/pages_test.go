package docsite

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tfmesos/scheduler/spec"
)

// repository is the root of it, seen from here.
const repository = "../.."

// pages returns the Markdown files of the repository, by their path in it.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "examples/*/*.md", "integration/*/*.md", "python/*.md", "docker/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(repository, path)
			found[name] = string(text)
		}
	}
	if len(found) < 12 {
		t.Fatalf("found only %d pages", len(found))
	}
	return found
}

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	code      = regexp.MustCompile("`[^`\n]*`")
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	elsewhere = regexp.MustCompile(`^(https?|mailto):`)
	noSlug    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns what a page's headings are called in links, as GitHub makes it and the site does.
func anchors(page string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return names
}

// broken says what is wrong with a link of a page, or nothing.
func broken(from, to string, all map[string]string) string {
	path, anchor, _ := strings.Cut(to, "#")
	target := from
	if path != "" {
		target = filepath.Join(filepath.Dir(from), path)
		if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
			return "there is no " + target
		}
	}
	if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
		return target + " has no heading #" + anchor
	}
	if strings.HasPrefix(from, "docs/") && filepath.Dir(target) != "docs" && to != "../README.md#what-this-version-does-not-do" {
		return "it leads out of docs, to where the site has nothing"
	}
	return ""
}

func TestLinksBetweenThePagesLeadSomewhere(t *testing.T) {
	all, links := pages(t), 0
	for name, text := range all {
		text = code.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if elsewhere.MatchString(match[1]) {
				continue
			}
			links++
			if why := broken(name, match[1], all); why != "" {
				t.Errorf("%s links to %s: %s", name, match[1], why)
			}
		}
	}
	if links < 30 {
		t.Errorf("found only %d links: does the expression for them still fit?", links)
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	all := pages(t)
	for to, want := range map[string]string{
		"no-such-page.md":       "there is no docs/no-such-page.md",
		"redis.md#no-such":      "docs/redis.md has no heading #no-such",
		"#no-such":              "docs/index.md has no heading #no-such",
		"../CONTRIBUTING.md":    "it leads out of docs, to where the site has nothing",
		"spec.md#names-of-jobs": "",
	} {
		if got := broken("docs/index.md", to, all); got != want {
			t.Errorf("link to %s: %q, want %q", to, got, want)
		}
	}
}

// The examples of docs/spec.md are those of its own test, in scheduler/spec.
func TestSpecsInThePagesAreGoodOnes(t *testing.T) {
	specs := 0
	for name, text := range pages(t) {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
			if name == "docs/spec.md" || !regexp.MustCompile(`(?m)^jobs:`).MatchString(block[1]) {
				continue
			}
			specs++
			if _, err := spec.Parse(name, []byte(block[1]), spec.Defaults{}); err != nil {
				t.Errorf("a spec of %s is refused:\n%v\n%s", name, err, block[1])
			}
		}
	}
	if specs == 0 {
		t.Error("no page has a spec: are they still marked as yaml?")
	}
}
