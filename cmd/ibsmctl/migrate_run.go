package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/opensm/migrate"
	"ibsm/opensm/sadb"
)

// migratePoll is how often a runner looks whether something has happened.
const migratePoll = 50 * time.Millisecond

// runner carries out the steps of a migration.
type runner struct {
	out      io.Writer
	socket   string
	wait     time.Duration
	force    bool
	managers []migrate.OpenSM

	lids    migrate.LIDs          // of before
	at      migrate.Registrations // of ibsm, on the way back
	had     migrate.Registrations // of files that go from one manager to the next
	carried bool                  // there are such files
	master  string                // the port of a master elsewhere, to which this host has a standby; "" for none
	unread  map[string]bool       // files that OpenSM does not write, because it has not read its settings
	written map[string]time.Time  // when the manager of before wrote the files that the next one writes at SUBNET UP
	number  int                   // of the step
}

// run carries out a plan. If a step fails after one has stopped a manager, the manager of before is started again.
func (r *runner) run(ctx context.Context, plan *migrate.Plan) error {
	r.written, r.unread, r.had = map[string]time.Time{}, map[string]bool{}, migrate.Registrations{}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.Kind == migrate.Up && s.File != "" {
			r.written[s.File] = time.Time{}
		}
	}
	if len(plan.Steps) > 0 && plan.Steps[len(plan.Steps)-1].OpenSM {
		if err := r.askIBSM(ctx); err != nil {
			return err
		}
	}
	stopped := false
	for i := range plan.Steps {
		s := &plan.Steps[i]
		r.print(s)
		stopped = stopped || s.Stops()
		err := r.do(ctx, s)
		if err == nil {
			continue
		}
		if !stopped {
			return fmt.Errorf("%w; no manager was stopped", err)
		}
		if s.Kind == migrate.Same {
			return err // the next manager runs
		}
		fmt.Fprintf(r.out, "   failed: %s\n", printable(err.Error()))
		return r.undo(context.WithoutCancel(ctx), plan, err)
	}
	fmt.Fprintln(r.out, "done")
	return nil
}

// undo starts the manager of before again.
func (r *runner) undo(ctx context.Context, plan *migrate.Plan, cause error) error {
	for i := range plan.Undo {
		s := &plan.Undo[i]
		r.print(s)
		if err := r.do(ctx, s); err != nil {
			fmt.Fprintf(r.out, "   failed: %s\n", printable(err.Error()))
		}
	}
	program := "opensm"
	if plan.Steps[len(plan.Steps)-1].OpenSM {
		program = "ibsm"
	}
	err := r.until(ctx, func() error {
		for _, p := range managers() {
			if p.Program == program {
				return nil
			}
		}
		return fmt.Errorf("no process of %s runs", program)
	})
	if err != nil {
		return fmt.Errorf("%w, and the previous manager could not be started again: %v: "+
			"NO SUBNET MANAGER RUNS ON THIS HOST", cause, err)
	}
	return fmt.Errorf("%w; %s, which was master before, was started again", cause, program)
}

func (r *runner) print(s *migrate.Step) {
	r.number++
	printStep(r.out, r.number, s)
}

// say prints what came of a step.
func (r *runner) say(format string, args ...any) {
	fmt.Fprintf(r.out, "   "+format+"\n", args...)
}

// do carries out one step.
func (r *runner) do(ctx context.Context, s *migrate.Step) error {
	switch s.Kind {
	case migrate.EditFile:
		return r.edit(s)
	case migrate.SetAside:
		return os.Rename(s.File, s.Aside)
	case migrate.Dump:
		return r.dump(ctx, s)
	case migrate.Compare:
		return r.compare(ctx, s)
	case migrate.Run:
		return command(ctx, s.Argv)
	case migrate.Reload:
		return r.atEach(func(c *ctl.Client) error {
			return c.Post(ctx, "/v1/reload", nil, &ctl.Reloaded{})
		})
	case migrate.Restart:
		return r.restart(&s.Process)
	case migrate.Gone:
		return r.gone(ctx, s)
	case migrate.Dumped:
		return r.dumped(s)
	case migrate.Up:
		if s.OpenSM {
			return r.openSMUp(ctx, s)
		}
		return r.ibsmUp(ctx)
	case migrate.Same:
		if s.OpenSM {
			return r.sameAtOpenSM(ctx, s)
		}
		return r.sameAtIBSM(ctx)
	}
	return fmt.Errorf("unknown step %d", s.Kind)
}

// command runs a command. An error has what it printed.
func command(ctx context.Context, argv []string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", shown(argv), err, bytes.TrimSpace(out))
	}
	return nil
}

// restart starts a process that was started by hand, with its arguments in its folder. It stays when we end. Whoever
// started it may have done so again already.
func (r *runner) restart(p *migrate.Process) error {
	for _, m := range managers() {
		if m.Program == p.Program && slices.Equal(m.Args, p.Args) {
			r.say("process %d runs already", m.PID)
			return nil
		}
	}
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Dir, cmd.SysProcAttr = p.Dir, &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), p.Env...)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// edit replaces a file, which keeps its owner and mode, and leaves the one of before beside it.
func (r *runner) edit(s *migrate.Step) error {
	mode := os.FileMode(0o644)
	if s.Before == nil {
		if err := os.MkdirAll(filepath.Dir(s.File), 0o755); err != nil {
			return err
		}
		r.say("to undo it: rm %s", s.File)
		return atomicfile.Write(s.File, mode, s.Content)
	}
	info, err := os.Stat(s.File)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(s.File)
	if err == nil && !bytes.Equal(now, s.Before) {
		err = fmt.Errorf("%s has changed meanwhile: start again", s.File)
	}
	if err != nil {
		return err
	}
	former := s.File + ".before-ibsm"
	for _, f := range []struct {
		name string
		text []byte
	}{{former, s.Before}, {s.File, s.Content}} {
		if err := atomicfile.Write(f.name, info.Mode().Perm(), f.text); err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := errors.Join(os.Chown(f.name, int(st.Uid), int(st.Gid)),
				os.Chmod(f.name, info.Mode().Perm())); err != nil {
				return err
			}
		}
	}
	r.say("to undo it: mv %s %s", former, s.File)
	return nil
}

// until repeats a look until it returns no error. When the time is over it returns the last error.
func (r *runner) until(ctx context.Context, look func() error) error {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	tick := time.NewTicker(migratePoll)
	defer tick.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", r.wait, err)
		case <-tick.C:
		}
	}
}

// modified is when a file was written; the zero time for none.
func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// gone waits until no process of the manager of before is left.
func (r *runner) gone(ctx context.Context, s *migrate.Step) error {
	program := "opensm"
	if s.OpenSM {
		program = "ibsm"
	}
	err := r.until(ctx, func() error {
		for _, p := range managers() {
			if p.Program == program {
				return fmt.Errorf("process %d still runs, or was started again: %s", p.PID, shown(p.Args))
			}
		}
		return nil
	})
	for file := range r.written {
		r.written[file] = modified(file)
	}
	return err
}

// readRegistrations reads a file of registrations. One with an error is not whole.
func readRegistrations(file string) (migrate.Registrations, error) {
	text, err := readUpTo(file, maxImport+1)
	if err != nil {
		return nil, err
	}
	reg, found := sadb.Read(file, text)
	if err := found.Err(); err != nil {
		return nil, err
	}
	return migrate.Of(reg), nil
}

// dump has OpenSM write its registrations. It writes them at the end of a heavy sweep, if they have changed since it
// wrote or read them last, and before that opensm-subnet.lst, always. When that file was written twice, the first of
// these sweeps is over.
func (r *runner) dump(ctx context.Context, s *migrate.Step) error {
	m := s.Manager
	before := modified(m.SADump)
	if r.master != "" {
		r.say("OpenSM is a standby here, and has no registrations: the master is at port %s", r.master)
		return r.without(m)
	}
	for range 2 {
		swept := modified(m.SubnetAt)
		if err := syscall.Kill(m.PID, syscall.SIGHUP); err != nil {
			return fmt.Errorf("process %d: %w", m.PID, err)
		}
		err := r.until(ctx, func() error {
			if modified(m.SubnetAt).Equal(swept) && modified(m.SADump).Equal(before) {
				return fmt.Errorf("OpenSM has not swept: it has not written %s. Check in its log whether it is master",
					m.SubnetAt)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !modified(m.SADump).Equal(before) {
			break
		}
	}
	if modified(m.SADump).Equal(before) && !m.Wrote(before, modified(m.Config)) {
		r.say("OpenSM has swept but not written the file, because it was started before %s existed", m.Config)
		r.say("ibsm asks the hosts to register again when it takes over")
		return r.without(m)
	}
	had, err := readRegistrations(m.SADump)
	if err != nil {
		return err
	}
	r.say("%s: %v", m.SADump, had)
	return nil
}

// elsewhere notes a master that is none of this host's managers.
func (r *runner) elsewhere(managers []ctl.SM) {
	for _, sm := range managers {
		own := slices.ContainsFunc(r.managers, func(m migrate.OpenSM) bool { return m.GUID.String() == sm.GUID })
		if sm.State == "MASTER" && !own {
			r.master = sm.GUID
		}
	}
}

// without goes on without the registrations of a manager: a file of an earlier time must not be read.
func (r *runner) without(m *migrate.OpenSM) error {
	r.unread[m.SADump] = true
	if modified(m.SADump).IsZero() {
		return nil
	}
	r.say("mv %s %s", m.SADump, m.SADump+".old")
	return os.Rename(m.SADump, m.SADump+".old")
}

// compare computes what ibsm would change. It may not move what traffic uses.
func (r *runner) compare(ctx context.Context, s *migrate.Step) error {
	dry, err := dryRun(ctx, s.Argv)
	if err != nil {
		return err
	}
	if r.lids == nil {
		r.lids = migrate.LIDs{}
	}
	for port, lid := range dry.LIDs {
		r.lids[port] = lid
	}
	r.elsewhere(dry.SMs)
	for _, line := range dryRunText(dry) {
		r.say("%s", printable(line))
	}
	if moves(dry) && !r.force {
		return cli.WithHint(errors.New("ibsm would change LIDs, routes or P_Key indexes in use"),
			"ibsm --dry-run shows each change; accept them with --force")
	}
	return nil
}

// dryRun runs ibsm --dry-run --json.
func dryRun(ctx context.Context, argv []string) (*ctl.DryRun, error) {
	dry := &ctl.DryRun{}
	complaints, err := runJSON(ctx, argv, dry)
	if err != nil {
		return nil, err
	}
	dry.Warnings = append(dry.Warnings, strings.FieldsFunc(complaints, func(c rune) bool { return c == '\n' })...)
	return dry, nil
}

// moves reports whether something moves that traffic uses.
func moves(d *ctl.DryRun) bool {
	return len(d.Moves.LIDs) > 0 || d.Moves.Entries > 0 || d.Moves.PKeys > 0
}

// dryRunText is what a takeover would change, in lines.
func dryRunText(d *ctl.DryRun) (lines []string) {
	lines = append(lines, fmt.Sprintf("%d nodes (%d switches); routes: %s", d.Nodes, d.Switches, d.Routes),
		fmt.Sprintf("would change: %d LIDs, %d forwarding table entries, %d P_Key indexes; "+
			"would write: %d SLtoVLMappingTables",
			len(d.Moves.LIDs), d.Moves.Entries, d.Moves.PKeys, d.Moves.Lanes))
	for i, m := range d.Moves.LIDs {
		if i == 8 {
			lines = append(lines, fmt.Sprintf("and %d more", len(d.Moves.LIDs)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("port %s would get LID %d, it has %d", m.Port, m.Now, m.Was))
	}
	for _, sm := range d.SMs {
		lines = append(lines, fmt.Sprintf("another subnet manager: port %s, priority %d, %s", sm.GUID, sm.Priority,
			sm.State))
	}
	return append(lines, d.Warnings...)
}

// dumped checks the registrations that a manager has left.
func (r *runner) dumped(s *migrate.Step) error {
	left, err := readRegistrations(s.File)
	switch {
	case errors.Is(err, os.ErrNotExist) && (r.unread[s.File] || r.master != ""):
		return nil
	case err != nil:
		return err
	}
	if s.OpenSM { // which reads what ibsm has left
		if lost := r.at.Lost(left); lost != nil {
			return fmt.Errorf("%s, which OpenSM reads, does not contain all registrations of ibsm: %s", s.File,
				few(lost))
		}
	}
	r.had.Add(left)
	r.carried = true
	r.say("%s: %v", s.File, left)
	return nil
}

// few is the beginning of a list.
func few(list []string) string {
	const most = 4
	if len(list) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(list[:most], "; "), len(list)-most)
	}
	return strings.Join(list, "; ")
}
