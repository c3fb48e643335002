//go:build !race

package main_test

// raceDetector is not in these tests, nor in the programs that they build.
const raceDetector = false
