package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa/client"
)

// part is one of the queries of a reading, in their order.
type part uint8

const (
	partSelf     part = iota // our LID
	partKeys                 // our P_Key table: the SA hides other partitions
	partGroups               // untrusted: each group, also those without members
	partMembers              // trusted: each member
	partServices             // trusted: with their keys
	partInforms              // trusted: with the QPNs of subscribers
	partGUIDs
	parts
)

var partNames = [parts]string{"NodeRecord", "P_KeyTableRecord", "MCMemberRecord", "MCMemberRecord, trusted",
	"ServiceRecord", "InformInfoRecord", "GUIDInfoRecord"}

// Reading is the registry of a master that is not ibsm, as its SA returns it.
type Reading struct {
	Master mad.GUID
	Began  time.Duration // later registrations may be missing
	// Overtaken is set when a group was created or deleted meanwhile: another reading follows
	// soon.
	Overtaken bool
	// Incomplete says why it may be incomplete; "" if it is complete.
	Incomplete string
	// Unanswered is set when a query had no response: if the master has died, earlier readings
	// are still complete.
	Unanswered bool
	// Subscribers are all but us, without their addresses.
	Subscribers []registry.SubscriptionKey

	packets    int // sent and received
	own        mad.GUID
	lid        mad.LID // of our port
	keys       []mad.PKey
	has        [parts]bool
	wrong      [parts]string // why a part is missing
	rows       [parts][][]byte
	subscribed map[smp.TrapNumber]bool // that we are subscribed to
}

// question is the query for a part.
func (x *Reading) question(p part, key uint64) *client.Query {
	q := &client.Query{Method: mad.MethodGetTable, SMKey: key}
	switch p {
	case partSelf:
		var rec sarec.NodeRecord
		var ni smp.NodeInfo
		ni.SetPortGUID(x.own)
		rec.SetNodeInfo(&ni)
		*q = client.Query{Method: mad.MethodGet, Attr: sarec.AttrNodeRecord, Comps: sarec.NodePortGUID, Record: rec[:]}
	case partKeys:
		var rec sarec.PKeyTableRecord
		rec.SetLID(x.lid)
		q.Attr, q.Comps, q.Record = sarec.AttrPKeyTableRecord, sarec.PKeyTableLID, rec[:]
	case partGroups:
		q.Attr, q.SMKey = sarec.AttrMCMemberRecord, 0
	case partMembers:
		q.Attr = sarec.AttrMCMemberRecord
	case partServices:
		q.Attr = sarec.AttrServiceRecord
	case partInforms:
		q.Attr = sarec.AttrInformInfoRecord
	case partGUIDs:
		q.Attr = sarec.AttrGUIDInfoRecord
	}
	return q
}

// leastSize is the least size of the records of each part.
var leastSize = [parts]int{partKeys: 72, partGroups: 52, partMembers: 52, partServices: 176, partInforms: 60,
	partGUIDs: 72}

// take takes the response to a query, and reports whether it is usable.
func (x *Reading) take(p part, a *client.Answer) bool {
	x.packets += 1 + len(a.Records)/mad.SADataSize
	switch {
	case a.Err != nil:
		x.wrong[p] = a.Err.Error()
		x.Unanswered = true
	case a.Status != mad.StatusOK:
		x.wrong[p] = a.Status.String()
	case p == partSelf && len(a.Records) < len(sarec.NodeRecord{}): // by RMPP, of which a segment may be short
		x.wrong[p] = fmt.Sprintf("%d bytes of a NodeRecord", len(a.Records))
	case p == partSelf:
		rec := sarec.NodeRecord(a.Records[:len(sarec.NodeRecord{})])
		x.lid = rec.LID()
		x.has[p] = x.lid.IsUnicast()
	case len(a.Records) > 0 && (a.Size < leastSize[p] || len(a.Records)%a.Size != 0):
		x.wrong[p] = fmt.Sprintf("%d bytes in records of %d", len(a.Records), a.Size)
	default:
		x.has[p] = true
		for rest := a.Records; len(rest) > 0; rest = rest[a.Size:] {
			x.rows[p] = append(x.rows[p], rest[:leastSize[p]])
		}
	}
	switch {
	case !x.has[p]:
		return false
	case p == partMembers:
		if slices.ContainsFunc(x.rows[p], func(row []byte) bool {
			rec := record(row)
			return rec.PortGID() == mad.GID{}
		}) {
			x.has[p], x.wrong[p] = false, "it hides the members"
		}
	case p == partKeys:
		x.takeKeys()
	case p == partInforms:
		x.takeInforms()
	}
	return x.has[p]
}

func (x *Reading) takeKeys() {
	for _, row := range x.rows[partKeys] {
		table := (*sarec.PKeyTableRecord)(row).PKeyTable()
		for i := range smp.PKeysPerBlock {
			if k := table.PKey(i); k.Valid() {
				x.keys = append(x.keys, k)
			}
		}
	}
}

func (x *Reading) takeInforms() {
	x.subscribed = map[smp.TrapNumber]bool{}
	for _, row := range x.rows[partInforms] {
		subscriber, info := mad.GID(row[:16]), (*sarec.InformInfo)(row[24:60])
		key := registry.SubscriptionKey{Subscriber: subscriber, QPN: info.QPN(), Filter: registry.Filter{
			GID: info.GID(), LIDBegin: info.LIDRangeBegin(), LIDEnd: info.LIDRangeEnd(), Generic: info.IsGeneric() != 0,
			Type: info.Type(), Trap: info.TrapNumber(), Producer: info.ProducerType(),
		}}
		if subscriber.GUID() != x.own {
			x.Subscribers = append(x.Subscribers, key)
			continue
		}
		for _, trap := range wanted {
			if key.Generic && key.Trap == uint16(trap) {
				x.subscribed[trap] = true
			}
		}
	}
}

// HasSubscribers reports whether Subscribers are known.
func (x *Reading) HasSubscribers() bool { return x.has[partInforms] }

// Some reports whether a table of registrations has come.
func (x *Reading) Some() bool { return slices.Contains(x.has[partGroups:], true) }

// complete reports whether every part has come.
func (x *Reading) complete() bool { return !slices.Contains(x.has[:], false) }

// judge sets Incomplete.
func (x *Reading) judge(cfg *Config) {
	switch {
	case x.lid == 0:
		x.Incomplete = "its SA has no record of our port: " + cmp.Or(x.wrong[partSelf], "it has no LID")
		return
	}
	if !x.complete() {
		p := part(slices.Index(x.has[:], false))
		x.Incomplete = fmt.Sprintf("its SA does not return %s: %s", partNames[p], x.wrong[p])
		if p == partKeys {
			x.Incomplete += "; is sa_key the same there?"
		}
		return
	}
	member := map[mad.PKey]bool{}
	for _, k := range x.keys {
		if k&mad.FullMember == 0 {
			x.Incomplete = fmt.Sprintf(
				"our port is a limited member of partition %v, and the SA hides its other limited members; make our port a full member", k)
			return
		}
		member[k.Base()] = true
	}
	for _, k := range cfg.Keys {
		if !member[k.Base()] {
			x.Incomplete = fmt.Sprintf(
				"our port is not in partition %v, and the SA hides its records; make our port a full member", k)
			return
		}
	}
	if len(x.subscribed) < len(wanted) {
		x.Incomplete = "our subscription to reports of new and deleted groups is not in force yet"
	}
}
