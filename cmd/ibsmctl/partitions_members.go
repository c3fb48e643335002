package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/partitions"
)

// resolveMembers replaces the names of hosts among the members, which follow the name of the
// partition, by the GUIDs of their ports.
func (c *partitionsCommand) resolveMembers(ctx context.Context, args []string) ([]string, error) {
	resolved := args[:1:1]
	var ports []*ctl.Port
	for _, text := range args[1:] {
		_, wrong := partitions.ParseMember(text)
		name, membership, given := strings.Cut(text, "=")
		if _, err := partitions.ParseMember("SELF=" + membership); wrong == nil || given && err != nil {
			resolved = append(resolved, text) // a member, or an error that the edit reports
			continue
		}
		if ports == nil {
			var err error
			if ports, err = c.hostPorts(ctx); err != nil {
				return nil, fmt.Errorf("%w; it is no host either, as far as a manager can be asked: %w", wrong, err)
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
			return nil, fmt.Errorf("%w; no host of the subnet has this name either: ibsmctl nodes --type CA lists them", wrong)
		}
	}
	return resolved, nil
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
