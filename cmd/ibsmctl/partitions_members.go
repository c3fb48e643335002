package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
)

// resolveMembers replaces the names of hosts among the members, which follow the name of the
// partition, by the GUIDs of their ports.
func (c *partitionsCommand) resolveMembers(ctx context.Context, what string, args []string) ([]string, error) {
	resolved := args[:1:1]
	var ports []*ctl.Port
	for _, text := range args[1:] {
		m, wrong := partitions.ParseMember(text)
		name, membership, given := strings.Cut(text, "=")
		_, err := partitions.ParseMember("SELF=" + membership)
		literal := wrong == nil && (m.Who != partitions.Hosts || m.IsPattern() || c.byName || what != "create" &&
			c.lists(args[0], m))
		if literal || given && err != nil {
			resolved = append(resolved, text) // a member, or an error that the edit reports
			continue
		}
		if wrong == nil {
			wrong = fmt.Errorf("%q is the name of a host", name)
		}
		if ports == nil {
			var err error
			if ports, err = c.hostPorts(ctx); err != nil {
				return nil, fmt.Errorf("%w, but no manager can look up its ports: %w", wrong, err)
			}
		}
		before := len(resolved)
		called := c.called(ports, name)
		for _, p := range ports {
			if desc := c.names.of(p.Node, p.Desc); called(desc) {
				member := p.GUID
				if given {
					member += "=" + membership
				}
				resolved = append(resolved, member)
				fmt.Fprintf(c.stderr, "%s: port %s of %q\n", name, p.GUID, printable(desc))
			}
		}
		if len(resolved) == before {
			return nil, fmt.Errorf(
				"%w, and no host of the subnet has this name: ibsmctl nodes --type CA lists the hosts", wrong)
		}
	}
	return resolved, nil
}

// lists reports whether a partition of the file names a host in these words.
func (c *partitionsCommand) lists(partition string, m partitions.Member) bool {
	f, err := readPartitions(c.file)
	return err == nil && f.Names(partition, m)
}

// export prints the file with the port GUIDs, as the manager finds them now, of members that OpenSM does not know.
func (c *partitionsCommand) export(ctx context.Context) error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	return c.exportFile(ctx, f)
}

// exportFile is export of a text.
func (c *partitionsCommand) exportFile(ctx context.Context, f *partitions.File) error {
	if policy, errs, _ := f.Policy(); len(errs) > 0 {
		return errs
	} else if len(policy.Foreign) == 0 {
		_, err := io.WriteString(c.stdout, f.Src)
		return err
	}
	hosts, err := c.hostPorts(ctx)
	if err != nil {
		return fmt.Errorf("%s has members that only a running manager can resolve: %w", f.Name, err)
	}
	var index []partitions.HostPort[mad.GUID]
	for _, p := range hosts {
		index = append(index, partitions.HostPort[mad.GUID]{Node: guidOf(p.Node), Desc: p.Desc, Port: guidOf(p.GUID)})
	}
	text, err := f.Export(func(m partitions.Member) ([]mad.GUID, error) {
		return c.portsOf(ctx, m, partitions.NewHostIndex(index))
	})
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(text)
	return err
}

// portsOf are the ports of a member, as the manager finds them.
func (c *partitionsCommand) portsOf(ctx context.Context, m partitions.Member,
	hosts *partitions.HostIndex[mad.GUID]) (ports []mad.GUID, err error) {
	switch m.Who {
	case partitions.Hosts:
		found, claimed := hosts.Find(m.Name)
		for _, host := range claimed {
			fmt.Fprintf(c.stderr, "%s: two nodes have this NodeDescription, so it is not a member\n", printable(host))
		}
		ports = slices.Clone(found)
	case partitions.OfGroup:
		err = ctl.All(ctx, c.Client, http.MethodGet, "/v1/port-groups", query("group", m.Name),
			func(g *ctl.PortGroup) error {
				for _, p := range g.Members {
					ports = append(ports, guidOf(p.GUID))
				}
				return nil
			})
	case partitions.InRange:
		err = ctl.All(ctx, c.Client, http.MethodGet, "/v1/ports", nil, func(p *ctl.Port) error {
			if g := guidOf(p.GUID); g >= m.Port && g <= m.Last {
				ports = append(ports, g)
			}
			return nil
		})
	}
	slices.Sort(ports)
	return slices.Compact(ports), c.explain(err)
}

// guidOf is the GUID of a reply, 0 for none.
func guidOf(text string) mad.GUID {
	guid, err := mad.ParseGUID(text)
	if err != nil {
		return 0
	}
	return guid
}

// called reports of a description whether it is that of the host or adapter that a name means. Blanks at the
// ends, which nobody sees, do not count, unless some adapter has exactly this name.
func (c *partitionsCommand) called(ports []*ctl.Port, name string) func(desc string) bool {
	bare := strings.TrimSpace(name)
	exact := slices.ContainsFunc(ports, func(p *ctl.Port) bool { return c.names.of(p.Node, p.Desc) == name })
	return func(desc string) bool {
		return desc == name || !exact && strings.TrimSpace(desc) == bare || ctl.HostName(desc) == bare
	}
}

// hostPorts are the ports of all adapters of the manager's subnet.
func (c *partitionsCommand) hostPorts(ctx context.Context) (ports []*ctl.Port, err error) {
	if err = c.open(ctx); err != nil {
		return nil, err
	}
	ports = []*ctl.Port{}
	err = ctl.All(ctx, c.Client, http.MethodGet, "/v1/ports", query("type", "CA"), func(p *ctl.Port) error {
		ports = append(ports, new(*p))
		return nil
	})
	return ports, c.explain(err)
}
