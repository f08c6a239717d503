// Package python holds the tests of the Python package: its own, run with python3, and under the build tag integration those of the
// wheel, installed into a fresh virtual environment, with a real TensorFlow.
package python
