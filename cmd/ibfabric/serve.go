package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	stdnet "net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/sim/playback"
	"ibsm/topo/net"
)

func newServe() *cobra.Command {
	c := &cobra.Command{Use: "serve SPEC|FILE [OPTION]...",
		Short: "simulate a fabric for opensm, the diags and other clients of ibsim's protocol", Args: cli.Args(1, 1),
		Long: `
Simulates a fabric and serves ibsim's socket protocol. Programs that use libibumad run on it
with ibsim-run: opensm, osmtest, infiniband-diags.

SPEC is a generator such as fattree:k=8 (see ibfabric gen --help); FILE has the format
of ibnetdiscover; capture:FILE simulates the devices recorded by ibsm --record, ibsmctl capture
or ibdump. Simulated devices power up with the register values of real hardware of their speed;
devices=ideal uses the values of the specification. A program attaches to the node that SIM_HOST
gives by ID or description, or else to the first node of the fabric.

It reads commands from standard input, one per line. Each answer ends with a line "ok" or
"error: REASON", which scripts can wait for. The end of standard input does not stop the
server; quit, SIGINT and SIGTERM do.

` + commandHelp(), Example: `  ibfabric serve fattree:k=8 --sock mine --control /tmp/mine.ctl &
  export IBSIM_SOCKNAME=mine
  SIM_HOST='host-001 mlx5_0' ibsim-run opensm -f stdout
  echo 'link down "leaf-01" 1' | nc -NU /tmp/mine.ctl  # netcat-openbsd's
`}
	f := c.Flags()
	sock := f.String("sock", "",
		"`NAME` on which the local socket names are based, as in IBSIM_SOCKNAME (default: sim)")
	udp := f.String("udp", "",
		"serve UDP on `[HOST:]PORT` instead, as ibsim -r does; data ports follow PORT (HOST: 127.0.0.1; use 0.0.0.0 for all addresses)")
	latency := f.Duration("latency", 0, "one-way latency of the fabric, a `TIME` such as 5us")
	loss := f.String("loss", "0", "packet loss `RATE`, such as 0.01 or 1%")
	seed := f.Uint64("seed", 1, "seed `N` of all random numbers")
	control := f.String("control", "", "also accept commands on a unix socket at `PATH`; its mode is 0600")
	devices := f.String("devices", "",
		"`PROFILE` of the devices of FILE: power-up values of real devices (real) or of the specification (ideal) (default: real; for a SPEC use its key devices)")
	additional := f.Bool("additional-counters", false,
		"give switches the additional counters of PortCountersExtended; Debian's tools misprint some of them")
	clients := f.Int("clients", 256, "maximum number `N` of clients, at most 1024")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *sock != "" && *udp != "":
			return cli.UsageError("--sock and --udp exclude each other", "")
		case *devices != "" && net.IsSpec(args[0]):
			return cli.UsageError("--devices applies only to a FILE", "write "+args[0]+" with devices="+*devices)
		case *latency < 0:
			return cli.UsageError(fmt.Sprintf("--latency %v: cannot be negative", *latency), "")
		}
		rate, err := readRate(*loss)
		if err != nil {
			return cli.UsageError("--loss "+err.Error(), "")
		}
		setup := fabric.Config{Seed: *seed, Latency: *latency, Faults: fabric.Faults{Loss: rate}}
		served, end, err := makeFabric(args[0], *devices, setup, *additional, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer end()
		cfg := ibsim.ServerConfig{SockName: *sock, Listen: listenAddress(*udp), MaxClients: *clients}
		cfg.Fabric = served
		server, err := ibsim.Listen(cfg)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return (&console{server: server, quit: stop}).run(ctx, *control, cmd.OutOrStdout(), describe(args[0], cfg))
	}
	return c
}

// makeFabric makes the fabric of a SPEC or FILE. Of a capture it prints what that holds, and end how its devices have
// answered.
func makeFabric(spec, devices string, cfg fabric.Config, additional bool, stderr io.Writer) (f *fabric.Fabric,
	end func(), err error) {
	if playback.IsSpec(spec) {
		d, err := playback.Load(spec)
		if err != nil {
			return nil, nil, cli.UsageError(err.Error(), "")
		}
		fmt.Fprintf(stderr, "%s: %v\n", spec, d)
		cfg.Caps = deviceCaps(d.Net, additional)
		return d.Fabric(cfg), func() { fmt.Fprintf(stderr, "%s: %s\n", spec, d.Answered()) }, nil
	}
	n, err := loadNet(spec)
	if err != nil {
		return nil, nil, err
	}
	if devices != "" {
		if n.Profile, err = net.ParseProfile(devices); err != nil {
			return nil, nil, cli.UsageError(fmt.Sprintf("--devices %s: %v", devices, err), "")
		}
	}
	cfg.Caps = deviceCaps(n, additional)
	return fabric.New(n, cfg), func() {}, nil
}

// listenAddress completes the address of --udp.
func listenAddress(udp string) string {
	if udp == "" || strings.Contains(udp, ":") {
		return udp
	}
	return "127.0.0.1:" + udp
}

// describe says what is served and how to get there.
func describe(name string, cfg ibsim.ServerConfig) string {
	how := "IBSIM_SOCKNAME=" + cfg.SockName
	if host, port, err := stdnet.SplitHostPort(cfg.Listen); err == nil {
		how = "IBSIM_SERVER_NAME=" + host + " IBSIM_SERVER_PORT=" + port
	} else if cfg.SockName == "" {
		how = "IBSIM_SOCKNAME unset"
	}
	return fmt.Sprintf("serving %s: %d nodes; clients attach with %s", name, cfg.Fabric.NumNodes(), how)
}

// console serves a fabric and takes commands, one at a time.
type console struct {
	server  *ibsim.Server
	traffic traffic
	quit    func()
}

// order is a command of a reader.
type order struct {
	line string
	done chan<- string // gets the answer, with its last line
}

// run serves until the context ends. Readers of commands end with their input, the
// one of standard input with the process.
func (c *console) run(ctx context.Context, path string, stdout io.Writer, greeting string) error {
	orders := c.obey(ctx)
	if path != "" {
		l, err := listenCommands(path)
		if err != nil {
			c.server.Close()
			return err
		}
		defer l.Close() // removes the file
		go accept(l, orders)
	}
	fmt.Fprintln(stdout, greeting)
	go read(os.Stdin, stdout, orders)
	return c.server.Run(ctx)
}

// listenCommands makes the socket for commands, that its owner alone can use.
func listenCommands(path string) (stdnet.Listener, error) {
	if old, err := os.Lstat(path); err == nil && old.Mode().Type() == os.ModeSocket {
		if conn, err := stdnet.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, fmt.Errorf("control socket %s: a server listens there", path)
		}
		os.Remove(path) // of a server that was killed
	}
	mask := syscall.Umask(0o177)
	l, err := stdnet.Listen("unix", path)
	syscall.Umask(mask)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

func accept(l stdnet.Listener, orders chan<- order) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		go func() {
			defer conn.Close()
			read(conn, conn, orders)
		}()
	}
}

// maxLine bounds a command in bytes.
const maxLine = 4096

// obey begins to obey what comes in the channel, until the context ends.
func (c *console) obey(ctx context.Context) chan<- order {
	orders := make(chan order)
	go func() {
		for {
			select {
			case o := <-orders:
				o.done <- c.answer(o.line)
			case <-ctx.Done():
				return
			}
		}
	}()
	return orders
}

// answer obeys a command, and returns what is said, with the line that ends it.
func (c *console) answer(line string) string {
	answer, err := c.command(line)
	if err != nil {
		return answer + "error: " + err.Error() + "\n"
	}
	return answer + "ok\n"
}

// read reads commands and writes their answers.
func read(in io.Reader, out io.Writer, orders chan<- order) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	done := make(chan string)
	for lines.Scan() {
		orders <- order{lines.Text(), done}
		if _, err := io.WriteString(out, <-done); err != nil {
			return
		}
	}
	if lines.Err() == bufio.ErrTooLong {
		fmt.Fprintf(out, "error: line longer than %d bytes\n", maxLine)
	}
}
