package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/mad/umad"
	"ibsm/opensm/instances"
)

// launcher starts the managers that a host is to run: those of --all-ports, or those
// that the files of OpenSM's packages name.
type launcher struct {
	root           string       // the root folder, "/" but in tests
	program        string       // path of this program
	given          *conf.Loaded // the command line, without any file
	stdout, stderr io.Writer
	told           map[string]bool // what was said of ports and files
	shares         shares
}

// newLauncher is one for a command line. What is wrong with a file is for the instances
// that read it.
func newLauncher(program, root string, args []string, stdout, stderr io.Writer) *launcher {
	empty := conf.Environment{
		Getenv:   func(string) string { return "" },
		ReadFile: func(string) ([]byte, error) { return nil, nil },
	}
	return &launcher{root: root, program: program, given: conf.Load(args, empty), stdout: stdout, stderr: stderr, told: map[string]bool{}, shares: newShares()}
}

// launch runs the managers until they end, and returns the exit status. A single one
// is run by here, with its options, in this process.
func (la *launcher) launch(here func(options []string) int) int {
	l := la.given
	if l.AllPorts && (l.Launch || l.Instance != "") || l.Launch && l.Instance != "" {
		la.complain("error: --all-ports, --launch and --instance exclude each other")
		return exitUsage
	}
	if status := judge(l, la.stderr); status != 0 {
		return status
	}
	if l.AllPorts {
		return la.supervise(la.allPorts)
	}
	plan := instances.Read(os.DirFS(la.root))
	for _, w := range plan.Wrong {
		la.complain(w.Error())
	}
	switch {
	case l.Instance != "":
		return la.one(plan, here)
	case plan.All:
		return la.supervise(la.allPorts)
	case len(plan.Instances) == 1 && plan.Instances[0].Name == "":
		return here(la.options(plan.Instances[0]))
	case len(plan.Instances) == 0 && len(plan.Wrong) > 0:
		return exitFailed
	case len(plan.Instances) == 0:
		fmt.Fprintln(la.stdout, "ibsm: the files say that no manager is to run at this host")
		return 0
	}
	children := la.children(plan.Instances)
	if len(children) == 0 {
		return exitFailed
	}
	return la.supervise(func() []child { return children })
}

// one runs the instance that is asked for by name. The GUID of a port is a name as well.
func (la *launcher) one(plan instances.Plan, here func([]string) int) int {
	name := la.given.Instance
	at := slices.IndexFunc(plan.Instances, func(i instances.Instance) bool { return i.Name == name })
	var instance instances.Instance
	if guid, err := instances.ParseGUID(name); at >= 0 {
		instance = plan.Instances[at]
	} else if err == nil && strings.HasPrefix(name, "0x") {
		instance = instances.Instance{Name: guid.String(), GUID: guid}
	} else {
		var names []string
		for _, i := range plan.Instances {
			names = append(names, i.Name)
		}
		la.complain(fmt.Sprintf("there is no instance %q; there are %s", name, strings.Join(names, ", ")))
		return exitUsage
	}
	children := la.children([]instances.Instance{instance})
	if len(children) == 0 {
		return exitFailed
	}
	for _, v := range children[0].env {
		key, value, _ := strings.Cut(v, "=")
		os.Setenv(key, value)
	}
	return here(children[0].args)
}

// allPorts are the managers of all InfiniBand ports that there are now.
func (la *launcher) allPorts() []child {
	ports, err := umad.Ports(la.root)
	if err != nil {
		la.complain(err.Error())
		return nil
	}
	var list []instances.Instance
	for _, p := range ports {
		switch {
		case !p.IsInfiniBand():
			la.tell(fmt.Sprintf("%v (GUID %v) is passed over: its link layer is %s", p, p.GUID, p.LinkLayer))
		case !p.NoSMI:
			list = append(list, instances.Instance{Name: p.GUID.String(), GUID: p.GUID})
		}
	}
	if len(list) == 0 {
		la.complain("waiting for a port: this host has none that is InfiniBand")
	}
	return la.children(list)
}

// children are the processes of instances. One whose configuration is wrong, or that
// contradicts one before it, is told and left out.
func (la *launcher) children(list []instances.Instance) (children []child) {
	for _, i := range list {
		c, err := la.child(i, len(list) > 1)
		if err != nil {
			la.complain(fmt.Sprintf("instance %s is not started: %v", i.Name, err))
			continue
		}
		children = append(children, c)
	}
	return children
}

// files are those below the root.
func (la *launcher) files() conf.Environment {
	env := environment
	env.ReadFile = func(name string) ([]byte, error) {
		if filepath.IsAbs(name) {
			name = filepath.Join(la.root, name)
		}
		return environment.ReadFile(name)
	}
	return env
}

// child is the process of an instance, with what it needs for itself.
func (la *launcher) child(i instances.Instance, several bool) (child, error) {
	options := la.options(i)
	l := conf.Load(options, la.files())
	if err := l.Report.Err(conf.Start); err != nil {
		return child{}, err
	}
	guid := portGUID(l.Config)
	if owner := la.shares.of("port", guid.String(), i.Name); owner != i.Name && guid != 0 {
		return child{}, fmt.Errorf("port %v is that of instance %s", guid, owner)
	}
	if guid == 0 && several {
		la.complain(fmt.Sprintf("instance %s names no port: it takes the first with a link, which may be that of another instance; give it a guid", i.Name))
	}
	own, env, err := la.shares.own(l, i.Name)
	return child{name: i.Name, args: append(options, own...), env: env}, err
}

// options are those of an instance and over them those of the command line.
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

func (la *launcher) complain(text string) {
	if !la.told[text] {
		la.told[text] = true
		fmt.Fprintln(la.stderr, "ibsm: "+text)
	}
}

func (la *launcher) tell(text string) {
	if !la.told[text] {
		la.told[text] = true
		fmt.Fprintln(la.stdout, "ibsm: "+text)
	}
}
