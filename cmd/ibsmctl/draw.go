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
torus or another grid as a grid, anything else in a circle. What the pointer rests on is
described: names, GUIDs, LIDs, ports, speed, state. Cables between the same switches are
one line; in a large subnet hosts become squares or their number, and switches that have
everything in common share a box.

Options:
      --colour WHAT   state: what is not Active, avoided by routes, or slower than
                      most of its kind stands out (default)
                      load: how many routes lead through each cable
      --fabric SPEC   not the manager's subnet, but that of a topology file
                      (ibnetdiscover, ibsim) or a generator such as fattree:k=8
  -o, --output FILE   write to FILE instead of standard output
ibsmctl --help describes the others.

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
