package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ibsm/topo/net"
)

// onIbsim is the kind of runs on Debian's ibsim, a server that neither manager's authors
// wrote for this comparison.
const onIbsim = "cold start on ibsim"

// ibsimPlace is a fabric that Debian's ibsim serves.
type ibsimPlace struct {
	dir  string
	cmd  *exec.Cmd
	sock string
	host string // node that managers attach to
}

// newIbsimPlace starts ibsim on a fabric that has just been powered up. It returns when
// clients can attach.
func newIbsimPlace(n *net.Net) (p *ibsimPlace, err error) {
	p = &ibsimPlace{sock: fmt.Sprintf("ibfabric-ibsim-%d", os.Getpid()), host: firstHost(n)}
	if p.dir, err = os.MkdirTemp("", "ibfabric-ibsim-"); err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, "fabric.net")
	if err = writeNet(file, n); err == nil {
		err = p.serve(file)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func writeNet(file string, n *net.Net) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(net.Write(f, n), f.Close())
}

func (p *ibsimPlace) serve(file string) error {
	p.cmd = exec.Command("ibsim", "-s", "-n", "-N", "60000", "-S", "5000", "-P", "500000", "-L", "49151", file)
	p.cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+p.sock)
	said, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("ibsim: %w", err)
		}
		if strings.Contains(line, "MaxMcastCap") { // the last line before it serves
			break
		}
	}
	go io.Copy(io.Discard, lines)
	return nil
}

func (p *ibsimPlace) close() {
	if p.cmd != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
	os.RemoveAll(p.dir)
}

// run measures a cold start until the manager says SUBNET UP.
func (p *ibsimPlace) run(ctx context.Context, m manager, keep string) (r measurement, err error) {
	r = measurement{Manager: m.name, Kind: onIbsim}
	began := time.Now()
	run, err := startManager(m, p.sock, p.host, onIbsim, keep)
	if err != nil {
		return r, err
	}
	err = run.awaitUp(ctx)
	r.Wall = seconds(time.Since(began))
	return r, errors.Join(err, run.kill(&r))
}

// awaitUp waits until the manager says SUBNET UP.
func (run *process) awaitUp(ctx context.Context) error {
	return run.until(ctx, func() bool { return saysUp(run.log) })
}
