package console

import (
	"errors"
	"io/fs"
	"slices"
)

// command is a row of the table of commands.
type command struct {
	name   string
	syntax string   // as help lists it
	detail []string // what help says besides
	// acts reports whether the command changes something with these words behind it.
	acts func(args []string) bool
	run  func(s *Session, args []string)
}

func always([]string) bool      { return true }
func never([]string) bool       { return false }
func given(args []string) bool  { return len(args) > 0 }
func toFile(args []string) bool { return slices.Contains(args, "file") }

// commands are all that there are, in the order in which help lists them. Those without
// a syntax are not listed.
var commands = []command{
	{"help", "help [<command>]", nil, never, (*Session).help},
	{"quit", "quit (not valid in local mode; use ctl-c)", nil, never, (*Session).quit},
	{"loglevel", "loglevel [<log-level>]", []string{
		"   shows the log flags, or sets them to a sum of",
		"   0x01 errors, 0x02 info, 0x04 verbose, 0x08 debug, 0x10 functions, 0x20 frames, 0x40 routing",
		"   state changes (0x80) are always logged; the default flags are 0x03",
	}, given, (*Session).logLevel},
	{"permodlog", "permodlog", []string{"   shows the file of log flags for single modules"}, never,
		(*Session).moduleLog},
	{"priority", "priority [<sm-priority>]",
		[]string{"   shows the priority among subnet managers, or sets it: 0 to 15"}, given, (*Session).priority},
	{"resweep", "resweep [heavy|light]", nil, always, (*Session).resweep},
	{"reroute", "reroute", []string{"   computes all routes afresh"}, always, (*Session).reroute},
	{"sweep", "sweep [on|off]", []string{"   off holds all sweeps back, on lets them go on"}, always, (*Session).sweep},
	{"status", "status [loop]", []string{`   loop repeats it until "q<ret>"`}, never, (*Session).status},
	{"logflush", "logflush [on|off] -- toggle opensm.log file flushing",
		[]string{"   has no effect: each line is in the log at once"}, never, (*Session).logFlush},
	{"querylid", "querylid lid -- print internal information about the lid specified", nil, never, (*Session).queryLID},
	{"portstatus", "portstatus [ca|switch|router]",
		[]string{"   counts ports by state, width and speed, of one type of node or all"}, never,
		(*Session).portStatus},
	{"switchbalance", "switchbalance [verbose] [guid]", []string{
		"   shows how many routes each link between switches carries, where that is uneven",
		"   verbose: everywhere; guid: of one switch",
	}, never, (*Session).switchBalance},
	{"lidbalance", "lidbalance [switchguid]", []string{
		"   shows where the LIDs of one port are spread unevenly over links or next switches",
		"   switchguid: of one switch",
	}, never, (*Session).lidBalance},
	{"dump_conf", "dump_conf", []string{"   shows the configuration in force, as a file"}, never, (*Session).dumpConf},
	{"update_desc", "update_desc", []string{"   asks every node for its description again"}, always,
		(*Session).updateDesc},
	{"version", "version -- print the OSM version", nil, never, (*Session).version},
	{"perfmgr", perfSyntax, perfDetail, perfActs, (*Session).perfMgr},
	{"pm", "", nil, perfActs, (*Session).perfMgr},
	{"dump_portguid",
		"dump_portguid [file filename] regexp1 [regexp2 [regexp3 ...]] -- Dump port GUID matching a regexp ", []string{
			"   lists the GUIDs of ports whose node's description matches one of the expressions",
			"   file filename: writes them there",
		}, toFile, (*Session).dumpPortGUID},
}

// help lists the commands, or describes one.
func (s *Session) help(args []string) {
	if len(args) == 0 {
		s.printf("Supported commands and syntax:\n")
		for _, c := range s.commands {
			if c.syntax != "" {
				s.printf("%s\n", c.syntax)
			}
		}
		return
	}
	c := s.find(args[0])
	switch {
	case c == nil || c.name == "help": // which OpenSM does not know here either
		s.unknown(args[0])
	case c.syntax == "":
		s.describe(s.find("perfmgr"))
	default:
		s.describe(c)
	}
}

// find is the command with a name, nil for none.
func (s *Session) find(name string) *command {
	for i := range s.commands {
		if s.commands[i].name == name {
			return &s.commands[i]
		}
	}
	return nil
}

func (s *Session) describe(c *command) {
	s.printf("%s\n", c.syntax)
	for _, line := range c.detail {
		s.printf("%s\n", line)
	}
}

// wrong answers a command whose words are not understood.
func (s *Session) wrong(text, name string) {
	s.printf("%s\n", text)
	s.describe(s.find(name))
}

func (s *Session) quit([]string) {
	if !s.local {
		s.state = left
	}
}

func (s *Session) logLevel(args []string) {
	if len(args) == 0 {
		s.printf("Current log level is 0x%x\n", s.daemon.LogFlags())
		return
	}
	level := int32(0)
	switch text := args[0]; {
	case text[0] == 'x':
		level = signed(text[1:], 16)
	case len(text) > 1 && text[:2] == "0x":
		level = signed(text[2:], 16)
	default:
		level = signed(text, 10)
	}
	if level < 0 || level > 255 {
		s.printf("Invalid log level 0x%x\n", uint32(level))
		return
	}
	s.printf("Setting log level to 0x%x\n", level)
	s.daemon.SetLogFlags(uint8(level))
}

func (s *Session) moduleLog([]string) {
	path, text, err := s.daemon.ModuleLog()
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.printf("fopen(%s) failed: %v\n", path, err)
	default:
		s.printf("Per module logging file: %s\n%s\n", path, text)
	}
}

func (s *Session) priority(args []string) {
	if len(args) == 0 {
		s.printf("Current sm-priority is %d\n", s.daemon.Status().Priority)
		return
	}
	n := signed(args[0], 0)
	if n < 0 || n > 15 {
		s.printf("Invalid sm-priority %d; must be between 0 and 15\n", n)
		return
	}
	s.printf("Setting sm-priority to %d\n", n)
	s.daemon.SetPriority(uint8(n))
}

// order has something done, which OpenSM answers with nothing.
func (s *Session) order(o Order) {
	if err := s.daemon.Do(o); err != nil {
		s.printf("%v\n", err)
	}
}

func (s *Session) resweep(args []string) {
	switch {
	case len(args) > 0 && args[0] == "heavy":
		s.order(HeavySweep)
	case len(args) > 0 && args[0] == "light":
		s.order(LightSweep)
	default:
		s.wrong("Invalid resweep command", "resweep")
	}
}

func (s *Session) reroute([]string) { s.order(Reroute) }

func (s *Session) updateDesc([]string) { s.order(ReadNames) }

func (s *Session) sweep(args []string) {
	if len(args) == 0 || args[0] != "on" && args[0] != "off" {
		s.wrong("Invalid sweep command", "sweep")
		return
	}
	s.daemon.SetSweeping(args[0] == "on")
}

// logFlush accepts a command without effect here, and answers errors as OpenSM does.
func (s *Session) logFlush(args []string) {
	if len(args) == 0 || args[0] != "on" && args[0] != "off" {
		s.wrong("Invalid logflush command", "logflush")
	}
}

func (s *Session) dumpConf([]string) {
	text, err := s.daemon.Config()
	if err != nil {
		s.printf("%v\n", err)
		return
	}
	s.out.Write(text)
}

func (s *Session) version([]string) { s.printf("%s\n", s.daemon.Version) }
