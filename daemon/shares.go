package daemon

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"ibsm/conf"
)

// shares keeps the managers of one host apart: each has its own log, dump files, caches,
// control socket and metrics. A store belongs to a port in any case.
type shares struct {
	owner map[[2]string]string // of a kind of thing and its name
}

// of gives a thing to an instance, unless it has an owner, and returns its owner.
func (s shares) of(kind, thing, instance string) (owner string) {
	key := [2]string{kind, thing}
	if s.owner[key] == "" {
		s.owner[key] = instance
	}
	return s.owner[key]
}

// keep takes what they have from all instances but these.
func (s shares) keep(instances map[string]bool) {
	maps.DeleteFunc(s.owner, func(_ [2]string, owner string) bool { return !instances[owner] })
}

// own is what an instance has to be given besides its configuration: what that leaves to
// a default, or shares with an instance before.
func (s shares) own(l *conf.Loaded, name string) (options, env []string, err error) {
	give := func(option, value string) { options = append(options, "--"+option+"="+value) }
	// spare reports whether the instance needs another than it would have.
	spare := func(kind, thing string, chosen bool) bool { return !chosen || s.of(kind, thing, name) != name }

	if path, _, _ := logTarget(l); path != "" && spare("log", path, conf.LogFile.Chosen(l.Config)) {
		dir, base := filepath.Split(path)
		ext := filepath.Ext(base)
		give("log_file", dir+base[:len(base)-len(ext)]+"."+name+ext)
	}
	if dir := dumpDir(l); dir != "" && spare("dump", dir, conf.DumpFilesDir.Chosen(l.Config)) {
		dir = filepath.Join(dir, "opensm."+name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, fmt.Errorf("dump_files_dir: %w", err)
		}
		give("dump_files_dir", dir)
	}
	path, given := controlSocket(l)
	if path != "" && spare("socket", path, given) {
		give("ctl_socket", filepath.Join(filepath.Dir(path), name+".sock"))
	}
	addr := conf.MetricsAddr.In(l.Config)
	for was := addr; addr != "" && s.of("metrics", addr, name) != name; {
		if addr, err = nextAddr(addr); err != nil {
			return nil, nil, fmt.Errorf("metrics_addr %s: %w", was, err)
		}
		give("metrics_addr", addr)
	}
	kind := consoleOf(l)
	for port := uint32(conf.ConsolePort.In(l.Config)); (kind == "loopback" || kind == "socket") && port > 0 && s.of("console", fmt.Sprint(port), name) != name; {
		if port++; port > 0xffff {
			return nil, nil, errors.New("console_port: another instance uses it, and there is no next port")
		}
		give("console-port", fmt.Sprint(port))
	}
	if dir := cacheDir(l); dir != "" {
		env = append(env, "OSM_CACHE_DIR="+filepath.Join(dir, name))
	}
	if l.PIDFile != "" {
		give("pidfile", "") // that is the number of the process that starts them
	}
	return options, env, nil
}

// nextAddr is an address with the next port.
func nextAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil || n == 0 || n == 0xffff {
		return "", errors.New("another instance uses it, and there is no next port")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n+1, 10)), nil
}
