package daemon

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/mad/umad"
	"ibsm/opensm/instances"
)

// launcher starts the managers that a host runs: those of --all-ports, or those
// that the files of OpenSM's packages name.
type launcher struct {
	root           string       // the root folder, "/" but in tests
	program        string       // path of this program
	given          *conf.Loaded // the command line, without any file
	stdout, stderr io.Writer
	said           map[string]bool // what was printed of ports and files
	shares         shares
	plan           instances.Plan
	seen           []instances.Instance // the ports of --all-ports: one that goes away comes back
	wanted         []child              // as found last
	single         string               // the instance of --instance, which alone this process runs
}

// Launch runs the managers that the options --all-ports, --launch and --instance name, until
// they end, and returns the exit status. A single one is run by here, with its options, in
// this process.
func Launch(args []string, stdout, stderr io.Writer, here func(options []string) int) int {
	program, err := os.Executable()
	if err != nil {
		return ExitStatus(err, stderr)
	}
	return newLauncher(program, "/", args, stdout, stderr).launch(here)
}

// newLauncher is one for a command line. What is wrong with a file is for the instances
// that read it.
func newLauncher(program, root string, args []string, stdout, stderr io.Writer) *launcher {
	empty := conf.Environment{
		Getenv:   func(string) string { return "" },
		ReadFile: func(string) ([]byte, error) { return nil, nil },
	}
	return &launcher{root: root, program: program, given: conf.Load(args, empty), stdout: stdout, stderr: stderr,
		said: map[string]bool{}, shares: shares{owner: map[[2]string]string{}}}
}

// launch runs the managers until they end, and returns the exit status. A single one
// is run by here, with its options, in this process.
func (la *launcher) launch(here func(options []string) int) int {
	l := la.given
	if l.AllPorts && (l.Launch || l.Instance != "") || l.Launch && l.Instance != "" {
		la.complain("error: only one of --all-ports, --launch and --instance may be given")
		return ExitUsage
	}
	if l.Record != "" && l.Instance == "" {
		la.complain("error: --record records a single manager: use it with --guid or --instance")
		return ExitUsage
	}
	if status := Judge(l, la.stderr); status != 0 {
		return status
	}
	if la.read(); l.Instance != "" {
		return la.one(here)
	}
	switch plan := la.plan; {
	case plan.All:
	case len(plan.Instances) == 1 && plan.Instances[0].Name == "":
		return here(la.options(plan.Instances[0]))
	case len(plan.Instances) == 0 && len(plan.Wrong) > 0:
		return ExitFailed
	case len(plan.Instances) == 0:
		fmt.Fprintln(la.stdout, "ibsm: the files configure no manager for this host")
		return 0
	case len(la.find(false)) == 0:
		return ExitFailed
	}
	return la.supervise()
}

// read finds out which managers are configured for this host, and prints errors of the configuration.
func (la *launcher) read() {
	if la.given.AllPorts {
		la.plan.All = true
		return
	}
	la.plan = instances.Read(os.DirFS(la.root))
	for _, w := range la.plan.Wrong {
		la.complain(w.Error())
	}
}

// one runs the instance that is asked for by name. The GUID of a port is a name as well. It has
// the paths that it would have beside the other instances of the host.
func (la *launcher) one(here func([]string) int) int {
	name := la.given.Instance
	list, known := la.host()
	guid, err := instances.ParseGUID(name)
	isPort := err == nil && strings.HasPrefix(name, "0x")
	if isPort {
		name = guid.String()
	}
	la.single = name
	named := func(i instances.Instance) bool { return i.Name == name || i.Name == la.given.Instance }
	at := slices.IndexFunc(list, named)
	switch {
	case at >= 0:
		name = list[at].Name
	case isPort: // in place of one that has the port under another name
		list = slices.DeleteFunc(list, func(i instances.Instance) bool { return la.readInstance(i).child.port == guid })
		list = append(list, instances.Instance{Name: name, GUID: guid})
	default:
		la.complain(fmt.Sprintf("error: there is no instance %q; %s", name, known))
		return ExitUsage
	}
	la.single = name
	children := la.children(list)
	at = slices.IndexFunc(children, func(c child) bool { return c.name == name })
	if at < 0 {
		return ExitFailed
	}
	for _, v := range children[at].env {
		key, value, _ := strings.Cut(v, "=")
		os.Setenv(key, value)
	}
	return here(children[at].args)
}

// host are the instances that units of their own can run on this host: those that its files
// name, or else one for each of its ports. known says in words which there are.
func (la *launcher) host() (list []instances.Instance, known string) {
	var names []string
	for _, i := range la.plan.Instances {
		if i.Name != "" {
			list, names = append(list, i), append(names, i.Name)
		}
	}
	if len(list) > 0 {
		return list, "there are " + strings.Join(names, ", ")
	}
	ports, _ := umad.Ports(la.root) // without any there is one to come
	for _, p := range ports {
		if p.Unfit() == "" && !slices.ContainsFunc(list, func(i instances.Instance) bool { return i.GUID == p.GUID }) {
			list = append(list, instances.Instance{Name: p.GUID.String(), GUID: p.GUID})
		}
	}
	return list, "the files of this host configure none: NUMBER needs /etc/opensm/opensm.conf.NUMBER (or /etc/rdma), and a GUID begins with 0x"
}

// allPorts are the instances of all InfiniBand ports that there have been.
func (la *launcher) allPorts() []instances.Instance {
	ports, err := umad.Ports(la.root)
	if err != nil {
		la.complain(err.Error())
	}
	for _, p := range ports {
		known := slices.ContainsFunc(la.seen, func(i instances.Instance) bool { return i.GUID == p.GUID })
		switch why := p.Unfit(); {
		case known:
		case why != "" && slices.ContainsFunc(ports, func(o umad.HostPort) bool {
			return o.GUID == p.GUID && o.Unfit() == ""
		}):
			// QP0 of the port is on another device.
		case why != "":
			la.note(fmt.Sprintf("%v (GUID %v) is skipped: %s", p, p.GUID, why))
		default:
			la.seen = append(la.seen, instances.Instance{Name: p.GUID.String(), GUID: p.GUID})
		}
	}
	if len(la.seen) == 0 && err == nil {
		_, why := umad.Choose(ports, 0)
		la.complain("waiting for a port: " + strings.TrimPrefix(why.Error(), "umad: "))
	}
	return la.seen
}

// options are the options of an instance, overridden by those of the command line.
func (la *launcher) options(i instances.Instance) []string {
	options := i.Args()
	for _, g := range la.given.Given {
		switch {
		case g.Long == "launch" || g.Long == "all-ports" || g.Long == "instance":
		case g.Long == "config" && i.Config != "": // a numbered file stands alone
		case g.Arg == "":
			options = append(options, "--"+g.Long)
		default:
			options = append(options, "--"+g.Long+"="+g.Value)
		}
	}
	return options
}

// concerns reports whether this process runs the instance.
func (la *launcher) concerns(name string) bool { return la.single == "" || la.single == name }

// complainOf prints a problem of an instance, if this process runs it.
func (la *launcher) complainOf(name, format string, args ...any) {
	if la.concerns(name) {
		la.complain(fmt.Sprintf("instance %s "+format, append([]any{name}, args...)...))
	}
}

func (la *launcher) complain(text string) {
	if !la.said[text] {
		la.said[text] = true
		fmt.Fprintln(la.stderr, "ibsm: "+text)
	}
}

func (la *launcher) note(text string) {
	if !la.said[text] {
		la.said[text] = true
		fmt.Fprintln(la.stdout, "ibsm: "+text)
	}
}
