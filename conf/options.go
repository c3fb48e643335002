package conf

// Option is a command line option.
type Option struct {
	Long  string
	Short byte   // 0 for none
	Arg   string // placeholder of its argument, "" if it has none
	Key   string // the setting it sets, "" for none
	Sets  string // the value it sets, if it has no argument
	// Own is set for options that OpenSM does not have. They must be spelled in full
	// and with two dashes, so that every command line of OpenSM keeps its meaning.
	Own   bool
	Group string // in the help
	Help  string
}

// Groups of the help, in order.
const (
	groupWhere    = "Port or fabric"
	groupWhat     = "Subnet"
	groupRouting  = "Routing"
	groupServices = "Services"
	groupPace     = "Transactions"
	groupLog      = "Log and process"
	groupFiles    = "Configuration"
)

var groups = []string{groupWhere, groupWhat, groupRouting, groupServices, groupPace, groupLog, groupFiles}

// otherOptions are options without a row in the table, or a second option of a row.
var otherOptions = []Option{
	{Long: "fabric", Arg: "SPEC", Own: true, Group: groupWhere,
		Help: "run on a simulated fabric: a topology file, a generator such as fattree:k=8, or capture:FILE"},
	{Long: "ibsim", Own: true, Group: groupWhere,
		Help: "connect to a running ibsim (IBSIM_SOCKNAME, IBSIM_SERVER_NAME, SIM_HOST)"},
	{Long: "all-ports", Own: true, Group: groupWhere, Help: "run one manager on each InfiniBand port of this host"},
	{Long: "launch", Own: true, Group: groupWhere,
		Help: "run the instances configured by opensm.conf.1, .2, ..., /etc/sysconfig/opensm or /etc/default/opensm"},
	{Long: "instance", Arg: "NAME", Own: true, Group: groupWhere,
		Help: "run one of these instances, given by its number or the GUID of its port"},
	{Long: "once", Short: 'o', Group: groupWhat, Help: "sweep until the subnet is up, then exit"},
	{Long: "record", Arg: "FILE", Own: true, Group: groupWhat,
		Help: "record the packets, without keys, until the subnet is up, in a file for Wireshark and for --fabric capture:FILE"},
	{Long: "dry-run", Own: true, Group: groupWhat, Help: "show the Sets that ibsm would send at start, but send none"},
	{Long: "json", Own: true, Group: groupWhat, Help: "with --dry-run or --check-config: print the result as JSON"},
	{Long: "dimn_ports_file", Short: 'O', Arg: "FILE", Key: "port_search_ordering_file", Group: groupRouting,
		Help: "deprecated name of --port_search_ordering_file"},
	{Long: "no_part_enforce", Short: 'N', Key: "no_partition_enforcement", Sets: "TRUE", Group: groupServices,
		Help: "deprecated form of --part_enforce off"},
	{Long: "stay_on_fatal", Short: 'y', Key: "exit_on_fatal", Sets: "FALSE", Group: groupWhat,
		Help: "start even if guid2lid is damaged and the state store has no LIDs"},
	{Long: "erase_log_file", Short: 'e', Key: "accum_log_file", Sets: "FALSE", Group: groupLog,
		Help: "truncate the log file at start"},
	{Long: "verbose", Short: 'v', Group: groupLog, Help: "increase the log level; may be repeated"},
	{Long: "V", Short: 'V', Group: groupLog, Help: "log everything"},
	{Long: "debug", Short: 'd', Arg: "N", Group: groupLog,
		Help: "set one option: 0 ignore_other_sm, 1 single_thread, 2 force_log_flush, 3 disable_multicast"},
	{Long: "pidfile", Short: 'J', Arg: "FILE", Group: groupLog, Help: "with --daemon: file for the process ID"},
	{Long: "config", Short: 'F', Arg: "FILE", Group: groupFiles,
		Help: "configuration file: ibsm.toml format if the name ends in .toml, else opensm.conf format"},
	{Long: "create-config", Short: 'c', Arg: "FILE", Group: groupFiles,
		Help: "write the configuration to FILE, in the format its name selects, and exit"},
	{Long: "check-config", Own: true, Group: groupFiles,
		Help: "check the configuration, the files that it names and the state store, and exit"},
	{Long: "strict", Own: true, Group: groupFiles,
		Help: "refuse to start if the configuration has any warning or error"},
	{Long: "version", Group: groupFiles, Help: "print the version"},
	{Long: "help", Short: 'h', Group: groupFiles, Help: "print this help (exit status 2, as with opensm)"},
}

// options are all of them.
var options = makeOptions()

func makeOptions() (all []Option) {
	for i := range table {
		k := &table[i]
		if k.Long != "" {
			all = append(all, Option{Long: k.Long, Short: k.Short, Arg: k.Arg, Key: k.Name, Sets: "TRUE", Own: k.Own,
				Group: helpGroup(k), Help: k.Help})
		}
	}
	return append(all, otherOptions...)
}

// helpGroup is the group of an option in the help.
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
