// Package baddays is what happens to a subnet on a bad day: a switch whose ports flap, thousands of lost ports, traps
// without end, a power cut. It acts on a simulated fabric, in virtual and in real time, and asks the SA throughout. All
// that is random comes from one seed.
package baddays
