//go:build race

package main_test

// raceDetector is in these tests, and so in the programs that they build.
const raceDetector = true
