package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/registry"
	"ibsm/store"
)

// readExport reads what state export wrote. The mastership terms in it are
// those of the other manager and are not imported.
func readExport(file string, text []byte) (*imported, error) {
	var e exported
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&e)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("unexpected data after the export")
		}
	}
	if err != nil {
		return nil, diag.Error{Position: place(file, text, d.InputOffset(), err), Text: strings.TrimPrefix(err.Error(), "json: ")}
	}
	r := &exportReader{at: diag.Position{File: file}, reg: registry.New()}
	in := &imported{file: file, kind: "export", registry: r.reg, lids: []store.LID{}}
	in.prefix = mad.Prefix(r.number("prefix", e.Prefix, 64))
	in.port = r.guid("port", e.Port)
	for i, l := range e.LIDs {
		in.lids = append(in.lids, store.LID{Port: r.guid(fmt.Sprintf("lids[%d].port", i), l.Port), Base: l.LID, LMC: l.LMC, Absent: l.Absent})
	}
	slices.SortFunc(in.lids, func(a, b store.LID) int { return cmp.Compare(a.Port, b.Port) })
	if err := checkLIDs(in.lids); err != nil {
		r.report("lids", "%v", err)
	}
	for i := range e.Groups {
		r.group(fmt.Sprintf("groups[%d]", i), &e.Groups[i])
	}
	for i := range e.Services {
		r.service(fmt.Sprintf("services[%d]", i), &e.Services[i])
	}
	for i := range e.Subscriptions {
		r.subscription(fmt.Sprintf("subscriptions[%d]", i), &e.Subscriptions[i])
	}
	for i, a := range e.Aliases {
		at := fmt.Sprintf("aliases[%d]", i)
		r.apply(at, registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: r.guid(at+".port", a.Port), Index: a.Index}, GUID: r.guid(at+".guid", a.GUID)}})
	}
	for i, port := range e.GRHPorts {
		at := fmt.Sprintf("grh_ports[%d]", i)
		r.apply(at, registry.PutGRHPort{Port: r.guid(at, port)})
	}
	return in, r.found.Err()
}

// place is where the decoder stood when something was wrong.
func place(file string, text []byte, offset int64, err error) diag.Position {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	before := text[:min(max(offset, 0), int64(len(text)))]
	return diag.Position{File: file, Line: 1 + bytes.Count(before, []byte("\n")), Col: max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)}
}

// exportReader makes what is registered of the texts of an export. Errors have the
// path of the value.
type exportReader struct {
	at    diag.Position
	found diag.List
	reg   *registry.Registry
}

// maxReported bounds the number of reported errors.
const maxReported = 20

func (r *exportReader) report(path, format string, args ...any) {
	if len(r.found) < maxReported {
		r.found.Add(r.at, "%s: %s", path, fmt.Sprintf(format, args...))
	}
}

func (r *exportReader) number(path, text string, bits int) uint64 {
	n, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		r.report(path, "%q is not a number of %d bits", text, bits)
	}
	return n
}

func (r *exportReader) guid(path, text string) mad.GUID {
	g, err := mad.ParseGUID(text)
	if err != nil {
		r.report(path, "%v", err)
	}
	return g
}

func (r *exportReader) gid(path, text string) mad.GID {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() {
		r.report(path, "%q is not a GID", text)
		return mad.GID{}
	}
	return addr.As16()
}

// bytes reads so many, in hexadecimal.
func (r *exportReader) bytes(path, text string, into []byte) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(into) {
		r.report(path, "expected %d bytes in hexadecimal", len(into))
		return
	}
	copy(into, b)
}

// apply makes a change, unless something was found wrong before.
func (r *exportReader) apply(path string, c registry.Change) {
	if len(r.found) > 0 {
		return
	}
	if err := r.reg.Apply(c); err != nil {
		r.report(path, "%s", strings.TrimPrefix(err.Error(), "registry: "))
	}
}

func (r *exportReader) group(path string, x *exportedGroup) {
	g := registry.Group{
		MGID: r.gid(path+".mgid", x.MGID), MLID: mad.LID(r.number(path+".mlid", x.MLID, 16)), PKey: mad.PKey(r.number(path+".pkey", x.PKey, 16)),
		QKey: uint32(r.number(path+".qkey", x.QKey, 32)), PacketLifeTime: x.PacketLifeTime, SL: x.SL, FlowLabel: x.FlowLabel, TClass: x.TClass,
		HopLimit: x.HopLimit, Scope: x.Scope, WellKnown: x.WellKnown,
	}
	for m := mad.MTU256; m <= mad.MTU4096; m++ {
		if m.Bytes() == x.MTU {
			g.MTU = m
		}
	}
	for rank := 1; rank <= mad.MaxRank; rank++ {
		if rate := mad.RateOfRank(rank); rate.Gbps() == x.Rate {
			g.Rate = rate
		}
	}
	if g.Rate == 0 && x.Rate != 0 {
		r.report(path+".rate", "%v Gb/s is not a rate of InfiniBand", x.Rate)
	}
	r.apply(path, registry.PutGroup{Group: g})
	for i, m := range x.Members {
		at := fmt.Sprintf("%s.members[%d]", path, i)
		r.apply(at, registry.PutMember{Member: registry.Member{MGID: g.MGID, Port: r.gid(at+".port", m.Port), JoinState: registry.JoinState(m.JoinState), Proxy: m.Proxy}})
	}
}

func (r *exportReader) service(path string, x *exportedServ) {
	v := registry.Service{
		ServiceKey: registry.ServiceKey{ID: r.number(path+".id", x.ID, 64), GID: r.gid(path+".gid", x.GID), PKey: mad.PKey(r.number(path+".pkey", x.PKey, 16))},
		Lease:      x.Lease, Expires: x.Ends,
	}
	name, err := strconv.Unquote(`"` + strings.ReplaceAll(x.Name, `"`, `\"`) + `"`)
	if err != nil || len(name) > len(v.Name) {
		r.report(path+".name", "expected a text of up to %d bytes", len(v.Name))
	}
	copy(v.Name[:], name)
	r.bytes(path+".key", x.Key, v.Key[:])
	r.bytes(path+".data", x.Data, v.Data[:])
	r.apply(path, registry.PutService{Service: v})
}

func (r *exportReader) subscription(path string, x *exportedSubscr) {
	d := registry.Destination{Addr: mad.Addr{LID: x.LID, QPN: x.QPN, SL: x.SL, PathBits: x.PathBits}}
	if x.PKey != "" {
		d.PKey = mad.PKey(r.number(path+".pkey", x.PKey, 16))
	}
	if g := x.GRH; g != nil {
		d.Addr.GRH = mad.GRH{Present: true, GID: r.gid(path+".grh.dgid", g.DGID), FlowLabel: g.FlowLabel, TrafficClass: g.TrafficClass, HopLimit: g.HopLimit}
	}
	r.apply(path, registry.PutSubscription{Subscription: registry.Subscription{
		SubscriptionKey: registry.SubscriptionKey{Subscriber: r.gid(path+".subscriber", x.Subscriber), QPN: x.QPN, Filter: registry.Filter{
			GID: r.gid(path+".gid", x.GID), LIDBegin: x.LIDBegin, LIDEnd: x.LIDEnd, Generic: x.Generic, Type: x.Type, Trap: x.Trap, Producer: x.Producer,
		}},
		Destination: d,
	}})
}
