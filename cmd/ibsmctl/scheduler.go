package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/kube"
	"ibsm/ctl/slurm"
)

// adapters are the options that choose ports of hosts.
type adapters struct {
	rails   []int
	devices []string
}

func (c *adapters) define(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntSliceVar(&c.rails, "rail", nil, "only the ports of rail `N`, as ibsmctl rails numbers them; may be repeated")
	f.StringSliceVar(&c.devices, "device", nil,
		"only the ports of adapter `NAME`, or of a pattern such as mlx5_[0-7]; may be repeated")
}

// query adds the choice to the parameters of a request for hosts.
func (c *adapters) query(q url.Values) url.Values {
	for _, rail := range c.rails {
		q.Add("rail", strconv.Itoa(rail))
	}
	for _, device := range c.devices {
		q.Add("device", device)
	}
	return q
}

// chosen reports the ends of cables that were chosen; nil for all.
func (a *asker) chosen(ctx context.Context, c *adapters) (func(*ctl.End) bool, error) {
	if len(c.rails) == 0 && len(c.devices) == 0 {
		return nil, nil
	}
	type at struct {
		node string
		port uint8
	}
	is := map[at]bool{}
	err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/"+string(ctl.Hosts), c.query(query()), func(h *ctl.Host) error {
		for i := range h.Ports {
			is[at{h.Ports[i].Node, h.Ports[i].Port}] = true
		}
		return nil
	})
	if err != nil {
		return nil, a.explain(err)
	}
	return func(e *ctl.End) bool { return is[at{e.Node, e.Port}] }, nil
}

// topology is the subnet of the manager, or of a fabric, as schedulers see it.
func (a *asker) topology(ctx context.Context, spec string, c *adapters) (*slurm.Topology, error) {
	if spec != "" && len(c.rails)+len(c.devices) > 0 {
		return nil, cli.UsageError("--rail and --device need a manager, and --fabric has none",
			"ibsm --fabric SPEC --ctl_socket PATH runs a manager on such a fabric")
	}
	f, err := a.shape(ctx, spec, false)
	if err != nil {
		return nil, err
	}
	chosen, err := a.chosen(ctx, c)
	if err != nil {
		return nil, err
	}
	return slurm.Of(f, chosen), nil
}

// labelPrefix defines the option of the keys of labels.
func labelPrefix(cmd *cobra.Command) *string {
	return cmd.Flags().String("label-prefix", kube.Prefix,
		"of labels of nodes: what their keys begin with, before the number of the tier")
}

func checkPrefix(prefix string) error {
	if err := kube.CheckPrefix(prefix); err != nil {
		return cli.UsageError(fmt.Sprintf("--label-prefix: %v", err), "")
	}
	return nil
}
