// Package console answers the commands of OpenSM's console in OpenSM's words, so that
// scripts and people who talk to it go on. A Session takes command lines and writes
// answers; what it knows, and what it can have done, is a Daemon's. Listening,
// addresses and time limits are not its business.
package console
