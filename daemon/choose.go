package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/umad"
)

// AskForPort has the user choose a port of this host where -g 0 asks for that, and returns
// the configuration with the choice. Without a configuration the program ends with the
// status.
func AskForPort(l *conf.Loaded, args []string, stdout, stderr io.Writer) (chosen *conf.Loaded, status int) {
	if !wantsMenu(l) {
		return l, 0
	}
	if inBackground(l) {
		fmt.Fprintln(stderr,
			"ibsm: error: -g 0 prompts for a port, which a daemon cannot do; ibstat -p lists the ports")
		return nil, ExitRefused
	}
	ports, err := umad.Ports("/")
	if err != nil {
		return nil, ExitStatus(err, stderr)
	}
	guid, err := choosePort(ports, menu{bufio.NewReader(os.Stdin), stdout, isTerminal(os.Stdin)})
	if err != nil {
		return nil, ExitStatus(err, stderr)
	}
	return conf.Load(append(slices.Clone(args), "--guid="+guid.String()), Environment), 0
}

// askWhichPort is how OpenSM writes -g 0 into a file.
const askWhichPort = math.MaxUint64

// wantsMenu reports whether the user wants to be asked for a port of this host.
func wantsMenu(l *conf.Loaded) bool {
	guid := l.Setting(conf.GUID.Key())
	ask := guid.Value.Num == askWhichPort || guid.Value.Num == 0 && guid.Source == conf.FromOption
	return ask && guid.Value.Text == "" && l.Fabric == "" && !l.IBSim
}

// menu is where the user chooses a port.
type menu struct {
	in       *bufio.Reader
	out      io.Writer
	terminal bool // somebody can answer
}

// isTerminal reports whether a person may sit at a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// errLeft says that the user has chosen no port and wants to leave.
var errLeft = errors.New("no port was selected")

// choosePort returns the port that the user chooses. One port is chosen by itself.
func choosePort(all []umad.HostPort, m menu) (mad.GUID, error) {
	if _, err := umad.Choose(all, 0); err != nil {
		return 0, err // it says why each port is passed over
	}
	ports := managed(all)
	switch {
	case len(ports) == 1:
		return ports[0].GUID, nil
	case !m.terminal:
		return 0, &UsageError{"-g 0 prompts for a port, but there is no terminal",
			"give one of\n" + strings.Join(portLines(ports), "\n")}
	}
	fmt.Fprintf(m.out, "\nChoose a local port number with which to bind:\n\n%s\n\n\t0: Exit\n",
		strings.Join(portLines(ports), "\n"))
	for {
		fmt.Fprintf(m.out, "\nEnter choice (0-%d): ", len(ports))
		answer, err := m.in.ReadString('\n')
		if err != nil {
			return 0, errLeft
		}
		n, err := strconv.Atoi(strings.TrimSpace(answer))
		switch {
		case err != nil || n < 0 || n > len(ports):
			fmt.Fprintf(m.out, "Error: expected a number from 0 to %d\n", len(ports))
		case n == 0:
			return 0, errLeft
		default:
			fmt.Fprintf(m.out, "Choice guid=0x%x\n", uint64(ports[n-1].GUID))
			return ports[n-1].GUID, nil
		}
	}
}

// managed are the ports that a manager may run at.
func managed(ports []umad.HostPort) (of []umad.HostPort) {
	for _, p := range ports {
		if p.Unfit() == "" {
			of = append(of, p)
		}
	}
	return of
}

// portLines is a line for each port.
func portLines(ports []umad.HostPort) (lines []string) {
	for i, p := range ports {
		state := strings.ToUpper(smp.PortState(p.State).String())
		lines = append(lines, fmt.Sprintf("\t%d: GUID 0x%x, lid %d, state %s", i+1, uint64(p.GUID), p.LID, state))
	}
	return lines
}
