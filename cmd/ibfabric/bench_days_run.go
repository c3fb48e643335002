package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ibsm/sim/baddays"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// baddayRun is what one bad day cost.
type baddayRun struct {
	Manager  string
	Day      string
	Run      int
	Takeover bool
	Silence  float64           // longest time without an answer of the SA, s
	P99      float64           // response time of the SA, ms
	Asked    int               // requests of the host that asks all the time
	Answered int               // of them
	Crowd    int               `json:",omitempty"` // requests of the other hosts
	CrowdP99 float64           `json:",omitempty"` // ms from their first sending
	GivenUp  int               `json:",omitempty"` // of them: unanswered
	Refused  int               `json:",omitempty"`
	SMPs     map[string]uint64 // by method and attribute
	CPU      float64           // s
	Memory   float64           // MB: the peak resident size of the larger manager
	Whole    float64           // s from the end of the day to the last Set, -1 for never
	Check    string            // the first fault that was found at the end; "" for none
}

func (r *baddayRun) name() string {
	if r.Takeover {
		return r.Day + ", takeover"
	}
	return r.Day
}

// Bounds of a bad day.
const (
	linkTraining = 20 * time.Millisecond
	askingLate   = time.Minute // for the answers to all hosts
	wholeLate    = time.Minute
)

// dayRun is a bad day as it is measured.
type dayRun struct {
	place    *benchPlace
	managers []*process
	asker    *baddays.Asker
	course   *baddays.Course
	cpu      []time.Duration // of managers, at the beginning
	killed   time.Duration   // CPU time that a killed manager used
	memory   float64         // of it
}

// day measures a manager on one day.
func (b *benchDays) day(ctx context.Context, n *net.Net, m manager, day baddays.Day, takeover bool) (r baddayRun,
	err error) {
	r = baddayRun{Manager: m.name, Day: day.Name, Takeover: takeover}
	place, err := newBenchPlace(n)
	if err != nil {
		return r, err
	}
	defer place.close()
	d := &dayRun{place: place}
	defer func() {
		for _, run := range d.managers {
			_ = run.kill(new(measurement)) // which reads the memory of one that still runs
		}
		err = errors.Join(err, place.awaitFarewell(ctx))
	}()
	if err := d.start(ctx, n, m, b.keep, r.name(), takeover); err != nil {
		return r, err
	}
	spared := sparedEnds(n)
	place.server.Do(func(f *fabric.Fabric) {
		f.SetTrainTime(linkTraining)
		place.begin(f)
		if d.asker, err = baddays.NewAsker(f, spared[2], spared[1]); err == nil {
			d.course, err = day.Begin(f, spared, 1, b.lasts)
		}
	})
	if err != nil {
		return r, err
	}
	for _, run := range d.managers {
		d.cpu = append(d.cpu, cpuTime(run.cmd.Process.Pid))
	}
	if err := d.measure(ctx, takeover, &r); err != nil {
		return r, err
	}
	if r.Check == "" && b.fabcheck != "" {
		r.Check, err = d.fabcheck(ctx, b.fabcheck, hostAt(n, dayPlaces[2]))
	}
	return r, err
}

// start starts the manager, and a standby where one takes over later.
func (d *dayRun) start(ctx context.Context, n *net.Net, m manager, keep, kind string, takeover bool) error {
	for i, priority := range []string{"9", "3"} {
		if i == 1 && !takeover {
			break
		}
		of := m
		of.argv = slices.Clone(m.argv)
		if at := slices.Index(of.argv, "-s"); at >= 0 { // with sweeps by the clock, as by default
			of.argv = slices.Delete(of.argv, at, at+2)
		}
		of.argv = append(of.argv, "-p", priority)
		run, err := startManager(of, d.place.sock, hostAt(n, dayPlaces[i]), fmt.Sprintf("%s %d", kind, i+1), keep)
		if err != nil {
			return err
		}
		d.managers = append(d.managers, run)
		if i == 0 {
			if err := d.place.await(ctx, run, true, new(measurement)); err != nil {
				return err
			}
		}
	}
	d.place.server.Do(d.place.begin) // a standby needs the time to find the master
	return d.place.settled(ctx, d.managers[0], nil)
}

// measure has the day pass, and waits until the subnet is whole.
func (d *dayRun) measure(ctx context.Context, takeover bool, r *baddayRun) error {
	began := time.Now()
	var calm, looked time.Duration // the fabric's times
	next := began
	for over := false; ; {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		next = pause(next)
		if takeover && time.Since(began) >= d.course.Lasts()/2 {
			takeover = false
			if err := d.killMaster(); err != nil {
				return err
			}
		}
		whole, ended := false, d.ended()
		d.place.server.Do(func(f *fabric.Fabric) {
			d.asker.Step()
			d.course.Step()
			if !over && (d.course.Over() || time.Since(began) > d.course.Lasts()+askingLate) {
				over, calm = true, f.Now()
			}
			quiet := f.Now() - max(d.place.lastSet, calm)
			if over && quiet > benchQuiet && d.asker.IsAnswered() && f.Now()-looked > lookInterval*10 {
				looked = f.Now()
				whole = isUp(f)
			}
			if whole || ended || over && f.Now()-calm > wholeLate {
				d.report(f, whole, calm, r)
				whole = true
			}
		})
		if ended {
			r.Check = "a manager has ended by itself"
		}
		if whole {
			d.used(r)
			return nil
		}
	}
}

// ended reports whether a manager has ended by itself.
func (d *dayRun) ended() bool {
	for _, run := range d.managers {
		select {
		case err := <-run.died:
			run.died <- err // for kill
			return true
		default:
		}
	}
	return false
}

// killMaster ends the master on the spot.
func (d *dayRun) killMaster() (err error) {
	master := d.managers[0]
	d.killed = cpuTime(master.cmd.Process.Pid) - d.cpu[0]
	var m measurement
	err = master.kill(&m)
	d.memory = m.Memory
	d.managers, d.cpu = d.managers[1:], d.cpu[1:]
	return err
}

// report fills in what the fabric knows.
func (d *dayRun) report(f *fabric.Fabric, whole bool, calm time.Duration, r *baddayRun) {
	ms := func(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }
	r.Silence, r.P99 = seconds(d.asker.Longest()), ms(d.asker.Quantile(0.99))
	r.Asked, r.Answered = d.asker.Asked(), d.asker.Answered()
	r.SMPs = countSMPs(f.Stats())
	r.Whole = -1
	if whole {
		r.Whole = seconds(max(d.place.lastSet-calm, 0))
	} else {
		r.Check = "not whole after " + wholeLate.String()
	}
	if lid, shared := f.FirstSharedLID(); shared {
		r.Check = fmt.Sprintf("two ports hold LID %d", lid)
	}
	var took []time.Duration
	for _, o := range d.course.Answers().Kinds {
		r.Crowd += int(o.Asked)
		r.GivenUp += int(o.GivenUp)
		for _, n := range o.Refused {
			r.Refused += int(n)
		}
		took = append(took, o.Took...)
	}
	if len(took) > 0 {
		slices.Sort(took)
		r.CrowdP99 = ms(took[len(took)*99/100])
	}
	d.asker.Close()
	d.course.Close()
}

// used fills in what the managers have used.
func (d *dayRun) used(r *baddayRun) {
	cpu := d.killed
	r.Memory = d.memory
	for i, run := range d.managers {
		memory, err := peakMemory(run.cmd.Process.Pid)
		if err == nil { // else it has ended
			cpu += cpuTime(run.cmd.Process.Pid) - d.cpu[i]
			r.Memory = max(r.Memory, memory)
		}
	}
	r.CPU = seconds(cpu)
}

// fabcheck has the program fabcheck look at the fabric, and returns its findings.
func (d *dayRun) fabcheck(ctx context.Context, program, host string) (findings string, err error) {
	c := exec.CommandContext(ctx, "ibsim-run", program, "--ibsim", "-q", "-v", "-c")
	c.Env = append(os.Environ(), "IBSIM_SOCKNAME="+d.place.sock, "SIM_HOST="+host)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return "", err
	}
	first, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	return "fabcheck: " + cmp.Or(first, exit.Error()), nil
}
