package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/opensm/instances"
)

// child is a manager in a process of its own.
type child struct {
	name string
	args []string
	env  []string // besides that of this process

	asked []string // the args that come from files and the command line
	port  mad.GUID // 0 for any, or where the device is not there
	// device is the name by which the configuration chooses the port; "" for none.
	device string
}

// same reports whether a running child can stay for d: a process reloads the rest of its
// configuration by itself.
// A child that waits for its device finds it by itself.
func (c *child) same(d *child) bool {
	waited := c.device != "" && c.port == 0
	return slices.Equal(c.asked, d.asked) && c.device == d.device && (c.port == d.port || waited)
}

// usual is the name of the single child with the usual configuration.
const usual = "usual"

// find returns the managers that should run now. It reads the files that name them again only
// if again is set. An error in them then stops no manager.
func (la *launcher) find(again bool) []child {
	if again {
		clear(la.said)
		la.read()
	}
	list := slices.Clone(la.plan.Instances)
	if la.plan.All {
		list = la.allPorts()
	} else if len(list) == 1 && list[0].Name == "" {
		list[0].Name = usual
	}
	if again || la.plan.All || la.wanted == nil {
		la.wanted = la.children(list)
	}
	return la.wanted
}

// children are the processes of instances. An unchanged instance keeps its child. An instance whose configuration is
// wrong, or conflicts with an earlier instance, is reported; it keeps its child, or gets none.
func (la *launcher) children(list []instances.Instance) (children []child) {
	was := map[string]child{}
	for _, c := range la.wanted {
		was[c.name] = c
	}
	kept := map[string]bool{}
	read := make([]instanceRead, len(list))
	for n, i := range list {
		read[n] = la.readInstance(i)
		before, known := was[i.Name]
		kept[i.Name] = known && (read[n].err != nil || before.same(&read[n].child))
	}
	la.shares.keep(kept)
	la.shares.count(read)
	for n, i := range list {
		before, known := was[i.Name]
		delete(was, i.Name)
		c, err := before, read[n].err
		if err == nil && !kept[i.Name] {
			c, err = la.child(i, read[n], len(list) > 1)
		}
		switch {
		case err == nil:
			children = append(children, c)
		case known && la.owner(&before) == i.Name:
			la.complainOf(i.Name, "keeps running unchanged: %v", err)
			children = append(children, before)
		default:
			la.complainOf(i.Name, "is not started: %v", err)
		}
	}
	for _, c := range la.wanted {
		if _, unnamed := was[c.name]; unnamed && len(la.plan.Wrong) > 0 {
			la.complainOf(c.name, "keeps running, although no file configures it, until the files are fixed")
			children = append(children, c)
		}
	}
	return children
}

// instanceRead is an instance with its configuration.
type instanceRead struct {
	child child // without what it needs for itself
	conf  *conf.Loaded
	err   error
}

func (la *launcher) readInstance(i instances.Instance) instanceRead {
	options := la.options(i)
	l := conf.Load(options, la.files())
	c := child{name: i.Name, asked: options, port: portGUID(l.Config), device: conf.GUIDDevice.In(l.Config)}
	if c.device != "" {
		var err error
		if c.port, err = namedPort(la.root, c.device); err != nil {
			la.complainOf(i.Name, "waits for its port: %s", strings.TrimPrefix(err.Error(), "umad: "))
		}
	}
	return instanceRead{c, l, l.Report.Err(conf.Start)}
}

// files are those below the root.
func (la *launcher) files() conf.Environment {
	env := Environment
	env.ReadFile = func(name string) ([]byte, error) {
		if filepath.IsAbs(name) {
			name = filepath.Join(la.root, name)
		}
		return Environment.ReadFile(name)
	}
	return env
}

// child is the process of an instance, with what it needs for itself.
func (la *launcher) child(i instances.Instance, r instanceRead, several bool) (child, error) {
	c := r.child
	if owner := la.owner(&c); owner != i.Name {
		return child{}, fmt.Errorf("port %v is used by instance %s", c.port, owner)
	}
	if c.port == 0 && several && c.device == "" {
		la.complainOf(i.Name,
			"sets no port, so it takes the first port with a link, which another instance may use: set guid")
	}
	if i.Name == usual {
		c.args = c.asked
		return c, nil
	}
	own, err := la.shares.own(r.conf, &i, several)
	if err == nil && own.dump != "" && la.concerns(i.Name) {
		if err = os.MkdirAll(own.dump, 0o755); err != nil {
			err = fmt.Errorf("dump_files_dir: %w", err)
		}
	}
	c.args, c.env = append(slices.Clone(c.asked), own.options...), own.env
	return c, err
}

// owner is the instance that has a child's port, which is given to it if it is free.
func (la *launcher) owner(c *child) string {
	if c.port == 0 {
		return c.name
	}
	return la.shares.of("port", c.port.String(), c.name)
}
