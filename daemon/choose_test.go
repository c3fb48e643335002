package daemon

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/umad"
)

// TestChoosePort: the menu of -g 0.
func TestChoosePort(t *testing.T) {
	first := umad.HostPort{Device: "mlx5_0", Number: 1, GUID: 0x2c9, LID: 7, State: 4, LinkLayer: "InfiniBand"}
	second := umad.HostPort{Device: "mlx5_1", Number: 1, GUID: 0x3c9, State: 1, LinkLayer: "InfiniBand"}
	ethernet := umad.HostPort{Device: "mlx5_2", Number: 1, GUID: 0x4c9, State: 4, LinkLayer: "Ethernet"}
	plane := umad.HostPort{Device: "mlx5_3", Number: 1, GUID: 0x5c9, State: 4, NoSMI: true}
	bridge := umad.HostPort{Device: "mlx5_4", Number: 1, GUID: 0x6c9, State: 4, LinkLayer: "InfiniBand",
		Bridge: umad.IsBridge}
	const list = "\nChoose a local port number with which to bind:\n\n" +
		"\t1: GUID 0x2c9, lid 7, state ACTIVE\n\t2: GUID 0x3c9, lid 0, state DOWN\n\n\t0: Exit\n"
	const prompt = "\nEnter choice (0-2): "
	for _, c := range []struct {
		name     string
		ports    []umad.HostPort
		input    string
		terminal bool
		want     mad.GUID
		printed  string
		err      string
	}{
		{"none", nil, "", true, 0, "", "no InfiniBand port"},
		{"none that a manager may run at", []umad.HostPort{ethernet, bridge, plane}, "", true, 0, "",
			"no InfiniBand port for a subnet manager: " +
				"mlx5_4 port 1: " + bridge.Unfit() + "; mlx5_3 port 1: " + plane.Unfit()},
		{"Ethernet alone", []umad.HostPort{ethernet}, "", true, 0, "", "no InfiniBand port: none of 1 ports"},
		{"one", []umad.HostPort{ethernet, first}, "", false, 0x2c9, "", ""},
		{"chosen", []umad.HostPort{first, ethernet, second, plane}, " 2 \n", true, 0x3c9,
			list + prompt + "Choice guid=0x3c9\n", ""},
		{"second try", []umad.HostPort{first, second}, "x\n3\n-1\n1\n", true, 0x2c9,
			list + strings.Repeat(prompt+"Error: expected a number from 0 to 2\n", 3) + prompt + "Choice guid=0x2c9\n",
			""},
		{"exit", []umad.HostPort{first, second}, "0\n", true, 0, list + prompt, errLeft.Error()},
		{"gone", []umad.HostPort{first, second}, "1", true, 0, list + prompt, errLeft.Error()},
		{"no terminal", []umad.HostPort{first, second}, "1\n", false, 0, "", "no terminal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := choosePort(c.ports, menu{bufio.NewReader(strings.NewReader(c.input)), &out, c.terminal})
			if got != c.want || out.String() != c.printed || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("GUID %v, error %v, printed %q", got, err, out.String())
			}
		})
	}
	var wrong *UsageError
	if _, err := choosePort([]umad.HostPort{first, second}, menu{}); !errors.As(err, &wrong) ||
		!strings.Contains(wrong.Hint, "GUID 0x3c9") {
		t.Errorf("without a terminal the ports are not named: %v", err)
	}
}

// TestIsTerminal: where nobody can answer, nobody is asked.
func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if isTerminal(null) || isTerminal(r) {
		t.Error("the null device or a pipe counts as a terminal")
	}
}
