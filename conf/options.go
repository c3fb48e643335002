package conf

// Option is one of the command line.
type Option struct {
	Long  string
	Short byte   // 0 for none
	Arg   string // what its argument is, "" if it has none
	Key   string // the setting that it sets, "" for none
	Sets  string // to this, if it has no argument
	// Own is set for options that OpenSM does not have. They are taken in full and
	// with two dashes only, so that every command line of OpenSM keeps its meaning.
	Own   bool
	Group string // in the help
	Help  string
}

// Groups of the help, in its order.
const (
	groupWhere    = "Where"
	groupWhat     = "What"
	groupRouting  = "Routing"
	groupServices = "Services"
	groupPace     = "Pace"
	groupLog      = "Log and process"
	groupFiles    = "Configuration"
)

var groups = []string{groupWhere, groupWhat, groupRouting, groupServices, groupPace, groupLog, groupFiles}

// otherOptions are those that are no row of the table, or a second way to set one.
var otherOptions = []Option{
	{Long: "fabric", Arg: "SPEC", Own: true, Group: groupWhere, Help: "run on a simulated fabric: a topology file, or a generator such as fattree:k=8"},
	{Long: "ibsim", Own: true, Group: groupWhere, Help: "run on a running ibsim (IBSIM_SOCKNAME, IBSIM_SERVER_NAME, SIM_HOST)"},
	{Long: "all-ports", Own: true, Group: groupWhere, Help: "run a manager at each InfiniBand port of this host"},
	{Long: "launch", Own: true, Group: groupWhere, Help: "run what opensm.conf.1 and on, /etc/sysconfig/opensm or /etc/default/opensm ask for"},
	{Long: "instance", Arg: "NAME", Own: true, Group: groupWhere, Help: "run one of these: its number, or the GUID of its port"},
	{Long: "once", Short: 'o', Group: groupWhat, Help: "sweep until the subnet is up, then leave"},
	{Long: "dry-run", Own: true, Group: groupWhat, Help: "show what would be written, and write nothing"},
	{Long: "dimn_ports_file", Short: 'O', Arg: "FILE", Key: "port_search_ordering_file", Group: groupRouting, Help: "old name of --port_search_ordering_file"},
	{Long: "no_part_enforce", Short: 'N', Key: "no_partition_enforcement", Sets: "TRUE", Group: groupServices, Help: "old way to say --part_enforce off"},
	{Long: "stay_on_fatal", Short: 'y', Key: "exit_on_fatal", Sets: "FALSE", Group: groupWhat, Help: "go on where two nodes have one GUID, or a cache file is damaged"},
	{Long: "erase_log_file", Short: 'e', Key: "accum_log_file", Sets: "FALSE", Group: groupLog, Help: "start the log afresh"},
	{Long: "verbose", Short: 'v', Group: groupLog, Help: "log more; again: still more"},
	{Long: "V", Short: 'V', Group: groupLog, Help: "log everything"},
	{Long: "debug", Short: 'd', Arg: "N", Group: groupLog, Help: "0 ignore_other_sm, 1 single_thread, 2 force_log_flush, 3 disable_multicast"},
	{Long: "pidfile", Short: 'J', Arg: "FILE", Group: groupLog, Help: "with --daemon: where its process number goes"},
	{Long: "config", Short: 'F', Arg: "FILE", Group: groupFiles, Help: "the file to read, in the form of ibsm.toml if it ends so, else of opensm.conf"},
	{Long: "create-config", Short: 'c', Arg: "FILE", Group: groupFiles, Help: "write the configuration to a file of either form and leave"},
	{Long: "strict", Own: true, Group: groupFiles, Help: "do not start with any mistake in the configuration"},
	{Long: "version", Group: groupFiles, Help: "print the version"},
	{Long: "help", Short: 'h', Group: groupFiles, Help: "print this (exit status 2, as opensm's)"},
}

// options are all of them.
var options = makeOptions()

func makeOptions() (all []Option) {
	for i := range table {
		k := &table[i]
		if k.Long != "" {
			all = append(all, Option{Long: k.Long, Short: k.Short, Arg: k.Arg, Key: k.Name, Sets: "TRUE", Own: k.Own, Group: helpGroup(k), Help: k.Help})
		}
	}
	return append(all, otherOptions...)
}

// helpGroup is where the help has the option of a setting.
func helpGroup(k *Key) string {
	switch k.Group() {
	case "port":
		return groupWhere
	case "keys", "subnet", "links", "sweep", "election", "quirks":
		return groupWhat
	case "routing":
		return groupRouting
	case "transactions":
		return groupPace
	case "log", "daemon", "files", "console":
		return groupLog
	}
	return groupServices
}

// Options are those of the command line. They must not be changed.
func Options() []Option { return options }
