package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/opensm/guidfile"
	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/routing/file"
	"ibsm/routing/portgroups"
	"ibsm/routing/torus"
	"ibsm/sweep/engines"
	"ibsm/topo/cabling"
)

// fileSettings are what kept files say: settings of routing engines, and what concerns all of these.
type fileSettings struct {
	engines.Settings
	Drained  []routing.SwitchPort // drain_file: what routes avoid; port 0 is a whole switch
	Cabling  *cabling.Cabling     // topo_config_file; nil without one
	HeldBack []mad.GUID           // held_back_sw_file
	Groups   *portgroups.Set      // pgrp_policy_file; nil without one
}

// Equal reports whether two mean the same in every subnet.
func (s *fileSettings) Equal(o *fileSettings) bool {
	return s.Settings.Equal(&o.Settings) && s.Groups.Equal(o.Groups) && slices.Equal(s.Drained, o.Drained) &&
		slices.Equal(s.HeldBack, o.HeldBack) && reflect.DeepEqual(s.Cabling, o.Cabling)
}

// keptFiles are the files that the chosen routing engines read, and those that are read for any engine, without errors,
// by the key that names each. They are mirrored to standbys. They are immutable.
type keptFiles map[string]keptFile

// keptFile is the content of a file.
type keptFile struct {
	text   []byte
	apply  func(to *fileSettings) // what it says
	groups []*portgroups.Group    // of pgrp_policy_file
}

// fileParser reads the text of a file, which may name port groups.
type fileParser func(name string, text []byte, groups *portgroups.Set) (apply func(*fileSettings), warnings diag.List,
	err error)

// maxDump bounds OpenSM's dump files in bytes.
const maxDump = 512 << 20

// fileKinds are the files that a manager keeps, but for pgrp_policy_file, which is read before them. A further one is a
// row with a field of fileSettings, and its setting.
var fileKinds = []struct {
	path  conf.Accessor[string]
	users []string // engines
	most  int64    // bytes
	// optional says that there need not be a file or an entry: ibsmctl drain makes the file, and may take the last
	// entry away.
	optional bool
	parse    fileParser
}{
	{conf.RootGUIDFile, []string{"updn", "ftree"}, guidfile.MaxFile, false, guids((*fileSettings).SetRoots,
		func(to *fileSettings, l *portgroups.List) { to.Lists.Roots = l })},
	{conf.IDsGUIDFile, []string{"updn"}, guidfile.MaxFile, false, entries(guidfile.IDs,
		func(to *fileSettings, ids map[mad.GUID]uint64) { to.Updn.IDs = ids })},
	{conf.ComputeGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile, false,
		guids((*fileSettings).SetCompute, func(to *fileSettings, l *portgroups.List) { to.Lists.Compute = l })},
	{conf.IOGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile, false,
		guids((*fileSettings).SetIO, func(to *fileSettings, l *portgroups.List) { to.Lists.IO = l })},
	{conf.GUIDRoutingOrderFile, balancing, guidfile.MaxFile, false,
		guids((*fileSettings).SetOrder, func(to *fileSettings, l *portgroups.List) { to.Lists.Order = l })},
	{conf.PortProfIgnoreFile, balancing, guidfile.MaxFile, false, entries(guidfile.Ports,
		func(to *fileSettings, ports []routing.SwitchPort) { to.Balancing.Ignored = ports })},
	{conf.PortSearchOrderingFile, balancing, guidfile.MaxFile, false, entries(guidfile.SearchOrders,
		func(to *fileSettings, orders []routing.SearchOrder) { to.Balancing.Search = orders })},
	{conf.HopWeightsFile, []string{"minhop", "dor", "file", "updn"}, guidfile.MaxFile, false,
		entries(guidfile.Weights,
			func(to *fileSettings, weights map[routing.SwitchPort]uint8) { to.Balancing.Weights = weights })},
	{conf.TorusConfig, []string{"torus-2QoS"}, torus.MaxFile, false, entries(torus.Parse,
		func(to *fileSettings, s *torus.Settings) { to.Torus = s })},
	{conf.DrainFile, engines.Names(), guidfile.MaxFile, true, entries(guidfile.Drained,
		func(to *fileSettings, drained []routing.SwitchPort) { to.Drained = drained })},
	{conf.TopoConfigFile, engines.Names(), cabling.MaxFile, false, parseCabling},
	{conf.HeldBackSwFile, engines.Names(), guidfile.MaxFile, false, entries(guidfile.Switches,
		func(to *fileSettings, switches []mad.GUID) { to.HeldBack = switches })},
	{conf.LFTsFile, []string{"file"}, maxDump, false, parseLFTs},
	{conf.LIDMatrixFile, []string{"file"}, maxDump, false, parseMatrix},
}

// balancing are the engines that spread destinations over ports.
var balancing = []string{"minhop", "updn", "dnup", "dor", "file"}

// entries is the parser of a file that names no groups.
func entries[T any](parse func(string, []byte) (T, diag.List, diag.List), set func(*fileSettings, T)) fileParser {
	return func(name string, text []byte, _ *portgroups.Set) (func(*fileSettings), diag.List, error) {
		value, warnings, errors := parse(name, text)
		return func(to *fileSettings) { set(to, value) }, warnings, errors.Err()
	}
}

// guids is the parser of a file of GUIDs and names of groups.
func guids(set func(*fileSettings, []mad.GUID), list func(*fileSettings, *portgroups.List)) fileParser {
	return func(name string, text []byte, groups *portgroups.Set) (func(*fileSettings), diag.List, error) {
		l, warnings, errors := guidfile.List(name, text, groups)
		return func(to *fileSettings) {
			set(to, l.GUIDs())
			list(to, named(l))
		}, warnings, errors.Err()
	}
}

func parseCabling(name string, text []byte, _ *portgroups.Set) (func(*fileSettings), diag.List, error) {
	plan, err := cabling.Read(name, text)
	var warnings diag.List
	if plan != nil {
		warnings = plan.Warnings
	}
	return func(to *fileSettings) { to.Cabling = plan }, warnings, err
}

func parseLFTs(name string, text []byte, _ *portgroups.Set) (func(*fileSettings), diag.List, error) {
	lfts, err := file.ReadLFTs(name, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return func(to *fileSettings) { to.File.LFTs = lfts }, lfts.Warnings, nil
}

func parseMatrix(name string, text []byte, _ *portgroups.Set) (func(*fileSettings), diag.List, error) {
	matrix, err := file.ReadHops(name, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return func(to *fileSettings) { to.File.Matrix = matrix }, matrix.Warnings, nil
}

// filesRead is the files of routing engines as they were read.
type filesRead struct {
	was              *inForce // at a reload; nil at a start
	files            keptFiles
	warnings, errors diag.List
	unreadable       []string // OpenSM's words
	reports          []fileReport
}

// fileReport has the findings about the file of a setting.
type fileReport struct {
	key              *conf.Key
	errors, warnings diag.List
}

// found are the findings about all files, for the control socket.
func (r *filesRead) found() (list []ctl.Finding) {
	for _, f := range r.reports {
		list = append(list, fileFindings(f.key, f.errors, f.warnings)...)
	}
	return list
}

// read reads the files that the configuration names for a list of engines. If reading pgrp_policy_file, whose groups
// they may name, has failed, it reads nothing.
func (r *filesRead) read(c *conf.Config, list []string, ofQoS []*portgroups.Group) {
	if len(r.errors) > 0 {
		return
	}
	if slices.Contains(list, engines.Auto) {
		list = append(slices.Clone(list), "dfsssp") // of those it stands for, this one reads the same files as tree
	}
	groups := r.files.known(ofQoS)
	for _, kind := range fileKinds {
		name, key := kind.path.In(c), kind.path.Key().Name
		users := slices.DeleteFunc(slices.Clone(engines.Tried(list)), func(engine string) bool {
			return !slices.Contains(kind.users, engine)
		})
		if name == "" || len(users) == 0 {
			continue
		}
		in := r.inUse(kind.path, c)
		in.optional = kind.optional
		text, err := in.read(name, kind.most)
		if errors.Is(err, fs.ErrNotExist) && kind.optional {
			continue
		}
		// NVIDIA's manager does not read it then
		if errors.Is(err, fs.ErrNotExist) && key == conf.TopoConfigFile.Key().Name && !conf.TopoConfigEnabled.In(c) {
			missing := diag.List{
				{Position: diag.Position{File: name},
					Text: key + ": the file is missing, so the cables are not checked"},
			}
			r.warnings = append(r.warnings, missing...)
			r.reports = append(r.reports, fileReport{kind.path.Key(), nil, missing})
			continue
		}
		if errors.Is(err, fs.ErrNotExist) && name == kind.path.Key().Default {
			missing := diag.List{
				{Position: diag.Position{File: name}, Text: "the default " + key + " does not exist: " +
					strings.Join(kind.users, ", ") + " cannot be used; auto routes a torus without a file"},
			}
			r.warnings = append(r.warnings, missing...)
			r.reports = append(r.reports, fileReport{kind.path.Key(), nil, missing})
			continue
		}
		var apply func(*fileSettings)
		var warnings diag.List
		if err == nil {
			apply, warnings, err = kind.parse(name, text, groups)
			if !kind.optional && !hasEntry(text) {
				warnings.Add(diag.Position{File: name}, "%s: the file has no entry", key)
			}
		}
		found := r.add(kind.path.Key(), name, keptFile{text: text, apply: apply}, warnings, err)
		for _, engine := range users {
			if len(found) == 0 {
				break
			}
			if words := osmlog.FileUnreadable(engine, key, found[0]); words != "" &&
				!slices.Contains(r.unreadable, words) {
				r.unreadable = append(r.unreadable, words)
			}
		}
	}
}

// inUse is what is known of the file in force.
func (r *filesRead) inUse(path conf.Accessor[string], c *conf.Config) inUse {
	if r.was == nil {
		return inUse{}
	}
	return inUseOf(path, r.was.own.Config, c, r.was.files[path.Key().Name].text)
}

// add adds a file that was read, and returns its errors.
func (r *filesRead) add(key *conf.Key, name string, file keptFile, warnings diag.List, err error) (found diag.List) {
	if err != nil && !errors.As(err, &found) {
		found = diag.List{{Position: diag.Position{File: name}, Text: fmt.Sprintf("%s: %v", key.Name, err)}}
	}
	r.files[key.Name] = file
	r.warnings, r.errors = append(r.warnings, warnings...), append(r.errors, found...)
	r.reports = append(r.reports, fileReport{key, found, warnings})
	return found
}

// selectKeptFiles takes the files of a start. The error says why the manager must not start.
func selectKeptFiles(l *conf.Loaded, r *filesRead) (keptFiles, diag.List, error) {
	switch {
	case len(r.errors) > 0:
		return nil, nil, fmt.Errorf("a file of the routing engine cannot be used: %w", r.errors)
	case l.Strict && len(r.warnings) > 0:
		return nil, nil, fmt.Errorf("--strict: a file of the routing engine has warnings: %w", r.warnings)
	}
	return r.files, r.warnings, nil
}

// settings adds what the files say to the settings of engines.
func (f keptFiles) settings(c *conf.Config) *fileSettings {
	s := &fileSettings{Settings: *engineSettings(c)}
	for _, file := range f {
		file.apply(s)
	}
	return s
}

// keepPlan has a reload take topo_config_enabled only together with the plan that was read with it: if the
// configuration or a file has an error, both stay as they were. An old plan would else be enforced.
func (c *configuration) keepPlan(next *inForce, read *reread) {
	enabled, plan := conf.TopoConfigEnabled.Key(), conf.TopoConfigFile.Key().Name
	switch {
	case read.err != nil:
		if file, is := next.files[plan]; is {
			read.engines.files[plan] = file
		} else {
			delete(read.engines.files, plan)
		}
	case len(read.engines.errors) > 0 && conf.TopoConfigEnabled.In(read.config.Config) != conf.TopoConfigEnabled.In(
		next.own.Config):
		read.config = read.config.Keep(enabled, next.own)
		read.changed = slices.DeleteFunc(read.changed, func(key string) bool { return key == enabled.Name })
		c.logger.Error("topo_config_enabled is not changed, because a file of the same reload has an error", "enabled",
			conf.TopoConfigEnabled.In(read.config.Config))
	}
}

// takeFiles puts files that were read again into force. Files with an error change nothing.
func (c *configuration) takeFiles(next *inForce, r *filesRead) {
	for _, text := range r.unreadable {
		c.logger.Error(text)
	}
	for _, e := range r.errors {
		c.logger.Error(e.Error())
	}
	for _, w := range r.warnings {
		c.logger.Warn(w.Error())
	}
	if len(r.errors) > 0 {
		c.logger.Error(
			"a file of the routing engine cannot be used: the previous settings stay in force. Fix the file and send SIGHUP")
	} else {
		next.files = r.files
	}
}
