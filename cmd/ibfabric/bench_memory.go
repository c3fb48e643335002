package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ibsm/ctl"
	"ibsm/sim/fabric"
)

// memorySpecs are fat trees of 2,916, 11,664 and 39,366 hosts.
var memorySpecs = []string{"fattree:k=36,pods=9", "fattree:k=36", "fattree:k=54"}

func newBenchMemory() *cobra.Command {
	b := &bench{}
	c := &cobra.Command{Use: "memory [SPEC]... [OPTION]...", Short: "measure the memory of a manager that goes on running", Long: `
Measures the peak memory of a manager, in a process of its own: when the subnet has come up, and after a
link between switches was lost and came back, all routes were computed anew, and the whole subnet was
discovered again, each twice. Both without and with counters, which are read every 15 seconds.

SPEC is as for ibfabric serve; without one, fat trees of 2,916, 11,664 and 39,366 hosts.`}
	b.ownOptions(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		specs := args
		if len(specs) == 0 {
			specs = memorySpecs
		}
		fmt.Fprintln(b.out, "| hosts | counters | at SUBNET UP, MB | later, MB | ratio |\n| ---: | --- | ---: | ---: | ---: |")
		return b.each(cmd.Context(), specs, func(ctx context.Context, spec string) error {
			for _, counters := range []bool{false, true} {
				if err := b.remember(ctx, spec, counters); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}

// remember measures a manager with or without counters.
func (b *bench) remember(ctx context.Context, spec string, counters bool) error {
	n, err := loadNet(spec)
	if err != nil {
		return err
	}
	place, err := newBenchPlace(n)
	if err != nil {
		return err
	}
	defer place.close()
	m, shown := b.ownSM("minhop"), "off"
	if counters {
		m.argv, shown = append(m.argv, "--perfmgr", "--perfmgr_sweep_time_s", "15"), "on"
	}
	place.server.Do(place.begin)
	run, err := place.start(m, "memory", b.keep)
	if err != nil {
		return err
	}
	var up float64
	var last measurement
	if err = place.await(ctx, run, true, new(measurement)); err == nil {
		up, err = peakMemory(run.cmd.Process.Pid)
	}
	if err == nil {
		err = place.occupy(ctx, run, counters)
	}
	err = errors.Join(err, run.kill(&last), place.awaitFarewell(ctx))
	fmt.Fprintf(b.out, "| %d | %s | %.0f | %.0f | %.2f |\n", countHosts(n), shown, up, last.Memory, last.Memory/up)
	return err
}

// readings is the time in which counters are read several times. The manager keeps the readings of an hour, two of each
// minute whole.
const readings = 40 * time.Second

// occupy has a manager do all that it does in a day.
func (p *benchPlace) occupy(ctx context.Context, run *process, counters bool) error {
	c := ctl.NewClient(filepath.Join(run.dir, controlSocket))
	defer c.Close()
	order := func(path string, query url.Values) error {
		p.server.Do(p.begin)
		if err := c.Post(ctx, path, query, nil); err != nil {
			return err
		}
		return p.settled(ctx, run, isUp)
	}
	for range 2 {
		for _, link := range p.links {
			for _, change := range []func(*fabric.Fabric){
				func(f *fabric.Fabric) { f.LinkDown(link) }, func(f *fabric.Fabric) { f.LinkUp(link) },
			} {
				p.server.Do(func(f *fabric.Fabric) {
					p.begin(f)
					change(f)
				})
				if err := p.settled(ctx, run, isUp); err != nil {
					return err
				}
			}
		}
		if err := order("/v1/reroute", nil); err != nil {
			return err
		}
		if err := order("/v1/sweep", url.Values{"kind": {"heavy"}}); err != nil {
			return err
		}
	}
	if !counters {
		return nil
	}
	select {
	case <-ctx.Done():
		return errors.New("interrupted")
	case <-time.After(readings):
		return nil
	}
}
