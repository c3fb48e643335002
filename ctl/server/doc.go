// Package server shows a running manager on its control socket: it makes ctl's rows
// from the published view and hands orders to the core. It takes nothing from the core
// but values that do not change, so that no question, and no slow reader, holds the
// manager up.
package server
