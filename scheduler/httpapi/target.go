package httpapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"tfmesos/shared/callback"
)

var errBadPort = refuse(fasthttp.StatusBadRequest, "port: want a decimal from 1 to 65535")

// checkTarget looks at a request target as it came, because the router sees one with empty segments that match, and
// fasthttp offers one with '.', '..' and '//' resolved. What passes has one meaning only: nothing in it needs decoding, so
// a percent sign, a blank, a control byte or a whole URL is refused.
func checkTarget(target string) error {
	path, query, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(r rune) bool { return !inPath(r) }) {
		return refuse(fasthttp.StatusBadRequest, "path: want one that begins with / and has only letters, digits, '.', '-', '_', '~' and '/'")
	}
	if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return refuse(fasthttp.StatusBadRequest, "query: want printable ASCII")
	}
	if strings.HasSuffix(path, "/port/") {
		return errBadPort
	}
	for _, segment := range strings.Split(path[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return errNoRoute
		}
	}
	return nil
}

func inPath(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_~/", r)
}

// parsePort reads the {port} of a path: digits as a person writes them, with no sign, no leading zero.
func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || strconv.Itoa(port) != text {
		return 0, errBadPort
	}
	return port, nil
}

// pollQuery reads the query of a long poll. Both numbers may be left out and are 0 then; other keys mean nothing here.
func pollQuery(args *fasthttp.Args) (generation, wait int, err error) {
	for key, into := range map[string]*int{callback.QueryGeneration: &generation, callback.QueryWait: &wait} {
		values := args.PeekMulti(key)
		if len(values) == 0 {
			continue
		}
		n, bad := strconv.Atoi(string(values[0]))
		if len(values) > 1 || bad != nil || n < 0 || strconv.Itoa(n) != string(values[0]) {
			return 0, 0, refuse(fasthttp.StatusBadRequest, fmt.Sprintf("%s: want one number, 0 or more", key))
		}
		*into = n
	}
	return generation, min(wait, callback.MaxWaitSeconds), nil
}
