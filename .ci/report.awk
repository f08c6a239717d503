# Reads `go test -v` and prints what people want to see of it: the line of each package, all of the tests that failed, and
# each test that was skipped, with its reason.

function forget() { lines = 0; skips = 0; split("", said) }

/^=== (RUN|CONT|NAME) / { current = $3; next }
/^go: downloading / { print; fflush(); next }
/^=== / || /^ *--- PASS: / || /^PASS$/ { next }

/^ *--- SKIP: / {
	skip[++skips] = $3 ": " (said[$3] == "" ? "no reason given" : said[$3])
	next
}

# A package is done: ok, FAIL or "? [no test files]".
/^(ok  |FAIL)\t/ || /\[no test files\]$/ {
	if ($1 == "FAIL") for (i = 1; i <= lines; i++) print line[i]
	if (!/\[no test files\]$/) print
	for (i = 1; i <= skips; i++) print "  skipped " skip[i]
	skipped += skips
	forget()
	fflush()
	next
}

{
	line[++lines] = $0
	if (/^ +[^ ]+\.go:[0-9]+: /) { text = $0; sub(/^ +[^ ]+\.go:[0-9]+: /, "", text); said[current] = text }
}

# What is left belongs to no package: a build that broke, a time-out.
END {
	for (i = 1; i <= lines; i++) print line[i]
	if (skipped) print "skipped for want of something on this machine: " skipped
}
