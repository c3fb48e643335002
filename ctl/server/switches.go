package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ibsm/ctl"
	"ibsm/plural"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// NamedSwitch is a switch of the subnet, or with a port number the link there, with its name in messages.
type NamedSwitch struct {
	routing.SwitchPort
	Name string
	Own  bool // the manager runs on this switch
}

// FindSwitches returns what a text identifies: a switch, as for findNode, a port of one as SWITCH:PORT, or all switches
// of a line card or director, whose names have a slash after the text.
func (d *Server) FindSwitches(text string) ([]NamedSwitch, error) {
	s := d.subnet()
	if s == nil {
		return nil, fmt.Errorf("%w: the manager is not master, or its first sweep has not completed", ctl.ErrNotNow)
	}
	return s.findSwitches(text)
}

func (s *subnet) findSwitches(text string) (found []NamedSwitch, err error) {
	t, name, port := s.view.Topo, text, uint8(0)
	if node, num, is := cutPort(text); is && num > 0 && num < 255 {
		name, port = node, num
	}
	add := func(n topo.NodeIdx) {
		found = append(found, NamedSwitch{routing.SwitchPort{Switch: t.Nodes[n].GUID, Port: port}, s.nodeName(n),
			n == t.Ports[t.Self].Node})
	}
	n, err := s.findNode(name)
	switch {
	case errors.Is(err, ctl.ErrNotFound) && port == 0:
		for _, of := range t.Switches {
			if strings.HasPrefix(s.nodeName(of), name+"/") {
				add(of)
			}
		}
		if found == nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case t.Nodes[n].Switch == topo.None:
		return nil, fmt.Errorf("%w: %s is not a switch", ctl.ErrBadRequest, text)
	case port > t.Nodes[n].NumPorts:
		return nil, fmt.Errorf("%w: %s has %s", ctl.ErrBadRequest, name, plural.Of(int(t.Nodes[n].NumPorts), "port"))
	default:
		add(n)
	}
	return found, nil
}

// Await waits until a view that the manager publishes, nil while the subnet is not known, meets a condition. The error
// is the context's.
func (d *Server) Await(ctx context.Context, is func(*view.View) bool) error {
	for {
		d.mu.Lock()
		next := d.nextView
		d.mu.Unlock()
		if is(d.View()) {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
