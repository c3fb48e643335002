package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/opensm/migrate"
)

// atEach calls do for each ibsm on this host.
func (r *runner) atEach(do func(*ctl.Client) error) error {
	named := socketOf(r.socket)
	paths, _ := sockets(filepath.Dir(named))
	if paths == nil {
		paths = []string{named}
	}
	for _, path := range paths {
		client := ctl.NewClient(path)
		err := do(client)
		client.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// ibsmUp waits until each ibsm on this host has come to rest, and one is master of a subnet that is up, unless OpenSM
// was a standby.
func (r *runner) ibsmUp(ctx context.Context) error {
	text := ""
	err := r.until(ctx, func() error {
		masters, all := 0, 0
		text = ""
		err := r.atEach(func(c *ctl.Client) error {
			st := &ctl.Status{}
			if err := c.Get(ctx, "/v1/status", nil, st); err != nil {
				return err
			}
			all++
			switch {
			case st.State == "MASTER" && st.Sweep != nil && st.Subnet != nil:
				masters++
				text += fmt.Sprintf("%s is MASTER, the subnet is up; ", st.Where)
			case st.State == "STANDBY":
				text += fmt.Sprintf("%s is STANDBY; ", st.Where)
			case st.State == "" && st.Waiting != "" && all > 1:
				text += fmt.Sprintf("%s waits: %s; ", st.Where, st.Waiting)
			default:
				return fmt.Errorf("ibsm is %s, %s %s", st.State, st.Phase, st.Waiting)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case masters == 0 && r.master == "":
			return errors.New("no ibsm on this host is master")
		case all < len(r.managers):
			return fmt.Errorf("%d of %d managers answer", all, len(r.managers))
		}
		return nil
	})
	if err == nil {
		r.say("%s", printable(text[:len(text)-2]))
	}
	return err
}

// askIBSM has LIDs and registrations of ibsm noted.
func (r *runner) askIBSM(ctx context.Context) (err error) {
	r.lids, r.at, err = r.atIBSM(ctx)
	return err
}

// atIBSM are LIDs and registrations, as each ibsm on this host has them.
func (r *runner) atIBSM(ctx context.Context) (migrate.LIDs, migrate.Registrations, error) {
	lids, had := migrate.LIDs{}, migrate.Registrations{}
	err := r.atEach(func(c *ctl.Client) error {
		st := &ctl.Status{}
		if err := c.Get(ctx, "/v1/status", nil, st); err != nil || st.State != "MASTER" {
			r.elsewhere(st.SMs)
			return err
		}
		received := map[string]bool{}
		return errors.Join(
			list(ctx, c, "ports", func(p *ctl.Port) {
				if p.LID != 0 && (p.Type != "switch" || p.Num == 0) {
					lids[p.GUID] = p.LID
				}
			}),
			list(ctx, c, "members", func(m *ctl.Member) {
				if m.Receives() {
					had.AddMember(m.MGID, m.Port)
					received[m.MGID] = true
				}
			}),
			list(ctx, c, "groups", func(g *ctl.Group) {
				if g.WellKnown || received[g.MGID] {
					had.AddGroup(g.MGID, g.MLID)
				}
			}),
			list(ctx, c, "services", func(s *ctl.Service) { had.AddService(s.ID, s.GID) }),
		)
	})
	return lids, had, err
}

// list calls each with the rows of a list of a manager.
func list[T any](ctx context.Context, c *ctl.Client, name string, each func(*T)) error {
	return ctl.All(ctx, c, http.MethodGet, "/v1/"+name, nil, func(row *T) error {
		each(row)
		return nil
	})
}

// sameAtIBSM compares LIDs and registrations with those of OpenSM.
func (r *runner) sameAtIBSM(ctx context.Context) error {
	lids, has, err := r.atIBSM(ctx)
	if err != nil {
		return err
	}
	lost := r.had.Lost(has)
	if lost = append(r.lids.Moved(lids), lost...); lost != nil && !r.force {
		return fmt.Errorf("the manager runs, but some things have changed: %s", few(lost))
	}
	text := has.String() + ", as before"
	if !r.carried {
		text = "registered so far: " + has.String()
	}
	r.say("%d LIDs unchanged; %s", len(r.lids), text)
	return nil
}

// openSMUp waits until OpenSM has swept as master: then it writes opensm-subnet.lst.
func (r *runner) openSMUp(ctx context.Context, s *migrate.Step) error {
	return r.until(ctx, func() error {
		runs := false
		for _, p := range managers() {
			runs = runs || p.Program == "opensm"
		}
		switch {
		case !runs:
			return errors.New("OpenSM is not running; see journalctl -u opensm -u 'opensm@*'")
		case r.master == "" && modified(s.File).Equal(r.written[s.File]):
			return fmt.Errorf("OpenSM has not written %s, so the subnet is not up; see its log", s.File)
		}
		return nil
	})
}

// sameAtOpenSM compares LIDs and members with those of ibsm.
func (r *runner) sameAtOpenSM(ctx context.Context, s *migrate.Step) error {
	if r.master != "" {
		r.say("OpenSM is a standby here: the master is at port %s", r.master)
		return nil
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		return err
	}
	lids := migrate.ParseSubnet(text)
	if moved := r.lids.Moved(lids); moved != nil {
		return fmt.Errorf("OpenSM runs, but some things have changed: %s", few(moved))
	}
	members, why := r.askMembers(ctx)
	if why != "" {
		r.say("%d LIDs unchanged; members are not compared: %s", len(r.lids), why)
		return nil
	}
	if lost := r.had.Members().Lost(members); lost != nil {
		return fmt.Errorf("OpenSM runs, but some things have changed: %s", few(lost))
	}
	when := "as before"
	if !r.carried {
		when = "so far"
	}
	r.say("%d LIDs unchanged; %d members %s", len(r.lids), len(members), when)
	return nil
}

// askMembers asks the SA for the members of all groups. Why says why it cannot. An SA that does not answer is asked
// again: OpenSM's is busy at first.
func (r *runner) askMembers(ctx context.Context) (members migrate.Registrations, why string) {
	if _, err := exec.LookPath("saquery"); err != nil {
		return nil, "saquery is not installed"
	}
	whole := false
	err := r.until(ctx, func() error {
		out, err := exec.CommandContext(ctx, "saquery", "--smkey", fmt.Sprint(conf.SAKey.In(conf.New())), "-m").Output()
		if err != nil {
			return fmt.Errorf("saquery -m: %w", err)
		}
		members, whole = migrate.ParseMembers(string(out))
		return nil
	})
	switch {
	case err != nil:
		return nil, err.Error()
	case !whole:
		return nil, "the answer of the SA is cut off, as on a simulator"
	}
	return members, ""
}
