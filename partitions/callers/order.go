package callers

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/rights"
)

// Limits of what callers put. A port can be in partitions.MaxKeys of them.
const (
	MaxPartitions = 10_000
	MaxMembers    = 250_000 // of all partitions
)

// Reuse is for how long a P_Key that was in use is not given to a new partition that does not name one, in seconds.
const Reuse = 3600

// Member is one that a caller names: exactly one of Port and Host is set.
type Member struct {
	Port       mad.GUID
	Host       string
	Membership partitions.Membership
	Index0     bool
}

func (m *Member) key(of mad.PKey) registry.MemberKey {
	return registry.MemberKey{Key: of, Port: m.Port, Host: m.Host}
}

// memberOf is a member as it is.
func memberOf(m *registry.PartitionMember) Member {
	return Member{Port: m.Port, Host: m.Host, Membership: partitions.Membership(m.Membership), Index0: m.Index0}
}

// name is the member for a message.
func (m *Member) name() string {
	if m.Host != "" {
		return strconv.Quote(m.Host)
	}
	return m.Port.String()
}

// Wanted is a partition that a caller puts whole.
type Wanted struct {
	Name  string
	Key   mad.PKey // 0 for the one that the partition has, or any that is free
	Note  string
	IPoIB bool
	MTU   mad.MTU  // 0 for the default; without IPoIB it has no effect
	Rate  mad.Rate // likewise
	SL    uint8
	Scope uint8 // 0 for link-local
	QKey  uint32
	// DeleteWhenEmpty has the partition deleted with its last member; one that would have no member is not made.
	DeleteWhenEmpty bool
	Members         []Member
	KeepMembers     bool // those that the partition has stay, and Members is empty
}

// WantedOf is a partition as it is, with its members.
func WantedOf(p *registry.Partition) *Wanted {
	return &Wanted{Name: p.Name, Key: p.Key, Note: p.Note, IPoIB: p.IPoIB, MTU: p.MTU, Rate: p.Rate, SL: p.SL,
		Scope: p.Scope, QKey: p.QKey, DeleteWhenEmpty: p.DeleteWhenEmpty, KeepMembers: true}
}

// Edit is a change of the members of a partition. A member that is there gets the values that are given.
type Edit struct {
	Add    []Member
	Remove []Member // their Membership and Index0 do not matter; those that are no members are no error
}

// Match says in which state a partition must be for an order to be carried out.
type Match struct {
	Number uint64 // of its last change; 0 for any
	Absent bool   // there must be none
}

// Rules are what an order has to agree with.
type Rules struct {
	File    *partitions.Policy // of the partition file; nil where there is none
	Range   [2]mad.PKey        // first and last of the P_Keys of partitions that name none
	Recent  map[mad.PKey]int64 // when the file had P_Keys that it has no more, in seconds since 1970; nil for none
	NoHosts bool               // members by name are refused: a host chooses its name
	// Claimed is the NodeDescription that two nodes have of a host, "" if none; nil for a subnet that is not known.
	Claimed func(host string) string
	User    *rights.User // that orders: a tenant changes only what is its own; nil for anything
	Now     int64        // seconds since 1970
}

// Kind is why an order is refused.
type Kind uint8

// Kinds of refusals.
const (
	Wrong     Kind = iota + 1 // the order itself
	Missing                   // there is no such partition
	Conflict                  // another partition, of the file or of callers, is in the way
	Changed                   // it is not in the state that Match names
	Full                      // a limit is reached
	Forbidden                 // the user may not change it
)

// Refusal is an order that is not carried out. Nothing has changed.
type Refusal struct {
	Kind  Kind
	Field string // of the order that is wrong; "" for none
	Text  string
}

// Error is the sentence for the caller.
func (r *Refusal) Error() string { return r.Text }

func refuse(kind Kind, field, format string, args ...any) *Refusal {
	return &Refusal{kind, field, fmt.Sprintf(format, args...)}
}

// Done is an order that was carried out, or had nothing to do.
type Done struct {
	Changes   []registry.Change // none if the State is as ordered already
	Partition registry.Partition
	Created   bool
	Deleted   bool
}

// CheckName reports a name that a partition of callers cannot have: it must be a word of partitions.conf and a part of
// an address, and no P_Key.
func CheckName(name string) error {
	const expected = "expected 1 to 64 letters, digits, and the characters . _ - @ +, such as tenant-7"
	if name == "" || len(name) > registry.MaxPartitionName {
		return refuse(Wrong, "name", "the name has %d bytes: %s", len(name), expected)
	}
	for i := range len(name) {
		if c := name[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			strings.IndexByte("._-@+", c) >= 0) {
			return refuse(Wrong, "name", "the name %q has the character %q: %s", name, name[i:i+1], expected)
		}
	}
	if _, err := strconv.ParseUint(name, 0, 64); err == nil || name == "." || name == ".." {
		return refuse(Wrong, "name", "the name %q reads as a number or a path: %s", name, expected)
	}
	return nil
}

// Put makes a partition what is wanted.
func (r *Rules) Put(state *registry.State, want *Wanted, match Match) (*Done, error) {
	if err := CheckName(want.Name); err != nil {
		return nil, err
	}
	was, is := state.PartitionNamed(want.Name)
	if err := cmp.Or(r.own(want.Name, was.Key), r.own(want.Name, want.Key),
		match.check(want.Name, was, is)); err != nil {
		return nil, err
	}
	if err := r.checkValues(want); err != nil {
		return nil, err
	}
	members, err := r.members(want.Members)
	if err != nil {
		return nil, err
	}
	key, err := r.key(state, want, was, is)
	if err != nil {
		return nil, err
	}
	if want.KeepMembers && is {
		for m := range state.PartitionMembers(was.Key) {
			members = append(members, memberOf(&m))
		}
	}
	if want.DeleteWhenEmpty && len(members) == 0 {
		return r.deleted(state, want.Name)
	}
	o := r.order(state)
	if is && was.Key != key {
		o.do(registry.DeletePartition{FormerPartition: registry.FormerPartition{Key: was.Key, Number: o.number,
			Since: r.Now}})
	}
	next := registry.Partition{Key: key, Name: want.Name, Note: want.Note, IPoIB: want.IPoIB, MTU: want.MTU,
		Rate: want.Rate, SL: want.SL, Scope: want.Scope, QKey: want.QKey, DeleteWhenEmpty: want.DeleteWhenEmpty}
	if now, has := state.Partition(key); has {
		next.Number, next.Since = now.Number, now.Since
		if next != now {
			o.put = true
		}
	} else {
		o.put = true
	}
	o.replace(key, members)
	return o.done(next, !is)
}

// Edit changes the members of a partition.
func (r *Rules) Edit(state *registry.State, name string, edit *Edit, match Match) (*Done, error) {
	was, is := state.PartitionNamed(name)
	if err := cmp.Or(r.own(name, was.Key), match.check(name, was, is)); err != nil {
		return nil, err
	}
	if !is {
		return nil, r.missing(name)
	}
	if err := r.fileHas(was.Key, was.Name); err != nil {
		return nil, err
	}
	add, err := r.members(edit.Add)
	if err != nil {
		return nil, err
	}
	o := r.order(state)
	added := make(map[registry.MemberKey]bool, len(add))
	for i := range add {
		added[add[i].key(was.Key)] = true
	}
	removed := map[registry.MemberKey]bool{}
	for i := range edit.Remove {
		k := edit.Remove[i].key(was.Key)
		if added[k] {
			return nil, refuse(Wrong, "remove", "member %s is both added and removed", edit.Remove[i].name())
		}
		if _, member := state.PartitionMember(k); member && !removed[k] {
			removed[k] = true
			o.remove(k)
		}
	}
	for i := range add {
		o.member(was.Key, &add[i])
	}
	if was.DeleteWhenEmpty && len(add) == 0 && len(removed) > 0 &&
		len(removed) == count(state.PartitionMembers(was.Key)) {
		return r.deleted(state, name)
	}
	return o.done(was, false)
}

func count(members iter.Seq[registry.PartitionMember]) (n int) {
	for range members {
		n++
	}
	return n
}

// Delete deletes a partition; one that there is not is no error.
func (r *Rules) Delete(state *registry.State, name string, match Match) (*Done, error) {
	was, is := state.PartitionNamed(name)
	if err := r.own(name, was.Key); err != nil {
		return nil, err
	}
	if match.Number != 0 {
		if err := match.check(name, was, is); err != nil {
			return nil, err
		}
	}
	if !is {
		if p := r.of(0, name); p != nil {
			return nil, r.taken("name", p.Name, p.Key, "%s has the partition %q: change it there", p.Where(), name)
		}
	}
	return r.deleted(state, name)
}

// deleted is the end of an order that deletes a partition, if there is one.
func (r *Rules) deleted(state *registry.State, name string) (*Done, error) {
	was, is := state.PartitionNamed(name)
	if !is {
		return &Done{Partition: registry.Partition{Name: name}}, nil
	}
	o := r.order(state)
	o.do(registry.DeletePartition{FormerPartition: registry.FormerPartition{Key: was.Key, Number: o.number,
		Since: r.Now}})
	was.Number, was.Since = o.number, r.Now
	return &Done{Changes: o.remembered(o.changes, &was, registry.PartitionDeleted), Partition: was, Deleted: true}, nil
}

func (m *Match) check(name string, was registry.Partition, is bool) error {
	switch {
	case m.Absent && is:
		return refuse(Changed, "", "there is a partition %q already, with P_Key %s", name, was.Key)
	case m.Number != 0 && (!is || was.Number != m.Number):
		return refuse(Changed, "", "partition %q has changed: its last change is number %d, not %d", name, was.Number,
			m.Number)
	}
	return nil
}

func (r *Rules) of(key mad.PKey, name string) *partitions.Partition {
	has := newOwner(r.File)
	return has.of(key, name)
}

// own refuses a partition that is not the user's, whether there is one or not. key is 0 for one that is not known.
func (r *Rules) own(name string, key mad.PKey) error {
	if r.User == nil || r.User.May(rights.ChangeOwn) && r.User.Partition(name, key) {
		return nil
	}
	return refuse(Forbidden, "name", "partition %q is not one that user %s may change", name, r.User.Name)
}

// taken refuses a name or P_Key that a partition has. Users see no partition but their own.
func (r *Rules) taken(field, name string, key mad.PKey, format string, args ...any) *Refusal {
	if r.User != nil && !r.User.Partition(name, key) {
		return refuse(Conflict, field, "the name or P_Key is that of a partition that user %s may not see", r.User.Name)
	}
	return refuse(Conflict, field, format, args...)
}

// FileHas refuses a P_Key that the file has.
func (r *Rules) FileHas(key mad.PKey) error { return r.fileHas(key, "") }

// fileHas refuses what the file has.
func (r *Rules) fileHas(key mad.PKey, name string) error {
	p := r.of(key, name)
	switch {
	case p == nil:
		return nil
	case p.Key == key.Base():
		return r.taken("pkey", p.Name, p.Key, "%s has P_Key %s, as partition %q: change it there", p.Where(), p.Key, p.Name)
	}
	return r.taken("name", p.Name, p.Key, "%s has a partition %q, with P_Key %s: change it there", p.Where(), p.Name,
		p.Key)
}

func (r *Rules) missing(name string) error {
	if p := r.of(0, name); p != nil {
		return r.taken("name", p.Name, p.Key, "%s has the partition %q: change it there", p.Where(), name)
	}
	return refuse(Missing, "", "there is no partition %q", name)
}

// checkValues checks what does not depend on other partitions.
func (r *Rules) checkValues(w *Wanted) error {
	switch {
	case len(w.Note) > registry.MaxPartitionNote || strings.IndexByte(w.Note, 0) >= 0:
		return refuse(Wrong, "note", "the note has %d bytes: at most %d are stored, none of them 0", len(w.Note),
			registry.MaxPartitionNote)
	case w.MTU != 0 && w.MTU.Bytes() == 0:
		return refuse(Wrong, "mtu", "MTU code %d is not valid: expected 256, 512, 1024, 2048 or 4096 bytes", w.MTU)
	case w.Rate != 0 && w.Rate.Gbps() == 0:
		return refuse(Wrong, "rate", "rate code %d is not valid: expected Gb/s such as 100", w.Rate)
	case w.SL > 15:
		return refuse(Wrong, "sl", "SL %d is not valid: expected 0 to 15", w.SL)
	case w.Scope > 15:
		return refuse(Wrong, "scope", "scope %d is not valid: expected 1 to 15, or 0 for link-local", w.Scope)
	case !w.IPoIB && (w.Scope != 0 || w.QKey != 0):
		return refuse(Wrong, "ipoib", "scope and qkey belong to the broadcast group: set ipoib too")
	}
	return nil
}

// members checks members, and returns them without those that are named twice alike.
func (r *Rules) members(all []Member) ([]Member, error) {
	seen := make(map[registry.MemberKey]Member, len(all))
	once := make([]Member, 0, len(all))
	for i := range all {
		m := all[i]
		m.Membership = cmp.Or(m.Membership, partitions.Full)
		if err := r.checkMember(&m); err != nil {
			return nil, err
		}
		if was, twice := seen[m.key(0)]; twice {
			if was != m {
				return nil, refuse(Wrong, "members", "member %s is named twice, with different values", m.name())
			}
			continue
		}
		seen[m.key(0)] = m
		once = append(once, m)
	}
	return once, nil
}

func (r *Rules) checkMember(m *Member) error {
	switch {
	case (m.Port == 0) == (m.Host == ""):
		return refuse(Wrong, "members",
			`a member has either a guid, such as "0xb83fd20300a00020", or a host, such as "node-7"`)
	case m.Membership > partitions.Both:
		return refuse(Wrong, "membership", "membership %d is not valid: expected full, limited or both", m.Membership)
	case m.Host == "":
		return nil
	case r.NoHosts:
		return refuse(Wrong, "host",
			"member %s: with security tenants members are named by port GUID, since a host chooses its own name", m.name())
	}
	if named, err := partitions.ParseMember(m.Host); err != nil || named.Who != partitions.Hosts || named.IsPattern() ||
		named.Name != m.Host {
		return refuse(Wrong, "host", "%s is not the name of a host: expected the first word of a NodeDescription", m.name())
	}
	if r.Claimed != nil {
		if desc := r.Claimed(m.Host); desc != "" {
			return refuse(Conflict, "host", "two nodes have the NodeDescription %q: name the ports of host %s by GUID",
				desc, m.name())
		}
	}
	return nil
}

// key is the P_Key of a wanted partition.
func (r *Rules) key(state *registry.State, w *Wanted, was registry.Partition, is bool) (mad.PKey, error) {
	key := w.Key
	switch {
	case key == 0 && is:
		key = was.Key
	case key == 0:
		free, err := r.free(state)
		if err != nil {
			return 0, err
		}
		key = free
	case key != key.Base() || !key.Valid() || key == partitions.DefaultKey:
		return 0, refuse(Wrong, "pkey", "P_Key %s is not valid: expected 0x1 to 0x7ffe, such as 0x2fb, or auto", w.Key)
	}
	if err := r.fileHas(key, w.Name); err != nil {
		return 0, err
	}
	if other, taken := state.Partition(key); taken && other.Name != w.Name {
		return 0, r.taken("pkey", other.Name, key, "partition %q has P_Key %s already", other.Name, key)
	}
	return key, nil
}

// free is the lowest P_Key of the range that is not in use, and has not been for some time.
func (r *Rules) free(state *registry.State) (mad.PKey, error) {
	has := newOwner(r.File)
	ranges := [][2]mad.PKey{r.Range}
	if r.User != nil && r.User.Role == rights.Tenant && len(r.User.Scope.Keys) > 0 {
		ranges = r.User.Scope.Keys
	}
	for _, of := range ranges {
		for key := of[0]; key <= of[1]; key++ {
			if _, taken := state.Partition(key); taken || key == partitions.DefaultKey || has.byKey[key] != nil {
				continue
			}
			former, was := state.FormerPartition(key)
			inFile, wasInFile := r.Recent[key]
			if was && r.Now-former.Since < Reuse || wasInFile && r.Now-inFile < Reuse {
				continue
			}
			return key, nil
		}
	}
	return 0, refuse(Full, "pkey", "no P_Key from %s to %s is free, or has been free for an hour: name one",
		ranges[0][0], ranges[len(ranges)-1][1])
}

// order is a change under way.
type order struct {
	rules   *Rules
	state   *registry.State
	number  uint64
	changes []registry.Change
	more    int    // members
	put     bool   // the partition itself changes
	foreign string // a member that the user may not name; "" for none
}

func (r *Rules) order(state *registry.State) *order {
	return &order{rules: r, state: state, number: state.PartitionNumber() + 1}
}

func (o *order) do(c registry.Change) { o.changes = append(o.changes, c) }

// replace makes members those of a partition.
func (o *order) replace(key mad.PKey, members []Member) {
	stay := make(map[registry.MemberKey]bool, len(members))
	for i := range members {
		stay[members[i].key(key)] = true
	}
	for m := range o.state.PartitionMembers(key) {
		if !stay[m.MemberKey] {
			o.remove(m.MemberKey)
		}
	}
	for i := range members {
		o.member(key, &members[i])
	}
}

func (o *order) remove(k registry.MemberKey) {
	o.more--
	o.do(registry.DeletePartitionMember{MemberKey: k})
}

// member makes a member what is wanted.
func (o *order) member(key mad.PKey, m *Member) {
	was, is := o.state.PartitionMember(m.key(key))
	next := registry.PartitionMember{MemberKey: m.key(key), Membership: registry.Membership(m.Membership),
		Index0: m.Index0, Number: was.Number, Since: was.Since}
	if is && next == was {
		return
	}
	if !is {
		o.more++
	}
	next.Number, next.Since = o.number, o.rules.Now
	o.putMember(next)
}

func (o *order) putMember(m registry.PartitionMember) {
	if u := o.rules.User; u != nil && !u.Member(m.Port, m.Host) {
		named := memberOf(&m)
		o.foreign = named.name()
	}
	o.do(registry.PutPartitionMember{PartitionMember: m})
}

// checkMembers refuses an order that names a member which is not the user's.
func (o *order) checkMembers() error {
	if o.foreign == "" {
		return nil
	}
	return refuse(Forbidden, "members", "user %s may not make %s a member: it is not among the hosts and GUIDs of this user",
		o.rules.User.Name, o.foreign)
}

// done is the end of an order about a partition.
func (o *order) done(p registry.Partition, created bool) (*Done, error) {
	if len(o.changes) == 0 && !o.put {
		return &Done{Partition: p}, nil
	}
	if err := o.checkMembers(); err != nil {
		return nil, err
	}
	count := o.state.Counts()
	switch {
	case created && count.Partitions >= MaxPartitions:
		return nil, refuse(Full, "", "there are %d partitions of callers, and no more are stored", count.Partitions)
	case o.more > 0 && count.PartitionMembers+o.more > MaxMembers:
		return nil, refuse(Full, "members", "the partitions of callers have %d members, and at most %d are stored",
			count.PartitionMembers, MaxMembers)
	}
	p.Number, p.Since = o.number, o.rules.Now
	// what is deleted first makes room for a name; members come behind their partition
	at := 0
	for at < len(o.changes) {
		if _, deletes := o.changes[at].(registry.DeletePartition); !deletes {
			break
		}
		at++
	}
	changes := slices.Insert(o.changes, at, registry.Change(registry.PutPartition{Partition: p}))
	kind := registry.PartitionChanged
	if created {
		kind = registry.PartitionCreated
	}
	return &Done{Changes: o.remembered(changes, &p, kind), Partition: p, Created: created}, nil
}
