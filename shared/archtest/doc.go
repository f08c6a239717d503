// Package archtest holds the rules of this repository that the compiler does
// not check, as tests: who may import whom, what a pure package may not do, what
// has to be documented, how long a function may be.
//
// A rule reads the syntax trees of the repository's Go files and returns what
// breaks it. planted_test.go shows each rule code that breaks it.
package archtest
