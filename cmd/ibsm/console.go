package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ibsm/conf"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
)

// consoleOf is where OpenSM's console is to be: "off", "local", "loopback" or "socket".
// A run that ends by itself has none, as with OpenSM.
func consoleOf(l *conf.Loaded) string {
	if l.Once || l.DryRun {
		return "off"
	}
	return conf.Console.In(l.Config)
}

// serveConsole serves OpenSM's console where the options want it. Without a socket the
// manager runs all the same. End returns when no client is left.
func (m *managers) serveConsole(ctx context.Context, counters *console.Counters) (end func()) {
	kind := consoleOf(m.conf)
	if kind == "off" {
		return func() {}
	}
	server := &consoleServer{daemon: m.consoleDaemon(), counters: counters, logger: m.logger, readPatience: consoleReadPatience, writePatience: consoleWritePatience}
	if kind == "local" {
		server.daemon.WriteFile = func(name string, text []byte) error { return os.WriteFile(name, text, 0o666) }
		go server.terminal(ctx, os.Stdin, os.Stdout) // reading ends with the process
		return func() {}
	}
	host := "127.0.0.1"
	if kind == "socket" {
		host = ""
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(conf.ConsolePort.In(m.conf.Config))))
	if err != nil {
		m.logger.Error(osmlog.ConsoleFailed(err))
		return func() {}
	}
	m.logger.Info(osmlog.ConsoleListening(listener.Addr().(*net.TCPAddr).Port))
	ctx, cancel := context.WithCancel(ctx)
	var task sync.WaitGroup
	task.Go(func() { server.serve(ctx, listener) })
	return func() {
		cancel()
		task.Wait()
		m.logger.Info(osmlog.ConsoleClosed)
	}
}

// consoleDaemon is what the console knows and does.
func (m *managers) consoleDaemon() *console.Daemon {
	return &console.Daemon{
		Version: fmt.Sprintf("%s (ibsm %s)", peerVersion, version),
		Now:     time.Now,
		View:    m.desk.View, Registry: m.desk.Registry, Names: m.current.names,
		Status: func() console.Status {
			st := m.desk.ConsoleStatus()
			m.current.describe(&st)
			return st
		},
		Config:      func() ([]byte, error) { return m.current.loaded().WriteOpenSM() },
		ModuleLog:   func() (string, []byte, error) { return readModuleLog(m.current.loaded()) },
		LogFlags:    func() uint8 { return uint8(m.current.lines.Flags()) },
		SetLogFlags: func(flags uint8) { m.current.lines.SetFlags(osmlog.Flags(flags)) },
		SetPriority: m.current.setPriority,
		SetSweeping: m.current.setSweeping,
		Do:          m.desk.ConsoleOrder,
		WriteFile:   func(name string, text []byte) error { return writeBelow(dumpDir(m.conf), name, text) },
		Acted:       func(line string) { m.logger.Info("command of the console", "command", line) },
	}
}

// writeBelow writes a file in a folder, and nowhere else: who is at a socket may be
// anybody.
func writeBelow(dir, name string, text []byte) error {
	if dir == "" {
		return errors.New("files are written to dump_files_dir alone, and there is none")
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
		return errors.New("at a socket, files are written to dump_files_dir alone: " + dir)
	}
	return root.WriteFile(name, text, 0o666)
}
