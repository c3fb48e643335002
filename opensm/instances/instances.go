package instances

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
)

// Instance is one manager.
type Instance struct {
	Name     string   // distinguishes it from others on this host; "" for the only one
	Config   string   // the file of its configuration; "" for the usual one
	GUID     mad.GUID // of its port; 0 where Device or the configuration says it
	Device   string   // the device or the interface of its port; "" where GUID or the configuration says it
	Priority string   // 0 to 15; "" where the configuration says it
	Prefix   string   // the subnet prefix; "" where the configuration says it
	Options  []string // further ones of the command line
	Source   diag.Position
}

// Args are the instance's options.
func (i *Instance) Args() (args []string) {
	args = append(args, i.Options...)
	if i.Config != "" {
		args = append(args, "--config="+i.Config)
	}
	if i.Device != "" {
		args = append(args, "--guid="+i.Device)
	}
	if i.GUID != 0 {
		args = append(args, "--guid="+i.GUID.String())
	}
	if i.Prefix != "" {
		args = append(args, "--subnet_prefix="+i.Prefix)
	}
	if i.Priority != "" {
		args = append(args, "--priority="+i.Priority)
	}
	return args
}

// OwnLog reports whether the instance has a log of its own also where it is the only one of
// its host, as Debian's units have it. OpenSM's launcher for RHEL leaves the log to the configuration.
func (i *Instance) OwnLog() bool { return i.Source.File == "" || i.Source.File == "/"+debian }

// Plan is the subnet managers configured for a host.
type Plan struct {
	Instances []Instance
	All       bool      // not Instances, but one for each InfiniBand port
	Wrong     diag.List // what is passed over, and why
}

// Limits of what is read.
const (
	maxFile      = 1 << 20 // bytes
	maxInstances = 256     // more ports than a host has
)

// Files that are read, below the root.
var (
	configDirs = []string{"etc/opensm", "etc/rdma"}
	sysconfig  = "etc/sysconfig/opensm"
	debian     = "etc/default/opensm"
)

// Read reads the files below root, the root folder of the host. The first of these
// decides, and the others are ignored: configuration files that end in a number, one
// instance each; GUIDS and PRIORITY of /etc/sysconfig/opensm; PORTS of
// /etc/default/opensm. Without any there is one instance with the usual configuration.
//
// Errors are ignored and reported in Plan.Wrong. A file that says which ports to
// manage, but cannot be understood, is no reason to guess: there may be no instance.
func Read(root fs.FS) (p Plan) {
	if p.numbered(root); len(p.Instances) > 0 || len(p.Wrong) > 0 {
		return p
	}
	var options []string
	if set, ok := p.settings(root, sysconfig); ok {
		options = strings.Fields(set["OPTIONS"].value)
		if p.listed(set["GUIDS"], options) {
			p.prioritize(set["PRIORITY"])
			return p
		}
		if p.plain(options); set["PRIORITY"].value != "" {
			p.prioritize(set["PRIORITY"])
		}
	} else if len(p.Wrong) > 0 {
		return p
	}
	set, ok := p.settings(root, debian)
	switch ports := set["PORTS"]; {
	case !ok && len(p.Wrong) > 0, strings.EqualFold(ports.value, "NONE"):
		p.Instances = nil
	case strings.EqualFold(ports.value, "ALL"):
		p.Instances, p.All = nil, true
	case ports.value != "" || ports.unknown:
		p.Instances = nil
		p.listed(ports, options)
	case len(p.Instances) == 0:
		p.plain(nil)
	}
	return p
}

// plain has one instance without a name.
func (p *Plan) plain(options []string) { p.Instances = []Instance{{Options: options}} }

// numbered finds opensm.conf.1, opensm.conf.2 and so on. Backups of editors and package
// managers end in something else.
func (p *Plan) numbered(root fs.FS) {
	for _, dir := range configDirs {
		entries, err := fs.ReadDir(root, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Wrong.Add(diag.Position{File: "/" + dir}, "cannot be read: %v", reason(err))
		}
		var numbers []int
		for _, e := range entries {
			digits, found := strings.CutPrefix(e.Name(), "opensm.conf.")
			if n, err := strconv.Atoi(digits); found && err == nil && strconv.Itoa(n) == digits && n >= 0 {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		for _, n := range numbers {
			p.file(root, path.Join(dir, fmt.Sprintf("opensm.conf.%d", n)), strconv.Itoa(n))
		}
	}
}

// file adds the instance of a numbered file.
func (p *Plan) file(root fs.FS, name, number string) {
	at := diag.Position{File: "/" + name}
	same := func(i Instance) bool { return i.Name == number }
	info, err := fs.Stat(root, name)
	switch i := slices.IndexFunc(p.Instances, same); {
	case err != nil:
		p.Wrong.Add(at, "cannot be read: %v", reason(err))
	case info.IsDir():
		p.Wrong.Add(at, "is a folder, not the configuration of an instance")
	case i >= 0:
		p.Wrong.Add(at, "is ignored: instance %s has the configuration %s", number, p.Instances[i].Config)
	case len(p.Instances) == maxInstances:
		p.Wrong.Add(at, "is ignored: there are more than %d instances", maxInstances)
	default:
		p.Instances = append(p.Instances, Instance{Name: number, Config: "/" + name, Source: at})
	}
}

// settings reads a file of settings. ok is false where there is none or it cannot be
// read; in the second case p.Wrong says so.
func (p *Plan) settings(root fs.FS, name string) (set map[string]setting, ok bool) {
	info, err := fs.Stat(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	var src []byte
	switch {
	case err != nil:
	case info.Mode()&fs.ModeNamedPipe != 0:
		err = errors.New("it is a FIFO: make it a regular file")
	default:
		src, err = readUpTo(root, name, maxFile)
	}
	if err != nil {
		p.Wrong.Add(diag.Position{File: "/" + name}, "cannot be read: %v", reason(err))
		return nil, false
	}
	set, wrong := parse("/"+name, src)
	p.Wrong = append(p.Wrong, wrong...)
	return set, true
}

// readUpTo reads a file of at most so many bytes.
func readUpTo(root fs.FS, name string, most int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(src)) > most {
		err = fmt.Errorf("larger than %d bytes", most)
	}
	return src, err
}

// listed adds an instance for each port of a list, by its GUID, device or interface, and reports whether there is one.
func (p *Plan) listed(list setting, options []string) bool {
	if list.unknown {
		return true
	}
	words := strings.Fields(list.value)
	for i, word := range words {
		guid, err := ParseGUID(word)
		name, device := guid.String(), ""
		if err != nil && conf.IsHCAName(word) {
			name, device, err = strings.ReplaceAll(word, "/", ":"), word, nil
		}
		same := func(i Instance) bool { return i.Name == name }
		switch {
		case err != nil:
			p.Wrong.Add(list.at, "%s: %q is ignored: %v", list.key, word, err)
		case slices.ContainsFunc(p.Instances, same):
			p.Wrong.Add(list.at, "%s: %s is listed twice", list.key, word)
		case len(p.Instances) == maxInstances:
			p.Wrong.Add(list.at, "%s: more than %d ports; the rest is ignored", list.key, maxInstances)
			return true
		default:
			instance := Instance{Name: name, GUID: guid, Device: device, Options: options, Source: list.at}
			if list.key == "GUIDS" {
				instance.Prefix = redHatPrefix(i)
			}
			p.Instances = append(p.Instances, instance)
		}
	}
	return len(words) > 0
}

// redHatPrefix is the subnet prefix that Red Hat's launcher passes to the nth OpenSM of GUIDS, from 0 on. Its last two
// digits are n in decimal.
func redHatPrefix(n int) string { return fmt.Sprintf("0xfe800000000000%02d", n%100) }

// ParseGUID reads the GUID of a port, with or without 0x before its digits.
func ParseGUID(word string) (mad.GUID, error) {
	digits := strings.TrimPrefix(strings.ToLower(word), "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || n == 0 {
		return 0, errors.New(
			"expected the GUID of a port, such as 0x0002c9030002fce9, or its device or interface, such as mlx5_0:1 or ib0; ibstat lists them")
	}
	return mad.GUID(n), nil
}

// prioritize gives all instances a priority.
func (p *Plan) prioritize(priority setting) {
	if priority.value == "" {
		return
	}
	if n, err := strconv.ParseUint(priority.value, 0, 8); err != nil || n > 15 {
		p.Wrong.Add(priority.at, "%s: %q is ignored: expected 0 to 15", priority.key, priority.value)
		return
	}
	for i := range p.Instances {
		p.Instances[i].Priority = priority.value
	}
}

// reason is an error without the name of the file, which stands before it.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Value is the value of a key in a file of settings such as /etc/default/ibsm, "" where it has none.
func Value(root fs.FS, name, key string) string {
	var p Plan
	set, _ := p.settings(root, name)
	return set[key].value
}
