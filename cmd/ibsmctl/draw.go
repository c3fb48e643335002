package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"ibsm/cmd/ibsmctl/draw"
	"ibsm/ctl"
)

const drawUsage = `Usage: ibsmctl draw [OPTION]... [-o FILE.svg]

Draws the subnet as SVG, for a browser: switches by level with the hosts below them, a
torus or another grid as a grid, anything else in a circle. Tooltips show names, GUIDs,
LIDs, ports, speed and state. Cables between the same two switches are one line. In a
large subnet hosts become squares or a number, and switches with the same connections
share a box.

Options:
      --colour WHAT   state: highlight links that are not Active, that routes avoid,
                      or that are slower than most of their kind (default)
                      load: the number of routes over each cable
      --fabric SPEC   draw a topology file (ibnetdiscover, ibsim) or a generator
                      such as fattree:k=8, not the manager's subnet
  -o, --output FILE   write to FILE instead of standard output
See ibsmctl --help for the common options.

Examples:
  ibsmctl draw -o fabric.svg
  ibsmctl draw --colour load --fabric torus:dims=8x8 -o torus.svg
`

func runDraw(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("draw", drawUsage)
	colour := a.String("colour", string(draw.ByState), "")
	spec := a.String("fabric", "", "")
	output := a.StringP("output", "o", "", "")
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	word, err := oneOf("--colour", *colour, values["draw --colour"])
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
	if err := draw.SVG(&picture, f, draw.Options{Colour: c, Note: note}); err != nil {
		return err
	}
	if cmp.Or(*output, "-") != "-" {
		return os.WriteFile(*output, picture.Bytes(), 0o666)
	}
	_, err = stdout.Write(picture.Bytes())
	return err
}
