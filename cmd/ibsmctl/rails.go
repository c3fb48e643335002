package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newRails(a *asker) *cobra.Command {
	return &cobra.Command{Use: "rails [OPTION]...", Short: "rails, and ports on the wrong leaf", Args: cli.Args(0, 0),
		RunE: a.asking(a.rails), Long: `
Shows the rails of the subnet. For each port on the wrong leaf it names the cable to move.
A rail consists of the adapter ports at the same position in their hosts. Hosts and positions come
from NodeDescriptions such as host-12 mlx5_3, or from SystemImageGUIDs that adapters share. A unit
is a set of leaves connected to the same hosts. The leaf of a rail in a unit is the leaf with most
of its ports. If neither names nor cables show such an order, the command says so.

To exchange two cables, swap them at the leaves. Run the command again after each change, because
an exchange that corrects one port can misplace another.`}
}

func (a *asker) rails(ctx context.Context, _ []string, stdout io.Writer) error {
	r := &ctl.Rails{}
	if shown, err := a.value(ctx, "/v1/rails", nil, r, stdout); err != nil || shown {
		return err
	}
	fmt.Fprintln(stdout, printable(r.Seen))
	if len(r.Rails) == 0 {
		return nil
	}
	t := &table{columns: []column{{head: "RAIL"}, {head: "ADAPTER", yields: true}, {head: "PORTS", right: true},
		{head: "UNITS", right: true}, {head: "LEAVES", yields: true}}}
	for i := range r.Rails {
		rail, units := &r.Rails[i], map[int]bool{}
		var leaves []string
		for _, l := range rail.Leaves {
			leaves = append(leaves, a.names.of(l.Node, l.Desc))
			units[l.Unit] = true
		}
		t.add(strconv.Itoa(rail.Rail), printable(strings.Join(rail.Places, ", ")), strconv.Itoa(rail.Ports),
			strconv.Itoa(len(units)), printable(strings.Join(leaves, ", ")))
	}
	fmt.Fprintln(stdout)
	if err := t.print(stdout, terminalWidth(stdout)); err != nil || len(r.Wrong) == 0 {
		return err
	}
	fmt.Fprintln(stdout)
	listed := map[ctl.End]bool{}
	for i := range r.Wrong {
		if w := &r.Wrong[i]; !listed[w.Port] {
			a.printWrong(w, stdout)
			if w.Both {
				listed[*w.Exchange] = true
			}
		}
	}
	return nil
}

// printWrong says where a port belongs, and which cable to move.
func (a *asker) printWrong(w *ctl.WrongPort, stdout io.Writer) {
	end := func(e *ctl.End) string {
		return fmt.Sprintf("%s port %d", printable(cmp.Or(a.names.of(e.Node, e.Desc), e.Node)), e.Port)
	}
	leaf := printable(cmp.Or(a.names.of(w.Want.Node, w.Want.Desc), w.Want.Node))
	fmt.Fprintf(stdout, "%s of rail %d is on %s but belongs on %s: ", end(&w.Port), w.Rail, end(&w.On), leaf)
	switch {
	case w.Both:
		fmt.Fprintf(stdout, "swap its cable with the cable of %s on %s, which corrects both\n", end(w.Exchange),
			end(&w.Want))
	case w.Exchange != nil:
		fmt.Fprintf(stdout, "swap its cable with the cable of %s on %s, which is misplaced too\n", end(w.Exchange),
			end(&w.Want))
	case w.Want.Port != 0:
		fmt.Fprintf(stdout, "move its cable to free port %d there\n", w.Want.Port)
	default:
		fmt.Fprintln(stdout, "no port is free there")
	}
}
