// Package sim drives managers and a simulated fabric from one clock in one
// goroutine: virtual time, no scheduling, so that the same seed gives the same
// bytes.
package sim
