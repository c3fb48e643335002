package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"ibsm/atomicfile"
	"ibsm/conf"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
)

// consoleOf is the configured kind of OpenSM's console: "off", "local", "loopback" or "socket". A run that ends by
// itself has none, as with OpenSM.
func consoleOf(l *conf.Loaded) string {
	if l.Once || l.DryRun {
		return "off"
	}
	return conf.Console.In(l.Config)
}

// serveConsole serves OpenSM's console as configured. If its socket cannot be opened, the manager runs without a
// console.
func (d *daemon) serveConsole(ctx context.Context) {
	kind := consoleOf(d.conf)
	if kind == "off" {
		return
	}
	server := &consoleServer{daemon: d.console(), counters: &d.clients, logger: d.logger,
		readPatience: consoleReadPatience, writePatience: consoleWritePatience}
	if kind == "local" {
		server.daemon.WriteFile = func(name string, text []byte) error { return atomicfile.Write(name, 0o666, text) }
		go server.terminal(ctx, os.Stdin, os.Stdout) // reading ends with the process
		return
	}
	host := "127.0.0.1"
	server.perAddress = console.MaxClients // all clients have this address
	if kind == "socket" {
		host, server.perAddress = "", console.MaxClients/2
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(conf.ConsolePort.In(d.conf.Config))))
	if err != nil {
		d.logger.Error(osmlog.ConsoleFailed(err))
		return
	}
	d.logger.Info(osmlog.ConsoleListening(listener.Addr().(*net.TCPAddr).Port))
	d.tasks.atEnd(func() { d.logger.Info(osmlog.ConsoleClosed) })
	d.tasks.run(ctx, func(ctx context.Context) { server.serve(ctx, listener) })
}

// console is what the console shows and does.
func (d *daemon) console() *console.Daemon {
	return &console.Daemon{
		Version: fmt.Sprintf("%s (ibsm %s)", conf.OpenSM, conf.Version),
		Now:     time.Now,
		View:    d.control.View, Registry: d.control.Registry, Names: d.current.names,
		Status: func() console.Status {
			st := d.control.ConsoleStatus()
			d.current.describe(&st)
			return st
		},
		PerfMgr: d.counters.console(),
		Config:  func() ([]byte, error) { return d.current.own().WriteOpenSM() },
		ModuleLog: func() (string, []byte, error) {
			m := readModuleLog(d.current.own())
			return m.path, m.text, m.err
		},
		LogFlags:    func() uint8 { return uint8(d.lines.Flags()) },
		SetLogFlags: func(flags uint8) { d.lines.SetFlags(osmlog.Flags(flags)) },
		SetPriority: d.current.setPriority,
		SetSweeping: d.current.setSweeping,
		Do:          d.control.ConsoleOrder,
		WriteFile:   func(name string, text []byte) error { return writeBelow(dumpDir(d.conf), name, text) },
		Acted:       func(line string) { d.logger.Info("console command", "command", line) },
	}
}

// writeBelow writes a file in a folder, and nowhere else: anybody may be at a socket.
func writeBelow(dir, name string, text []byte) error {
	if dir == "" {
		return errors.New("files can only be written to dump_files_dir, which is not set")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(dir, name); err != nil {
			return err
		}
	}
	if !filepath.IsLocal(name) {
		return errors.New("a client at a socket can only write files to dump_files_dir:  " + dir)
	}
	return root.WriteFile(name, text, 0o666)
}
