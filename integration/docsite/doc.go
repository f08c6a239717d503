// Package docsite holds the tests of the documentation: that links lead somewhere, that the examples of specs are good ones, and, under
// the build tag integration, that the pages are rendered and published as docs/Makefile promises.
package docsite
