// Command ibsm is an InfiniBand subnet manager and administrator.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/conf"
	"ibsm/daemon"
	"ibsm/priority"
)

// gcPercent is how much garbage is collected at a time, as a share of what is in use. With
// more, a manager of 11,664 hosts needs more memory, and no less CPU time: a takeover takes
// 95 MB with 25, and 103 MB with 40.
const gcPercent = 25

// init keeps the first thread for the goroutine of main, which does nothing but wait. The kernel gives a signal to this
// thread; if it waited for a file system that does not answer, no other thread would see the signal.
func init() { runtime.LockOSThread() }

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	priority.Manage()
	status := make(chan int)
	go func() { status <- run(os.Args, os.Stdout, os.Stderr) }()
	os.Exit(<-status)
}

// run is the program with its name; it returns the exit status.
func run(args []string, stdout *os.File, stderr io.Writer) int {
	program, args := args[0], args[1:]
	asOpenSM := calledOpenSM(program)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return complete(args, stdout)
	}
	l := conf.Load(args, daemon.Environment)
	switch {
	case l.Help:
		fmt.Fprint(stdout, conf.Usage())
		return daemon.ExitUsage
	case l.Version && asOpenSM:
		bannerHead(stdout, "", "")
		return 0
	case l.Version:
		fmt.Fprintf(stdout, "ibsm %s (%s compatible)\n", conf.Version, conf.OpenSM)
		return 0
	case l.CheckConfig:
		return daemon.CheckConfig(args, stdout, stderr)
	case l.AllPorts || l.Launch || l.Instance != "":
		return daemon.Launch(args, stdout, stderr, func(options []string) int {
			return run(append([]string{program}, options...), stdout, stderr)
		})
	}
	if status := daemon.Judge(l, stderr); status != 0 {
		return status
	}
	if asOpenSM {
		banner(stdout, l)
	}
	if l.CreateConfig != "" {
		return createConfig(l, stderr)
	}
	l, status := daemon.AskForPort(l, args, stdout, stderr)
	if l == nil {
		return status
	}
	return daemon.ExitStatus(serve(l, asOpenSM, stdout, stderr), stderr)
}

// serve runs the manager at the port that the configuration names.
func serve(l *conf.Loaded, asOpenSM bool, stdout *os.File, stderr io.Writer) error {
	open, err := opener(l)
	if err != nil {
		return err
	}
	return daemon.Run(daemon.Config{Loaded: l, Open: open, AsOpenSM: asOpenSM, Stdout: stdout, Stderr: stderr})
}

// createConfig writes the configuration to the file that --create-config names, in
// the form that its name asks for.
func createConfig(l *conf.Loaded, stderr io.Writer) (status int) {
	form := l.WriteOpenSM
	if conf.IsTOML(l.CreateConfig) {
		form = l.WriteTOML
	}
	src, err := form()
	if err == nil {
		err = atomicfile.Write(l.CreateConfig, 0o600, src) // there may be keys in it
	}
	if err != nil {
		fmt.Fprintf(stderr, "ibsm: error: cannot create %s: %v\n", l.CreateConfig, err)
		return daemon.ExitRefused
	}
	return 0
}
