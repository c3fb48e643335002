package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/draw"
)

// colours are what the colours of a drawing may show.
var colours = []string{string(draw.ByState), string(draw.ByLoad)}

func newDraw(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "draw [OPTION]...", Short: "draw the subnet, as SVG", Args: cli.Args(0, 0), Long: `
Draws the subnet as SVG, for a browser. Trees are drawn by level with the hosts at the bottom,
tori and other grids as a grid, other topologies as a circle. Tooltips show names, GUIDs,
LIDs, ports, speed and state. Parallel cables between two switches are one line. In a
large subnet hosts are shown as squares or a number, and switches with the same connections
share a box.`, Example: `  ibsmctl draw -o fabric.svg
  ibsmctl draw --colour load --fabric torus:dims=8x8 -o torus.svg
`}
	colour := c.Flags().String("colour", string(draw.ByState),
		"highlight by `WHAT`: state (links that are not Active, avoided by routes, or slower than most) or load (the number of routes over each cable)")
	spec := c.Flags().String("fabric", "",
		"draw the topology of `SPEC` instead of the manager's subnet: a file (ibnetdiscover, ibsim) or a generator such as fattree:k=8")
	output := c.Flags().StringP("output", "o", "", "write to `FILE` instead of standard output")
	cli.Words(c, "colour", colours...)
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		word, err := oneOf("--colour", *colour, colours)
		if err != nil {
			return err
		}
		c := draw.Colour(word)
		f, err := a.shape(ctx, *spec, c == draw.ByLoad)
		if err != nil {
			return err
		}
		note := *spec
		if note == "" {
			st := &ctl.Status{}
			if err := a.Get(ctx, "/v1/status", nil, st); err != nil {
				return a.explain(err)
			}
			note = st.Where
			if s := st.Subnet; s != nil {
				note = fmt.Sprintf("%s, subnet %s, generation %d", st.Where, s.Prefix, s.Generation)
			}
		}
		var picture bytes.Buffer
		if err := draw.SVG(&picture, f, draw.Options{Colour: c, Note: note, Stateless: *spec != ""}); err != nil {
			return err
		}
		if cmp.Or(*output, "-") != "-" {
			return atomicfile.Write(*output, 0o666, picture.Bytes())
		}
		_, err = stdout.Write(picture.Bytes())
		return err
	})
	return c
}
