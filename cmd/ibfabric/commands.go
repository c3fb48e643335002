package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ibsm/sim/fabric"
)

// command is one console command.
type command struct {
	words string // its name and arguments, as help shows them
	about string
	run   func(c *console, args []string) (answer string, err error)
}

// act is what a command does with the fabric, between two datagrams.
type act func(f *fabric.Fabric, args []string) (answer string, err error)

func (a act) run(c *console, args []string) (answer string, err error) {
	c.server.Do(func(f *fabric.Fabric) { answer, err = a(f, args) })
	return answer, err
}

// commands in the order of help. A command's name is its lower-case words; those in
// capitals are arguments, in brackets when they may be left out.
var commands = []command{
	{"link down NODE PORT", "disable the link: the cable passes no packets", onPort((*fabric.Fabric).LinkDown).run},
	{"link up NODE PORT", "enable the link again; it trains", onPort((*fabric.Fabric).LinkUp).run},
	{"unplug NODE PORT", "remove the cable", onPort((*fabric.Fabric).Unplug).run},
	{"recable NODE PORT NODE PORT", "connect two ports with a 4x cable, replacing their cables", act(recable).run},
	{"node down NODE", "power off", onNode((*fabric.Fabric).NodeDown).run},
	{"node up NODE", "power on, in reset state", onNode((*fabric.Fabric).NodeUp).run},
	{"reboot NODE", "power off and on", onNode((*fabric.Fabric).Reboot).run},
	{"mute NODE", "the agent stops answering; the node still forwards", onNode(unresponsive(true)).run},
	{"unmute NODE", "the agent answers again", onNode(unresponsive(false)).run},
	{"defect NODES METHOD ATTRIBUTE ANSWER", "give the agents a defect, which replaces an earlier one",
		act(setDefect).run},
	{"sound NODES", "remove the defects of the agents", act(setSound).run},
	{"lie switch NODE PORTS [GUID]", "the agent says that it is a switch", act(lieSwitch).run},
	{"lie as NODE NODE", "it says that it is another node", act(lieAs).run},
	{"lie behind NODE PORT NODE PORT", "a switch that is a lie has another node behind a port, reached by its port",
		act(lieBehind).run},
	{"lie endless NODE", "behind all its other ports are switches like it, without end", act(lieEndless).run},
	{"lie delay NODE TIME", "it answers after TIME, such as 700ms", act(lieDelay).run},
	{"lie capacity NODE N", "it has room for N P_Keys", act(lieCapacity).run},
	{"honest NODE", "the node's own agent answers again", onNode(honest).run},
	{"functions NODES N [GUID]",
		"the adapters have N virtual functions, at most 127; new ones get GUIDs from GUID on, without it 0",
		act(makeFunctions).run},
	{"function guid NODE K GUID [NODEGUID]", "give function K another GUID, and its node NODEGUID; 0: none",
		onFunction(setFunctionGUID).run},
	{"function move NODE K NODE K", "the second function gets the GUIDs of the first, which has none then",
		onFunction(moveFunctionGUID).run},
	{"function up NODE K", "load the driver of the function, as it is at first", onFunction(loadFunction(true)).run},
	{"function down NODE K", "unload the driver", onFunction(loadFunction(false)).run},
	{"function reboot NODE K", "unload and load the driver", onFunction(rebootFunction).run},
	{"function policy NODE K POLICY", "link policy of the hypervisor: follow or down",
		onFunction(setFunctionPolicy).run},
	{"function lid NODE K LID", "own: it wants a LID of its own; a number: it shares the LID of that vPort",
		onFunction(setFunctionLID).run},
	{"function name NODE K TEXT", "rename the function", onFunction(renameFunction).run},
	{"function probe NODE K NODE K [PKEY]", "send a data packet with a GRH from one function to another",
		act(probeFunctions).run},
	{"show functions NODE", "list its functions: GUID, state, LID, P_Keys", act(showFunctions).run},
	{"vports NODES QUIRK VALUE", "how the adapters treat vPorts, see below", act(setVPortQuirk).run},
	{"loss RATE", "packet loss rate: 0.01 or 1%", act(setLoss).run},
	{"bit errors NODE PORT RATE", "bit error rate of packets the port receives: 1e-12; 0 for a good cable",
		act(setBitErrors).run},
	{"count NODE PORT COUNTER N", "add N to a performance counter, by its name in perfquery", act(addCount).run},
	{"load shift RATE",
		"each adapter sends to the one half the list of adapters further on, at RATE, a share of its link rate",
		loadShift},
	{"load random RATE [SEED]", "each adapter sends to another, each receives from one", loadRandom},
	{"load pair NODE NODE RATE", "one adapter sends to another", loadPair},
	{"load none", "stop all traffic", loadNone},
	{"drain NODE RATE", "the adapter accepts data at RATE, a share of its link rate; 1 is the full rate", setDrain},
	{"latency TIME", "one-way latency of the fabric: 5us", act(setLatency).run},
	{"counters", "SMPs by method and attribute, packets lost by reason", act(showCounters).run},
	{"reset counters", "set the counters to zero", act(resetCounters).run},
	{"state", "check whether all links with a working cable are Active", act(showState).run},
	{"show NODE", "list its ports: LID, state, peer", act(showNode).run},
	{"probe N [SEED]", "send one data packet between each of N random pairs of end ports", act(probe).run},
	{"clients", "attached programs, and server counters", showClients},
	{"help", "list the commands", nil},
	{"quit", "stop the server", quit},
}

func commandHelp() string {
	var b strings.Builder
	b.WriteString("Commands:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-28s %s\n", c.words, c.about)
	}
	b.WriteString("Quirks of vports, the value at first comes first:\n" + vPortQuirkHelp())
	b.WriteString(`Functions are those of port 1; to a manager function K is vPort K.
NODE is an ID, a description or a GUID (0x...), in quotes if it has blanks; PORT is its number.
NODES is a NODE, or "switches" or "adapters" for all of them. METHOD is Get or Set, ATTRIBUTE a name such as PortInfo, or a
number. ANSWER is "none" (no answer) or a status such as 0x1c (the request has no effect). For a Set it can also be
"acknowledges" (they answer with the values sent, but keep the old ones), "ignores" (they answer with the old values and keep
them) or "before" (they set the new values, but answer with the old ones).
`)
	return b.String()
}

// command carries out a line. An empty one, or one that begins with #, does nothing.
func (c *console) command(line string) (answer string, err error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return "", err
	}
	k, args, err := find(words)
	if err != nil {
		return "", err
	}
	if k.run == nil {
		return commandHelp(), nil
	}
	return k.run(c, args)
}

func quit(c *console, _ []string) (string, error) {
	c.quit()
	return "", nil
}

// showClients lists programs, not nodes.
func showClients(c *console, _ []string) (string, error) {
	var b strings.Builder
	for _, k := range c.server.Clients() {
		role := ""
		if k.IsSM {
			role = " IsSM"
		}
		fmt.Fprintf(&b, "client %d id %d at %q, %d unread%s\n", k.Slot, k.ID, k.Node, k.Queued, role)
	}
	s := c.server.Stats()
	fmt.Fprintf(&b, "malformed %d, refused %d, given back %d, late %d, unwanted %d, dropped %d, died %d\n",
		s.Malformed, s.Refused, s.GivenBack, s.Late, s.Unwanted, s.Dropped, s.Died)
	return b.String(), nil
}

// split cuts a line into words; double quotes hold blanks together.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "" || line[0] == '#':
			return words, nil
		case line[0] == '"':
			word, rest, ok := strings.Cut(line[1:], `"`)
			if !ok {
				return nil, errors.New(`a quote (") is not closed`)
			}
			words, line = append(words, word), rest
		default:
			end := strings.IndexAny(line, " \t\r")
			if end < 0 {
				end = len(line)
			}
			words, line = append(words, line[:end]), line[end:]
		}
	}
}

// find is the command that the words begin with.
func find(words []string) (command, []string, error) {
	var near []string
	for _, c := range commands {
		name, least, most := c.shape()
		if len(words) < len(name) || !slices.Equal(words[:len(name)], name) {
			if words[0] == name[0] {
				near = append(near, c.words)
			}
			continue
		}
		args := words[len(name):]
		if len(args) < least || len(args) > most {
			return command{}, nil, fmt.Errorf("usage: %s", c.words)
		}
		return c, args, nil
	}
	if near != nil {
		return command{}, nil, fmt.Errorf("usage: %s", strings.Join(near, " | "))
	}
	return command{}, nil, fmt.Errorf("unknown command %q; help lists them", words[0])
}

// shape is the name of a command and how many arguments it takes.
func (c command) shape() (name []string, least, most int) {
	for _, w := range strings.Fields(c.words) {
		switch {
		case strings.HasPrefix(w, "["):
			most++
		case strings.ToUpper(w) == w:
			least++
			most++
		default:
			name = append(name, w)
		}
	}
	return name, least, most
}
