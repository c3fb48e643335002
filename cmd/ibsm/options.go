package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/manager"
	osmlog "ibsm/opensm/log"
	"ibsm/routing/minhop"
	"ibsm/sweep"

	"github.com/spf13/pflag"
)

// options is the command line.
type options struct {
	fabric  string
	ibsim   bool
	dryRun  bool
	version bool
	help    bool

	guid      hexFlag
	prefix    hexFlag
	lmc       uint8
	priority  uint8
	once      bool
	sweep     uint32
	timeout   int
	retries   int
	maxSMPs   int64
	logFile   string
	eraseLog  bool
	logLimit  int64
	daemon    bool
	verbose   int
	allLogs   bool
	logFlags  string
	logPrefix string
	dumpFiles string
	ctlSocket string
	ctlGroup  string
	metrics   string
	engines   string
	reassign  bool
	arMode    string
	given     func(name string) bool
	arguments []string
}

const usage = `ibsm brings an InfiniBand subnet up and keeps it so: it finds every node, gives
LIDs, computes and proves routes, programs the switches and activates the links.

Usage:
  ibsm [options]                 on a port of this host (Linux)
  ibsm --fabric SPEC [options]   on a simulated fabric inside the process
  ibsm --ibsim [options]         on a running ibsim (IBSIM_SOCKNAME, SIM_HOST as its clients)

Where:
      --fabric SPEC        a topology file (ibnetdiscover or ibsim form), or a generator
                           such as fattree:k=8, torus:dims=4x4 (see ibfabric gen --help)
      --ibsim              attach to ibsim: by IBSIM_SOCKNAME, or by IBSIM_SERVER_NAME over IP;
                           SIM_HOST names the node
  -g, --guid GUID          port GUID to run at (default: the first InfiniBand port with a link,
                           else the first; with --fabric, of the fabric)

What:
  -o, --once               sweep until the subnet is up, then leave
      --dry-run            show what would be written, and write nothing; works beside a
                           running subnet manager
  -s, --sweep SECONDS      time between light sweeps (10); 0 for none
  -p, --priority N         0 to 15 (0)
  -r, --reassign_lids      give all LIDs anew in the first sweep
  -l, --lmc N              2^N LIDs for each adapter port, 0 to 7 (as in the fabric, else 0)
      --subnet_prefix HEX  (as in the fabric, else 0xfe80000000000000)
  -R, --routing_engine L   engines to try in order (minhop)
      --ar_mode MODE       adaptive routing found on in switches: hold writes no route while it
                           is on, disable turns it off first (hold)

How:
  -t, --timeout MS         time for an answer before the SMP is sent again (200)
      --retries N          how often it is (3)
  -n, --maxsmps N          most SMPs on the wire; 4 and 0 leave it to the fabric (4)

Log and process:
  -f, --log_file FILE      "stdout" or "-", "stderr", or a file (/var/log/opensm.log; with
                           --fabric and --dry-run none)
  -e, --erase_log_file     start it afresh
  -L, --log_limit MB       start it afresh when it has grown so large (0: never)
  -v, --verbose            more; twice: everything
  -V                       everything
  -D FLAGS                 OpenSM's log flags: 0x01 errors, 0x02 what happens (0x03), 0x04 and
                           0x08 more, 0x40 the dump files about routes
      --log_prefix TEXT    put before the text of each line
      --dump_files_dir DIR where opensm-subnet.lst and the other dump files go (OSM_TMP_DIR, or
                           /var/log; with --fabric none unless one of these is given)
  -B, --daemon             run in the background
      --ctl_socket PATH    where ibsmctl reaches this manager, or none (IBSM_SOCKET, or
                           /run/ibsm/ibsm.sock; with --once, --dry-run and --fabric none
                           unless given here)
      --ctl_group GROUP    whose members may use it too, not only the user that runs ibsm
      --metrics_addr ADDR  serve metrics for Prometheus over TCP as well, at :9690 for instance
      --version            print the version
  -h, --help               print this (exit status 2, as opensm's)

Options that are not given are taken from the fabric as it stands: a subnet that is in
use keeps its LIDs, prefix, LMC, lifetimes and routes.

Exit status: 0 done, 1 failed, 2 wrong usage.

Examples:
  ibsm --fabric fattree:k=8 -o
  ibsm --fabric dump.topo --dry-run
  IBSIM_SOCKNAME=mysim ibsm --ibsim -f stdout
`

// usageError is a mistake on the command line: exit status 2.
type usageError struct {
	text string
	hint string
}

func (e *usageError) Error() string { return e.text }

// hexFlag is a 64-bit number in base 16, 0x or not.
type hexFlag struct {
	value uint64
	set   bool
}

func (h *hexFlag) String() string { return fmt.Sprintf("0x%x", h.value) }
func (h *hexFlag) Type() string   { return "hex" }

func (h *hexFlag) Set(s string) error {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
	if err != nil {
		return errors.New("want a hexadecimal number of up to 16 digits")
	}
	h.value, h.set = v, true
	return nil
}

// parse reads the command line.
func parse(args []string) (*options, error) {
	o := &options{}
	f := pflag.NewFlagSet("ibsm", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.fabric, "fabric", "", "")
	f.BoolVar(&o.ibsim, "ibsim", false, "")
	f.BoolVar(&o.dryRun, "dry-run", false, "")
	f.BoolVar(&o.version, "version", false, "")
	f.BoolVarP(&o.help, "help", "h", false, "")
	f.VarP(&o.guid, "guid", "g", "")
	f.Var(&o.prefix, "subnet_prefix", "")
	f.Uint8VarP(&o.lmc, "lmc", "l", 0, "")
	f.Uint8VarP(&o.priority, "priority", "p", 0, "")
	f.BoolVarP(&o.once, "once", "o", false, "")
	f.Uint32VarP(&o.sweep, "sweep", "s", 10, "")
	f.IntVarP(&o.timeout, "timeout", "t", 200, "")
	f.IntVar(&o.retries, "retries", 3, "")
	f.Int64VarP(&o.maxSMPs, "maxsmps", "n", 4, "")
	f.StringVarP(&o.logFile, "log_file", "f", "", "")
	f.BoolVarP(&o.eraseLog, "erase_log_file", "e", false, "")
	f.Int64VarP(&o.logLimit, "log_limit", "L", 0, "")
	f.BoolVarP(&o.daemon, "daemon", "B", false, "")
	f.CountVarP(&o.verbose, "verbose", "v", "")
	f.BoolVarP(&o.allLogs, "V", "V", false, "")
	f.StringVarP(&o.logFlags, "D", "D", "0x03", "")
	f.StringVar(&o.logPrefix, "log_prefix", "", "")
	f.StringVar(&o.dumpFiles, "dump_files_dir", "", "")
	f.StringVar(&o.ctlSocket, "ctl_socket", "", "")
	f.StringVar(&o.ctlGroup, "ctl_group", "", "")
	f.StringVar(&o.metrics, "metrics_addr", "", "")
	f.StringVarP(&o.engines, "routing_engine", "R", "minhop", "")
	f.BoolVarP(&o.reassign, "reassign_lids", "r", false, "")
	f.StringVar(&o.arMode, "ar_mode", "hold", "")
	if err := f.Parse(args); err != nil {
		return nil, &usageError{err.Error(), nearest(f, args)}
	}
	o.given = f.Changed
	o.arguments = f.Args()
	if o.help || o.version {
		return o, nil
	}
	return o, o.check()
}

// nearest suggests an option for the first one that does not exist.
func nearest(f *pflag.FlagSet, args []string) string {
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "--") || f.Lookup(name) != nil {
			continue
		}
		var names []string
		f.VisitAll(func(fl *pflag.Flag) { names = append(names, fl.Name) })
		best := diag.Nearest(name, names)
		if best != "" {
			return "did you mean --" + best + "?"
		}
	}
	return "ibsm --help lists the options"
}

// check refuses values out of range, and combinations that make no sense.
func (o *options) check() error {
	switch {
	case len(o.arguments) > 0:
		return &usageError{fmt.Sprintf("unexpected argument %q", o.arguments[0]), "options begin with - or --"}
	case o.fabric != "" && o.ibsim:
		return &usageError{"--fabric and --ibsim exclude each other", ""}
	case o.lmc > 7:
		return &usageError{fmt.Sprintf("--lmc %d: want 0 to 7", o.lmc), ""}
	case o.priority > 15:
		return &usageError{fmt.Sprintf("--priority %d: want 0 to 15", o.priority), ""}
	case o.timeout < 0 || o.retries < 0 || o.maxSMPs < 0 || o.logLimit < 0:
		return &usageError{"--timeout, --retries, --maxsmps and --log_limit cannot be negative", ""}
	case o.daemon && (o.once || o.dryRun):
		return &usageError{"--daemon goes with neither --once nor --dry-run", ""}
	case o.arMode != "hold" && o.arMode != "disable":
		return &usageError{fmt.Sprintf("--ar_mode %q: want hold or disable", o.arMode), ""}
	}
	if _, err := o.flags(); err != nil {
		return err
	}
	_, _, err := o.engine()
	return err
}

// engine is the first engine of the list that exists. OpenSM goes on without a
// name that it does not know; so do we, and say so.
func (o *options) engine() (name string, unknown []string, err error) {
	for _, e := range strings.FieldsFunc(o.engines, func(r rune) bool { return strings.ContainsRune(", \t\n", r) }) {
		switch e {
		case "minhop":
			name = e
		case "no_fallback":
			if name == "" && len(unknown) > 0 {
				return "", nil, &usageError{fmt.Sprintf("--routing_engine %s: none of these exists and no_fallback forbids minhop", o.engines), "minhop is the engine there is"}
			}
		default:
			unknown = append(unknown, e)
		}
	}
	return "minhop", unknown, nil
}

// flags are OpenSM's log flags.
func (o *options) flags() (osmlog.Flags, error) {
	flags, err := strconv.ParseUint(o.logFlags, 0, 16)
	if err != nil {
		return 0, &usageError{fmt.Sprintf("-D %s: want a number such as 0x03", o.logFlags), ""}
	}
	for range o.verbose {
		flags = flags<<1 | 1
	}
	if o.allLogs {
		flags = 0xff
	}
	return osmlog.Flags(flags), nil
}

// dumpDir is where dump files go, "" for nowhere.
func (o *options) dumpDir() string {
	dir := cmp.Or(o.dumpFiles, os.Getenv("OSM_TMP_DIR"))
	if dir == "" && o.fabric == "" {
		dir = "/var/log"
	}
	return dir
}

// config is what the manager is told.
func (o *options) config() manager.Config {
	c := manager.Config{
		Sweep:         sweep.Config{Engine: minhop.Route, EngineName: "minhop"},
		SweepInterval: time.Duration(o.sweep) * time.Second,
		SAKey:         1,
		GUID:          mad.GUID(o.guid.value),
		Once:          o.once,
		DryRun:        o.dryRun,
	}
	s := &c.Sweep.Settings
	if o.prefix.set {
		s.SubnetPrefix = sweep.Given(mad.Prefix(o.prefix.value))
	}
	if o.given("lmc") {
		s.LMC = sweep.Given(o.lmc)
	}
	s.ReassignLIDs = o.reassign
	s.DisableAR = o.arMode == "disable"
	c.Elect.Priority, c.Elect.SMKey = o.priority, 1
	c.Txn.Timeout = time.Duration(o.timeout) * time.Millisecond
	c.Txn.Retries = o.retries
	if o.retries == 0 {
		c.Txn.Retries = -1
	}
	if o.maxSMPs != 0 && o.maxSMPs != 4 {
		c.Txn.MaxWindow = int(min(o.maxSMPs, 1<<20))
	}
	return c
}
