package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/opensm/guidfile"
	osmlog "ibsm/opensm/log"
	"ibsm/routing/file"
	"ibsm/routing/torus"
	"ibsm/sweep/engines"
)

// engineFiles are the files that the chosen routing engines read, without errors, by the key that
// names each. They are immutable.
type engineFiles map[string]engineFile

// engineFile is the content of a file.
type engineFile struct {
	text  []byte
	apply func(to *engines.Settings) // what it says
}

// maxDump bounds OpenSM's dump files in bytes.
const maxDump = 512 << 20

// engineFileKinds are the files that routing engines read.
var engineFileKinds = []struct {
	path  conf.Accessor[string]
	users []string // engines
	most  int64    // bytes
	parse func(name string, text []byte) (apply func(*engines.Settings), warnings diag.List, err error)
}{
	{conf.RootGUIDFile, []string{"updn", "ftree"}, guidfile.MaxFile + 1, parseRoots},
	{conf.IDsGUIDFile, []string{"updn"}, guidfile.MaxFile + 1, parseIDs},
	{conf.ComputeGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile + 1, parseCompute},
	{conf.IOGUIDFile, []string{"ftree", "sssp", "dfsssp", "tree"}, guidfile.MaxFile + 1, parseIO},
	{conf.GUIDRoutingOrderFile, balancing, guidfile.MaxFile + 1, parseOrder},
	{conf.PortProfIgnoreFile, balancing, guidfile.MaxFile + 1, parseIgnored},
	{conf.PortSearchOrderingFile, balancing, guidfile.MaxFile + 1, parseSearch},
	{conf.HopWeightsFile, []string{"minhop", "dor", "file", "updn"}, guidfile.MaxFile + 1, parseWeights},
	{conf.TorusConfig, []string{"torus-2QoS"}, torus.MaxFile + 1, parseTorus},
	{conf.DrainFile, engines.Names(), guidfile.MaxFile + 1, parseDrained},
	{conf.LFTsFile, []string{"file"}, maxDump, parseLFTs},
	{conf.LIDMatrixFile, []string{"file"}, maxDump, parseMatrix},
}

// balancing are the engines that spread destinations over ports.
var balancing = []string{"minhop", "updn", "dnup", "dor", "file"}

func parseOrder(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ports, warnings, errors := guidfile.GUIDs(name, text)
	return func(to *engines.Settings) { to.Balancing.First = ports }, warnings, errors.Err()
}

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

func parseRoots(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	roots, warnings, errors := guidfile.GUIDs(name, text)
	slices.Sort(roots)
	roots = append([]mad.GUID{}, roots...) // not nil, which would be no file
	return func(to *engines.Settings) { to.Updn.Roots, to.Ftree.Roots = roots, roots }, warnings, errors.Err()
}

func parseIDs(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ids, warnings, errors := guidfile.IDs(name, text)
	return func(to *engines.Settings) { to.Updn.IDs = ids }, warnings, errors.Err()
}

func parseCompute(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ports, warnings, errors := guidfile.GUIDs(name, text)
	set := setOf(ports)
	return func(to *engines.Settings) { to.SSSP.Compute, to.Ftree.Compute, to.Tree.Compute = set, set, set }, warnings, errors.Err()
}

func parseIO(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	ports, warnings, errors := guidfile.GUIDs(name, text)
	set := setOf(ports)
	return func(to *engines.Settings) { to.SSSP.IO, to.Ftree.IO, to.Tree.IO = set, set, set }, warnings, errors.Err()
}

func parseDrained(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	drained, warnings, errors := guidfile.Drained(name, text)
	return func(to *engines.Settings) { to.Drained = drained }, warnings, errors.Err()
}

func setOf(guids []mad.GUID) map[mad.GUID]bool {
	set := map[mad.GUID]bool{}
	for _, guid := range guids {
		set[guid] = true
	}
	return set
}

func parseTorus(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	settings, warnings, errors := torus.Parse(name, text)
	return func(to *engines.Settings) { to.Torus = settings }, warnings, errors.Err()
}

func parseLFTs(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	lfts, err := file.ReadLFTs(name, bytes.NewReader(text))
	return func(to *engines.Settings) { to.File.LFTs = lfts }, nil, err
}

func parseMatrix(name string, text []byte) (func(*engines.Settings), diag.List, error) {
	matrix, err := file.ReadHops(name, bytes.NewReader(text))
	return func(to *engines.Settings) { to.File.Matrix = matrix }, nil, err
}

// engineRead is the files of routing engines as they were read.
type engineRead struct {
	files            engineFiles
	warnings, errors diag.List
	unreadable       []string // OpenSM's words
	found            []ctl.Finding
}

// readEngineFiles reads the files that the configuration names for the engines in it.
func readEngineFiles(c *conf.Config) engineRead { return readFilesOf(c, conf.RoutingEngine.In(c)) }

// readFilesOf reads the files that the configuration names for a list of engines.
func readFilesOf(c *conf.Config, list []string) (r engineRead) {
	if slices.Contains(list, engines.Auto) {
		list = append(slices.Clone(list), "dfsssp") // of those it stands for, this one reads the same files as tree
	}
	r.files = engineFiles{}
	for _, kind := range engineFileKinds {
		name, key := kind.path.In(c), kind.path.Key().Name
		users := slices.DeleteFunc(slices.Clone(engines.Tried(list)), func(engine string) bool { return !slices.Contains(kind.users, engine) })
		if name == "" || len(users) == 0 {
			continue
		}
		text, err := readFile(name, kind.most)
		if errors.Is(err, fs.ErrNotExist) && key == conf.DrainFile.Key().Name {
			continue // nothing is drained; the first ibsmctl drain makes the file
		}
		if errors.Is(err, fs.ErrNotExist) && name == kind.path.Key().Default {
			missing := diag.List{{Position: diag.Position{File: name}, Text: key + " names no other file, and this one is missing: " + strings.Join(kind.users, ", ") + " will refuse the subnet"}}
			r.warnings = append(r.warnings, missing...)
			r.found = append(r.found, fileFindings(kind.path.Key(), nil, missing)...)
			continue
		}
		var apply func(*engines.Settings)
		var warnings diag.List
		if err == nil {
			apply, warnings, err = kind.parse(name, text)
		}
		var found diag.List
		if err != nil && !errors.As(err, &found) {
			found = diag.List{{Position: diag.Position{File: name}, Text: fmt.Sprintf("%s: %v", key, err)}}
		}
		if len(found) > 0 {
			for _, engine := range users {
				if words := osmlog.FileUnreadable(engine, key, found[0]); words != "" && !slices.Contains(r.unreadable, words) {
					r.unreadable = append(r.unreadable, words)
				}
			}
		}
		r.files[key] = engineFile{text, apply}
		r.warnings, r.errors = append(r.warnings, warnings...), append(r.errors, found...)
		r.found = append(r.found, fileFindings(kind.path.Key(), found, warnings)...)
	}
	return r
}

// selectEngineFiles reads the files of a start. The error says why the manager must not start.
func selectEngineFiles(l *conf.Loaded) (engineFiles, diag.List, error) {
	r := readEngineFiles(l.Config)
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
		c.logger.Error("a file of the routing engine cannot be used: what was in force stays in force; fix the file and send SIGHUP")
	} else {
		next.files = r.files
	}
}

// differ are the keys of the files that do not say the same in both.
func (f engineFiles) differ(o engineFiles) (keys []string) {
	for _, kind := range engineFileKinds {
		var settings [2]engines.Settings
		key := kind.path.Key().Name
		for i, files := range []engineFiles{f, o} {
			if file, ok := files[key]; ok {
				file.apply(&settings[i])
			}
		}
		if !reflect.DeepEqual(settings[0], settings[1]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// encode is the files as lines "KEY LENGTH", each followed by the file.
func (f engineFiles) encode() (text []byte) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		text = append(fmt.Appendf(text, "%s %d\n", key, len(f[key].text)), f[key].text...)
	}
	return text
}

// decodeEngineFiles is the reverse of encode.
func decodeEngineFiles(text []byte) (engineFiles, error) {
	f := engineFiles{}
	for len(text) > 0 {
		head, rest, _ := bytes.Cut(text, []byte("\n"))
		var key string
		var length int
		if n, err := fmt.Sscanf(string(head[:min(len(head), maxPolicyHead)]), "%s %d", &key, &length); n != 2 || err != nil || length < 0 || length > len(rest) {
			return nil, errPolicyText
		}
		if _, twice := f[key]; twice {
			return nil, errPolicyText
		}
		file, err := parseEngineFile(key, rest[:length:length])
		if err != nil {
			return nil, err
		}
		f[key], text = file, rest[length:]
	}
	return f, nil
}

// parseEngineFile is a file of the master.
func parseEngineFile(key string, text []byte) (engineFile, error) {
	for _, kind := range engineFileKinds {
		if kind.path.Key().Name == key {
			apply, _, err := kind.parse(key+" of the master", text)
			return engineFile{text, apply}, err
		}
	}
	return engineFile{}, fmt.Errorf("it has a file %q of a routing engine, which this version does not know", key)
}
