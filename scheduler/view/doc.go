// Package view turns a cluster into what a person reads: a line for each note, a live line for each task, the summary of
// where the time went, and tables for plan and status. It renders text and writes it to what it is given.
package view
