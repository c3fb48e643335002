package ctl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
)

// PartitionSource is the partitions of the file and of callers. All methods are safe for concurrent use.
type PartitionSource interface {
	// ChangePartition carries an order out, and returns when the change is stored and mirrored. The error may be a
	// callers.Refusal.
	ChangePartition(o *PartitionOrder) (*PartitionChanged, error)
	// Partition is one that a user may see, with its members. With ready it waits, until ctx is done, until the
	// partition is ready.
	Partition(ctx context.Context, by *rights.User, name string, ready bool) (*Partition, error)
	// Partitions are those of the file and then those of callers, by P_Key.
	Partitions(q *PartitionQuery) (iter.Seq[*Partition], error)
	// ExportPartitions is those of callers as partitions.conf.
	ExportPartitions() ([]byte, error)
	// PartitionHistory are the last changes of those of callers that a user may see, oldest first.
	PartitionHistory(by *rights.User) ([]PartitionEdit, error)
}

// PartitionOrder is a change of a partition of callers.
type PartitionOrder struct {
	By *rights.User // who orders it
	// Decide makes the changes by the rules in force, for By, in a state. It is called once at most, at the order's
	// turn, by another goroutine, and computes quickly.
	Decide func(rules *callers.Rules, state *registry.State) (*callers.Done, error)
	// Strict refuses the order if a host that it names is not known, or the P_Key table of a member is full.
	Strict bool
}

// PartitionChanged is what has become of a PartitionOrder.
type PartitionChanged struct {
	Name    string    `json:"name"`
	PKey    string    `json:"pkey,omitempty"`   // "" of a partition that was gone already
	Number  uint64    `json:"number,omitempty"` // of the last change of the partition
	ETag    string    `json:"etag,omitempty"`   // the same for If-Match; "" of a partition that is gone
	Since   time.Time `json:"since,omitzero"`   // of that change
	Created bool      `json:"created"`
	Deleted bool      `json:"-"`
	Changed bool      `json:"changed"` // false if nothing had to be done
	Put     int       `json:"put"`     // members that were added or changed
	Removed int       `json:"removed"` // members
	// Mirrored is false if a standby did not acknowledge the change within two seconds.
	Mirrored bool `json:"mirrored"`
	// Before and After are the change for an audit, as from PartitionChange.
	Before *PartitionValues `json:"-"`
	After  *PartitionValues `json:"-"`
}

// PartitionQuery says which partitions a list has. With By alone it is all that the user may see.
type PartitionQuery struct {
	By         *rights.User
	Name, PKey string
	Host, GUID string // with this member
	Origin     string // file or caller
	Members    bool   // with members
}

// Origins of partitions.
const (
	OfFile   = "file"
	OfCaller = "caller"
)

// Partition is a partition with its state.
type Partition struct {
	Name     string `json:"name"`
	PKey     string `json:"pkey"`
	Origin   string `json:"origin"`             // OfFile or OfCaller
	Position string `json:"position,omitempty"` // in the file
	// All is the membership that a partition of the file gives all ports of hosts but those that it names otherwise, ""
	// for none.
	All   string  `json:"all,omitempty"`
	Note  string  `json:"note,omitempty"`
	IPoIB bool    `json:"ipoib"`
	MTU   int     `json:"mtu,omitempty"`  // of the group, in bytes; 0 for the default
	Rate  float64 `json:"rate,omitempty"` // of the group, in Gb/s; 0 for the default
	SL    uint8   `json:"sl,omitempty"`
	Scope uint8   `json:"scope,omitempty"`
	QKey  string  `json:"qkey,omitempty"`
	// DeleteWhenEmpty says that a caller's partition goes with its last member.
	DeleteWhenEmpty bool      `json:"delete_when_empty,omitempty"`
	ETag            string    `json:"etag,omitempty"` // of a caller's
	Number          uint64    `json:"number,omitempty"`
	Since           time.Time `json:"since,omitzero"`
	Held            string    `json:"held,omitempty"` // why a caller's is not in force
	// Ready says that all members are applied, or have not been seen.
	Ready  bool           `json:"ready"`
	States map[string]int `json:"states"` // number of members by state
	// Members are the members; nil where they were not asked for. Those of the file are ports.
	Members []PartitionMember `json:"members,omitzero"`
}

// PartitionMember is a member with its state. Exactly one of GUID and Host is set.
type PartitionMember struct {
	GUID       string       `json:"guid,omitempty"`
	Host       string       `json:"host,omitempty"`
	Membership string       `json:"membership"`
	Index0     bool         `json:"index0,omitempty"`
	State      string       `json:"state,omitempty"` // the worst one of its ports
	Why        string       `json:"why,omitempty"`
	Since      time.Time    `json:"since,omitzero"` // it is a member like this
	Ports      []MemberPort `json:"ports,omitempty"`
}

// MemberPort is a port that a member is.
type MemberPort struct {
	GUID string `json:"guid"`
	Host string `json:"host,omitempty"`
	Desc string `json:"desc"`
	Num  uint8  `json:"num"`
	// VPort is the index of the vPort behind the port whose GUID it is; nil where it is the port itself.
	VPort *uint16 `json:"vport,omitempty"`
	// State and Why are those of one of several ports; "" where it is the only one: then they are the member's.
	State string `json:"state,omitempty"`
	Why   string `json:"why,omitempty"`
}

// PartitionPatch is the body of a PATCH.
type PartitionPatch struct {
	Add    []PartitionMember `json:"add,omitempty"`
	Remove []PartitionMember `json:"remove,omitempty"`
}

const partitionPath = "/v1/partition/"

// Limits of requests about partitions of callers.
const (
	maxPartitionBody = 16 << 20 // bytes
	maxReady         = 60       // seconds that a request may wait for a partition
	maxReadyWaits    = 16       // such requests at a time: they hold connections
)

// partitionSource returns the Source of partitions.
func (s *Server) partitionSource() (PartitionSource, error) {
	return s.cfg.Partitions, has(s.cfg.Partitions != nil, "partitions")
}

// putPartition makes a partition what the body says.
func (s *Server) putPartition(w http.ResponseWriter, r *http.Request) error {
	var wanted *callers.Wanted
	err := s.partitionBody(w, r, func(body io.Reader) (err error) {
		wanted, err = parseWanted(body, r.PathValue("name"))
		return err
	})
	return s.changePartition(w, r, err,
		func(rules *callers.Rules, state *registry.State, match callers.Match) (*callers.Done, error) {
			return rules.Put(state, wanted, match)
		})
}

// patchPartition adds and removes the members in the body.
func (s *Server) patchPartition(w http.ResponseWriter, r *http.Request) error {
	var edit *callers.Edit
	err := s.partitionBody(w, r, func(body io.Reader) (err error) {
		edit, err = parseEdit(body)
		return err
	})
	return s.changePartition(w, r, err,
		func(rules *callers.Rules, state *registry.State, match callers.Match) (*callers.Done, error) {
			return rules.Edit(state, r.PathValue("name"), edit, match)
		})
}

func (s *Server) deletePartition(w http.ResponseWriter, r *http.Request) error {
	return s.changePartition(w, r, nil,
		func(rules *callers.Rules, state *registry.State, match callers.Match) (*callers.Done, error) {
			return rules.Delete(state, r.PathValue("name"), match)
		})
}

// partitionBody parses the body of a request. Long ones are parsed a few at a time.
func (s *Server) partitionBody(w http.ResponseWriter, r *http.Request, parse func(io.Reader) error) error {
	control := w.(*patient).control
	body := http.MaxBytesReader(w, r.Body, maxPartitionBody)
	begin, err := io.ReadAll(io.LimitReader(body, shortText+1))
	if len(begin) > shortText {
		if err := s.partitionBodies.take(r.Context()); err != nil {
			return err
		}
		defer s.partitionBodies.end()
		control.SetReadDeadline(time.Now().Add(s.cfg.Patience)) // it may have waited for its turn
	}
	if err != nil {
		return fmt.Errorf("%w: the body ends after %d bytes: %w", ErrBadRequest, len(begin), err)
	}
	err = parse(io.MultiReader(bytes.NewReader(begin), body))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return fmt.Errorf("%w: the body has more than %d bytes: no more are read", ErrBadRequest, large.Limit)
	}
	if err == nil {
		control.SetReadDeadline(time.Time{}) // as without a body: the reply may take long
	}
	return err
}

// changePartition carries an order out, unless err is set, and replies.
func (s *Server) changePartition(w http.ResponseWriter, r *http.Request, err error,
	decide func(*callers.Rules, *registry.State, callers.Match) (*callers.Done, error)) error {
	source, none := s.partitionSource()
	if err = cmp.Or(none, err); err != nil {
		return err
	}
	o := &PartitionOrder{By: rights.Of(r.Context())}
	strict := r.URL.Query().Get("strict")
	if o.Strict = strict == "1" || strict == "true"; !o.Strict && strict != "" && strict != "0" && strict != "false" {
		return fmt.Errorf("%w: parameter strict=%q: expected true or false", ErrBadRequest, strict)
	}
	match, err := matchOf(r.Header)
	if err != nil {
		return err
	}
	o.Decide = func(rules *callers.Rules, state *registry.State) (*callers.Done, error) {
		return decide(rules, state, match)
	}
	return s.carryOut(w, source, o)
}

// carryOut carries an order out, and replies.
func (s *Server) carryOut(w http.ResponseWriter, source PartitionSource, o *PartitionOrder) error {
	done, err := ChangePartition(w, source, s.cfg.Logger, o)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.Created {
		status = http.StatusCreated
	}
	if done.ETag != "" {
		w.Header().Set("ETag", done.ETag)
	}
	s.reply(w, status, done)
	return nil
}

// ChangePartition carries an order out for a request, which has no reply yet, and logs the change.
func ChangePartition(w http.ResponseWriter, source PartitionSource, to *slog.Logger, o *PartitionOrder) (
	*PartitionChanged, error) {
	done, err := source.ChangePartition(o)
	if done != nil && (done.Changed || !done.Mirrored) { // also where the error is that the store does not have it yet
		logPartition(to, o.By, done)
		NoteChange(w, done.Before, done.After)
	}
	if errors.Is(err, ErrNotNow) {
		w.Header().Set("Retry-After", "1")
	}
	return done, err
}

// logPartition logs a change, which is an event then.
func logPartition(to *slog.Logger, by *rights.User, done *PartitionChanged) {
	what := "changed"
	switch {
	case done.Created:
		what = "created"
	case done.Deleted:
		what = "deleted"
	}
	log, text := to.Info, "a caller's partition was "+what
	if !done.Mirrored {
		log, text = to.Warn, text+", and no standby has acknowledged it within two seconds"
	}
	log(text, "by", by.Name, "partition", done.Name,
		"pkey", done.PKey, "number", done.Number, "put", done.Put, "removed", done.Removed)
}

// ETag is the tag of the state of a partition after a change.
func ETag(number uint64) string { return `"` + strconv.FormatUint(number, 10) + `"` }

// matchOf is the condition of a request.
func matchOf(h http.Header) (m callers.Match, err error) {
	if none := strings.Join(h.Values("If-None-Match"), ", "); none != "" {
		if m.Absent = none == "*"; !m.Absent {
			return m, fmt.Errorf("%w: header If-None-Match: %s: expected *", ErrBadRequest, none)
		}
	}
	tag := strings.Join(h.Values("If-Match"), ", ")
	if tag == "" {
		return m, nil
	}
	number, left := strings.CutPrefix(tag, `"`)
	number, right := strings.CutSuffix(number, `"`)
	if m.Number, err = strconv.ParseUint(number, 10, 64); err != nil || m.Number == 0 || !left || !right || m.Absent {
		return m, fmt.Errorf("%w: header If-Match: %s: expected one ETag, such as \"12\", and no If-None-Match",
			ErrBadRequest, tag)
	}
	return m, nil
}

// partition answers with a partition, with wait=ready when it is ready or the time is over.
func (s *Server) partition(w http.ResponseWriter, r *http.Request) error {
	source, err := s.partitionSource()
	seconds, wrong := number(r, "seconds", 16)
	wait := r.URL.Query().Get("wait")
	if err = cmp.Or(err, wrong); err != nil {
		return err
	}
	switch {
	case wait != "" && wait != "ready":
		err = fmt.Errorf("%w: parameter wait=%q: expected ready", ErrBadRequest, wait)
	case r.URL.Query().Has("seconds") && (wait == "" || seconds < 1 || seconds > maxReady):
		err = fmt.Errorf("%w: parameter seconds=%d: expected 1 to %d, with wait=ready", ErrBadRequest, seconds, maxReady)
	}
	if err != nil {
		return err
	}
	if wait != "" {
		select {
		case s.partitionWaits <- struct{}{}:
			defer func() { <-s.partitionWaits }()
		default:
			w.Header().Set("Retry-After", "1")
			return fmt.Errorf("%w: %d requests already wait for partitions", ErrNotNow, cap(s.partitionWaits))
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(cmp.Or(seconds, maxReady/2))*time.Second)
	defer cancel()
	p, err := source.Partition(ctx, rights.Of(ctx), r.PathValue("name"), wait == "ready")
	if err != nil {
		return err
	}
	if p.ETag != "" {
		w.Header().Set("ETag", p.ETag)
	}
	s.reply(w, http.StatusOK, p)
	return nil
}

// partitionList answers with partitions.
func (s *Server) partitionList(w http.ResponseWriter, r *http.Request) error {
	source, err := s.partitionSource()
	members, wrong := flag(r, "members")
	if err = cmp.Or(err, wrong); err != nil {
		return err
	}
	query := r.URL.Query()
	q := &PartitionQuery{By: rights.Of(r.Context()), Name: query.Get("name"),
		PKey: query.Get("pkey"), Host: query.Get("host"),
		GUID: query.Get("guid"), Origin: query.Get("origin"), Members: members}
	if q.Origin != "" && q.Origin != OfFile && q.Origin != OfCaller {
		return fmt.Errorf("%w: parameter origin=%q: expected %s or %s", ErrBadRequest, q.Origin, OfFile, OfCaller)
	}
	rows, err := source.Partitions(q)
	if err != nil {
		return err
	}
	sendList(w, "partitions", nil, rows)
	return nil
}

// exportPartitions answers with the partitions of callers as partitions.conf.
func (s *Server) exportPartitions(w http.ResponseWriter, r *http.Request) error {
	source, err := s.partitionSource()
	if err != nil {
		return err
	}
	text, err := source.ExportPartitions()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Write(text)
	return nil
}

// refusalStatus is the status of each kind of refusal.
var refusalStatus = map[callers.Kind]int{callers.Wrong: http.StatusBadRequest, callers.Missing: http.StatusNotFound,
	callers.Conflict: http.StatusConflict, callers.Changed: http.StatusPreconditionFailed,
	callers.Full: http.StatusInsufficientStorage, callers.Forbidden: http.StatusForbidden}
