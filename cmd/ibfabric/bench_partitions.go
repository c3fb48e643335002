package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// partitionsConf is the file of partitions that both managers read, in the folder they run in.
const partitionsConf = "partitions.conf"

// mostPartitions is the number of P_Keys besides 0 and that of the partition of all hosts.
const mostPartitions = 0x7ffe

// benchPartitions is one benchmark of partitions.
type benchPartitions struct {
	bench
	partitions, members int
}

func newBenchPartitions() *cobra.Command {
	b := &benchPartitions{}
	c := &cobra.Command{Use: "partitions [SPEC] [OPTION]...", Short: "compare OpenSM and ibsm with many partitions", Long: `
Compares OpenSM and ibsm with one file of partitions, whose members are spread evenly over the hosts: a
cold start; a change, by which one host joins another partition, from SIGHUP to the last Set; a takeover
from a manager of the same program that was killed. It ends when the member has its P_Key, all links are
Active, and 10,000 data packets arrive in the partition of all hosts.

SPEC is as for ibfabric serve; without one, a fat tree of 11,664 hosts.`}
	b.options(c)
	c.Flags().IntVar(&b.partitions, "partitions", 5000, "`N` partitions")
	c.Flags().IntVar(&b.members, "members", 20, "`N` members in each")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		if b.partitions < 1 || b.partitions > mostPartitions || b.members < 1 {
			return cli.UsageError(fmt.Sprintf("--partitions, --members: expected 1 to %d, and 1 or more", mostPartitions), "")
		}
		if len(args) == 0 {
			args = []string{"fattree:k=36"}
		}
		return b.each(cmd.Context(), args, b.measure)
	}
	return c
}

func (b *benchPartitions) measure(ctx context.Context, spec string) error {
	n, err := loadNet(spec)
	if err != nil {
		return err
	}
	hosts := countHosts(n)
	fmt.Fprintf(b.out, "%s: %d hosts, %d partitions with %d members\n", spec, hosts, b.partitions, b.partitions*b.members)
	for _, m := range []manager{b.openSM("minhop"), b.ownSM("minhop")} {
		m.argv = append(m.argv, "-P", partitionsConf)
		if m.files == nil {
			m.files = map[string]string{}
		}
		m.files[partitionsConf] = b.file(n, net.NoEnd)
		if err := b.one(ctx, n, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for _, kind := range []string{"cold start", partitionChange, "takeover"} {
		i := slices.IndexFunc(b.all, func(r measurement) bool { return r.Kind == kind && r.Manager == openSM })
		j := slices.IndexFunc(b.all, func(r measurement) bool { return r.Kind == kind && r.Manager == ibsm })
		theirs, ours := &b.all[i], &b.all[j]
		fmt.Fprintf(b.out, "  %s: CPU %.3f of OpenSM's, wall time %.3f, memory %.3f, SMPs %.3f\n", kind,
			(ours.User+ours.System)/(theirs.User+theirs.System), ours.Wall/theirs.Wall,
			ours.Memory/theirs.Memory, float64(ours.total())/float64(theirs.total()))
	}
	b.all = nil
	return nil
}

// partitionChange is the kind of a measurement in which a partition gets a member.
const partitionChange = "change"

// one measures a manager.
func (b *benchPartitions) one(ctx context.Context, n *net.Net, m manager) error {
	place, err := newBenchPlace(n)
	if err != nil {
		return err
	}
	defer place.close()
	place.server.Do(place.begin)
	run, err := place.start(m, "partitions", b.keep)
	if err != nil {
		return err
	}
	up := measurement{Manager: m.name, Kind: "cold start"}
	changed := measurement{Manager: m.name, Kind: partitionChange}
	err = place.await(ctx, run, true, &up)
	up.User = seconds(cpuTime(run.cmd.Process.Pid))
	if err == nil {
		up.Memory, err = peakMemory(run.cmd.Process.Pid)
	}
	var joins net.End
	if err == nil {
		place.server.Do(func(f *fabric.Fabric) {
			others := otherHosts(f)
			joins = others[len(others)/2]
		})
		err = b.change(ctx, n, place, run, joins, &changed)
	}
	var all measurement
	if err = errors.Join(err, run.kill(&all), place.awaitFarewell(ctx)); err != nil {
		return err
	}
	changed.Memory = all.Memory
	b.add(up, "", 0)
	b.add(changed, "", 0)
	m.files[partitionsConf] = b.file(n, joins)
	r, err := place.run(ctx, m, "takeover", b.keep)
	if err == nil {
		b.add(r, "", 0)
	}
	return err
}

// change has a host join the first partition of all, of which it is no member.
func (b *benchPartitions) change(ctx context.Context, n *net.Net, place *benchPlace, run *process, joins net.End,
	r *measurement) error {
	if err := place.settled(ctx, run, isUp); err != nil {
		return err
	}
	before := cpuTime(run.cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(run.dir, partitionsConf), []byte(b.file(n, joins)), 0o666); err != nil {
		return err
	}
	place.server.Do(place.begin)
	if err := run.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	err := place.settled(ctx, run, func(f *fabric.Fabric) bool {
		return slices.Contains(f.PKeys(joins), firstPartition) && isUp(f)
	})
	place.server.Do(func(f *fabric.Fabric) {
		r.Wall, r.SMPs = seconds(place.lastSet-place.began), countSMPs(f.Stats())
	})
	r.User = seconds(cpuTime(run.cmd.Process.Pid) - before)
	return err
}

// firstPartition is the P_Key of full members of the first partition.
const firstPartition mad.PKey = 0x8001

// file is the text of the partitions. joins is a further member of the first; net.NoEnd for none.
func (b *benchPartitions) file(n *net.Net, joins net.End) string {
	var hosts []mad.GUID
	var further mad.GUID
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			if int32(i) == joins.Node {
				further = n.Nodes[i].Ports[joins.Port].GUID
			}
			hosts = append(hosts, n.Nodes[i].Ports[1].GUID)
		}
	}
	var text strings.Builder
	text.WriteString("Default=0x7fff, ipoib : ALL=full, SELF=full;\n")
	for i := range b.partitions {
		fmt.Fprintf(&text, "tenant%d=%#x :", i, i+1)
		for j := range b.members {
			fmt.Fprintf(&text, " %v=full,", hosts[(i*b.members+j)%len(hosts)])
		}
		if i == 0 && further != 0 {
			fmt.Fprintf(&text, " %v=full,", further)
		}
		text.WriteString("\n    NONE;\n")
	}
	return text.String()
}
