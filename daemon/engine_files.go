package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/opensm/guidfile"
	osmlog "ibsm/opensm/log"
	"ibsm/routing/file"
	"ibsm/routing/portgroups"
	"ibsm/routing/torus"
	"ibsm/sweep/engines"
	"ibsm/topo/cabling"
)

// engineFiles are the files that the chosen routing engines read, without errors, by the key that
// names each. They are immutable.
type engineFiles map[string]engineFile

// engineFile is the content of a file.
type engineFile struct {
	text   []byte
	apply  func(to *engines.Settings) // what it says
	groups []*portgroups.Group        // of pgrp_policy_file
}

// maxDump bounds OpenSM's dump files in bytes.
const maxDump = 512 << 20

// engineFileKinds are the files that routing engines read.
var engineFileKinds = []struct {
	path  conf.Accessor[string]
	users []string // engines
	most  int64    // bytes
	// optional says that there need not be a file or an entry: ibsmctl drain makes the file, and may take the last
	// entry away.
	optional bool
	parse    func(name string, text []byte, groups *portgroups.Set) (apply func(*engines.Settings), warnings diag.List,
		err error)
}{
	{conf.RootGUIDFile, []string{"updn", "ftree"}, guidfile.MaxFile + 1, false, parseRoots},
	{conf.IDsGUIDFile, []string{"updn"}, guidfile.MaxFile + 1, false, plain(parseIDs)},
	{conf.ComputeGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile + 1, false, parseCompute},
	{conf.IOGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile + 1, false, parseIO},
	{conf.GUIDRoutingOrderFile, balancing, guidfile.MaxFile + 1, false, parseOrder},
	{conf.PortProfIgnoreFile, balancing, guidfile.MaxFile + 1, false, plain(parseIgnored)},
	{conf.PortSearchOrderingFile, balancing, guidfile.MaxFile + 1, false, plain(parseSearch)},
	{conf.HopWeightsFile, []string{"minhop", "dor", "file", "updn"}, guidfile.MaxFile + 1, false, plain(parseWeights)},
	{conf.TorusConfig, []string{"torus-2QoS"}, torus.MaxFile + 1, false, plain(parseTorus)},
	{conf.DrainFile, engines.Names(), guidfile.MaxFile + 1, true, plain(parseDrained)},
	{conf.TopoConfigFile, engines.Names(), cabling.MaxFile + 1, false, plain(parseCabling)},
	{conf.HeldBackSwFile, engines.Names(), guidfile.MaxFile + 1, false, plain(parseHeldBack)},
	{conf.LFTsFile, []string{"file"}, maxDump, false, plain(parseLFTs)},
	{conf.LIDMatrixFile, []string{"file"}, maxDump, false, plain(parseMatrix)},
}

// plain makes a parser of one for files that name no groups.
func plain(parse func(string, []byte) (func(*engines.Settings), diag.List, error)) func(string, []byte,
	*portgroups.Set) (func(*engines.Settings), diag.List, error) {
	return func(name string, text []byte, _ *portgroups.Set) (func(*engines.Settings), diag.List, error) {
		return parse(name, text)
	}
}

// balancing are the engines that spread destinations over ports.
var balancing = []string{"minhop", "updn", "dnup", "dor", "file"}

func parseIgnored(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ports, warnings, errors := guidfile.Ports(name, text)
	return func(to *engines.Settings) { to.Balancing.Ignored = ports }, warnings, errors.Err()
}

func parseSearch(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	orders, warnings, errors := guidfile.SearchOrders(name, text)
	return func(to *engines.Settings) { to.Balancing.Search = orders }, warnings, errors.Err()
}

func parseWeights(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	weights, warnings, errors := guidfile.Weights(name, text)
	return func(to *engines.Settings) { to.Balancing.Weights = weights }, warnings, errors.Err()
}

func parseIDs(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ids, warnings, errors := guidfile.IDs(name, text)
	return func(to *engines.Settings) { to.Updn.IDs = ids }, warnings, errors.Err()
}

func parseDrained(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	drained, warnings, errors := guidfile.Drained(name, text)
	return func(to *engines.Settings) { to.Drained = drained }, warnings, errors.Err()
}

func parseCabling(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	plan, err := cabling.Read(name, text)
	var warnings diag.List
	if plan != nil {
		warnings = plan.Warnings
	}
	return func(to *engines.Settings) { to.Cabling = plan }, warnings, err
}

func parseHeldBack(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	switches, warnings, errors := guidfile.Switches(name, text)
	return func(to *engines.Settings) { to.HeldBack = switches }, warnings, errors.Err()
}

func parseTorus(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	settings, warnings, errors := torus.Parse(name, text)
	return func(to *engines.Settings) { to.Torus = settings }, warnings, errors.Err()
}

func parseLFTs(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	lfts, err := file.ReadLFTs(name, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return func(to *engines.Settings) { to.File.LFTs = lfts }, lfts.Warnings, nil
}

func parseMatrix(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	matrix, err := file.ReadHops(name, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	return func(to *engines.Settings) { to.File.Matrix = matrix }, matrix.Warnings, nil
}

// engineRead is the files of routing engines as they were read.
type engineRead struct {
	was              *inForce // at a reload; nil at a start
	files            engineFiles
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
func (r *engineRead) found() (list []ctl.Finding) {
	for _, f := range r.reports {
		list = append(list, fileFindings(f.key, f.errors, f.warnings)...)
	}
	return list
}

// read reads the files that the configuration names for a list of engines. If reading pgrp_policy_file, whose groups
// they may name, has failed, it reads nothing.
func (r *engineRead) read(c *conf.Config, list []string, ofQoS []*portgroups.Group) {
	if len(r.errors) > 0 {
		return
	}
	if slices.Contains(list, engines.Auto) {
		list = append(slices.Clone(list), "dfsssp") // of those it stands for, this one reads the same files as tree
	}
	groups := r.files.known(ofQoS)
	for _, kind := range engineFileKinds {
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
		var apply func(*engines.Settings)
		var warnings diag.List
		if err == nil {
			apply, warnings, err = kind.parse(name, text, groups)
			if !kind.optional && !hasEntry(text) {
				warnings.Add(diag.Position{File: name}, "%s: the file has no entry", key)
			}
		}
		found := r.add(kind.path.Key(), name, engineFile{text: text, apply: apply}, warnings, err)
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
func (r *engineRead) inUse(path conf.Accessor[string], c *conf.Config) inUse {
	if r.was == nil {
		return inUse{}
	}
	return inUseOf(path, r.was.own.Config, c, r.was.files[path.Key().Name].text)
}

// add adds a file that was read, and returns its errors.
func (r *engineRead) add(key *conf.Key, name string, file engineFile, warnings diag.List, err error) (found diag.List) {
	if err != nil && !errors.As(err, &found) {
		found = diag.List{{Position: diag.Position{File: name}, Text: fmt.Sprintf("%s: %v", key.Name, err)}}
	}
	r.files[key.Name] = file
	r.warnings, r.errors = append(r.warnings, warnings...), append(r.errors, found...)
	r.reports = append(r.reports, fileReport{key, found, warnings})
	return found
}

// selectEngineFiles takes the files of a start. The error says why the manager must not start.
func selectEngineFiles(l *conf.Loaded, r *engineRead) (engineFiles, diag.List, error) {
	switch {
	case len(r.errors) > 0:
		return nil, nil, fmt.Errorf("a file of the routing engine cannot be used: %w", r.errors)
	case l.Strict && len(r.warnings) > 0:
		return nil, nil, fmt.Errorf("--strict: a file of the routing engine has warnings: %w", r.warnings)
	}
	return r.files, r.warnings, nil
}

// settings adds what the files say to the settings of engines.
func (f engineFiles) settings(c *conf.Config) *engines.Settings {
	s := engineSettings(c)
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

// takeEngineFiles puts files that were read again into force. Files with an error change nothing.
func (c *configuration) takeEngineFiles(next *inForce, r *engineRead) {
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
