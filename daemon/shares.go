package daemon

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"ibsm/conf"
	"ibsm/opensm/instances"
)

// shares keeps the managers of one host apart: each has its own log, dump files, caches,
// control socket and metrics. A store belongs to a port in any case. The only manager of a host
// has the dump files and caches where OpenSM has them.
type shares struct {
	owner map[[2]string]string // of a kind of thing and its name
	dumps map[string]int       // instances whose configuration names the same folder for dump files
	ports []string             // of all instances; 0 where the configuration does not say
}

// severalMark is set for a manager where others run on this host: the GUIDs of all their ports. Its
// caches are in a folder of its own.
const severalMark = "IBSM_INSTANCES"

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

// count takes the ports of all instances, and where their dump files go.
func (s *shares) count(read []instanceRead) {
	s.dumps, s.ports = map[string]int{}, nil
	for _, r := range read {
		s.dumps[dumpDir(r.conf)]++
		s.ports = append(s.ports, r.child.port.String())
	}
}

// own is what an instance has to be given besides its configuration: what that leaves to
// a default, or shares with another.
type own struct {
	options, env []string
	dump         string // the folder of its dump files, where it has been given one
}

func (o *own) give(option, value string) { o.options = append(o.options, "--"+option+"="+value) }

// own is what an instance needs for itself. Unless it is one of several, it has OpenSM's
// own paths.
func (s shares) own(l *conf.Loaded, i *instances.Instance, several bool) (o own, err error) {
	name := i.Name
	// spare reports whether the instance needs another than it would have.
	spare := func(kind, thing string, chosen bool) bool { return !chosen || s.of(kind, thing, name) != name }

	if path, _, _ := logTarget(l); path != "" && (several || i.OwnLog()) &&
		spare("log", path, conf.LogFile.Chosen(l.Config)) {
		dir, base := filepath.Split(path)
		ext := filepath.Ext(base)
		o.give("log_file", dir+base[:len(base)-len(ext)]+"."+name+ext)
	}
	if dir := dumpDir(l); several && dir != "" && (!conf.DumpFilesDir.Chosen(l.Config) || s.dumps[dir] > 1) {
		o.dump = filepath.Join(dir, "opensm."+name)
		o.give("dump_files_dir", o.dump)
	}
	if several {
		o.env = []string{severalMark + "=" + strings.Join(s.ports, ",")}
	}
	path, given := controlSocket(l)
	if path != "" && spare("socket", path, given) {
		o.give("ctl_socket", filepath.Join(filepath.Dir(path), name+".sock"))
	}
	if err := s.addrs(&o, l, name); err != nil {
		return own{}, err
	}
	kind := consoleOf(l)
	for port := uint32(conf.ConsolePort.In(l.Config)); (kind == "loopback" || kind == "socket") && port > 0 &&
		s.of("console", fmt.Sprint(port), name) != name; {
		if port++; port > 0xffff {
			return own{}, errors.New("console_port: another instance uses it, and no higher port is free")
		}
		o.give("console-port", fmt.Sprint(port))
	}
	if l.PIDFile != "" {
		o.give("pidfile", "") // that is the number of the process that starts them
	}
	return o, nil
}

// addrs gives the instance the next port where it shares a TCP address with another.
func (s shares) addrs(o *own, l *conf.Loaded, instance string) (err error) {
	given := map[string]bool{}
	for _, a := range []struct{ setting, addr string }{{"metrics_addr", conf.MetricsAddr.In(l.Config)},
		{"leader_addr", conf.LeaderAddr.In(l.Config)}, {"api_addr", conf.APIAddr.In(l.Config)}} {
		addr := a.addr
		for addr != "" && (given[addr] || s.of("address", addr, instance) != instance) {
			if addr, err = nextAddr(addr); err != nil {
				return fmt.Errorf("%s %s: %w", a.setting, a.addr, err)
			}
		}
		if addr != a.addr {
			o.give(a.setting, addr)
			given[addr] = true
		}
	}
	return nil
}

// nextAddr is an address with the next port.
func nextAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil || n == 0 || n == 0xffff {
		return "", errors.New("another instance uses it, and no higher port is free")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n+1, 10)), nil
}
