package ctl

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"ibsm/partitions"
)

// PKeys is the list of P_Key table entries of end ports, of PKey, by node GUID, port number
// and index.
const PKeys List = "pkeys"

// PKey is an entry of a port's P_Key table.
type PKey struct {
	Port      string `json:"port"` // GUID
	Desc      string `json:"desc"` // of the node
	Num       uint8  `json:"num"`
	Index     int    `json:"index"`
	PKey      string `json:"pkey"` // with the membership
	Member    string `json:"member"`
	Partition string `json:"partition,omitempty"` // its name, if a file defines it
	Checked   string `json:"checked"`             // enforcement by the switch port: in, out, both or off
	Stopped   bool   `json:"stopped,omitempty"`   // the switch port drops packets with it, from the port or to it
	// VPort is the index of the vPort behind port Num whose entry it is; nil where it is the port's.
	VPort *uint16 `json:"vport,omitempty"`
}

// Why is the line of the partition file in force that decides whether a port is in a
// partition.
type Why struct {
	Port      string `json:"port"` // GUID
	Desc      string `json:"desc"`
	PKey      string `json:"pkey"`                // without the membership
	Partition string `json:"partition,omitempty"` // "" if no partition has the P_Key
	Member    string `json:"member,omitempty"`    // full, limited or both; "" for no member
	Rule      string `json:"rule,omitempty"`      // as written in the file, such as ALL=limited
	Position  string `json:"position,omitempty"`  // file:line:column; "" for the implicit default
	Caller    string `json:"caller,omitempty"`    // a caller's partition decides, and which change of it
	Current   string `json:"current,omitempty"`   // the entry in the port's P_Key table
}

// PartitionRow is one row of a partition plan: exactly one field is set.
type PartitionRow struct {
	File    *PartitionFile `json:"file,omitempty"` // the first row
	Finding *Finding       `json:"finding,omitempty"`
	Change  *PKeyChange    `json:"change,omitempty"`
}

// PartitionFile is a file that was read.
type PartitionFile struct {
	Name string `json:"name"`
	// Refused is set if the file has errors; then the partitions in force do not change.
	Refused bool `json:"refused"`
	// Dangerous is set if the file has dangerous lines that are not in force: it is applied only
	// by force.
	Dangerous bool `json:"dangerous"`
	// InForce is set if the P_Key tables of the fabric agree with the file.
	InForce bool `json:"in_force"`
}

// PKeyChange is a changed entry of a port's P_Key table.
type PKeyChange struct {
	GUID  string `json:"guid"` // of the port, or of the switch of an external port
	Desc  string `json:"desc"`
	Num   uint8  `json:"num"`
	Index int    `json:"index"`
	From  string `json:"from,omitempty"` // "" for none
	To    string `json:"to,omitempty"`
	// VPort is the index of the vPort behind port Num whose entry it is; nil where it is the port's.
	VPort *uint16 `json:"vport,omitempty"`
}

const partitionPlan = "/v1/partitions/plan"

// planPartitions answers with the changes by the file in the request body, when it has its turn.
func (s *Server) planPartitions(w http.ResponseWriter, r *http.Request) error {
	body := &partitionText{w: w, r: r}
	if r.ContentLength >= 0 && r.ContentLength <= shortText {
		if err := body.read(); err != nil {
			return err
		}
	}
	return s.partitions(w, r, s.partitionPlans, func() ([]PartitionRow, error) {
		if err := body.read(); err != nil {
			return nil, err
		}
		return s.cfg.PlanPartitions(body.text)
	})
}

// partitionText is the text of a file in a request body. As long as it is not read, it does not show whether the client
// has left.
type partitionText struct {
	w    http.ResponseWriter
	r    *http.Request
	done bool
	text []byte // nil for none
}

// read reads the text, once.
func (t *partitionText) read() error {
	if t.done {
		return nil
	}
	p := t.w.(*patient)
	p.control.SetReadDeadline(time.Now().Add(p.server.cfg.Patience)) // it may have waited for its turn
	text, err := io.ReadAll(http.MaxBytesReader(t.w, t.r.Body, partitions.MaxFile))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return fmt.Errorf("%w: the file: more than %d bytes: no more are read", ErrBadRequest, large.Limit)
	}
	if err != nil {
		return fmt.Errorf("%w: the file: %w", ErrBadRequest, err)
	}
	p.control.SetReadDeadline(time.Time{}) // as without a body: the reply may take long
	if t.done = true; len(text) > 0 {
		t.text = text
	}
	return nil
}

// applyPartitions applies the manager's file. It does not wait for previews.
func (s *Server) applyPartitions(w http.ResponseWriter, r *http.Request) error {
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	return s.partitions(w, r, s.partitionApplies, func() ([]PartitionRow, error) {
		s.cfg.Logger.Info("partition file reload requested over the control socket", "force", force)
		return s.cfg.ApplyPartitions(force)
	})
}

// partitions answers with rows, when the request has its turn.
func (s *Server) partitions(w http.ResponseWriter, r *http.Request, of turns,
	rows func() ([]PartitionRow, error)) error {
	if err := has(s.cfg.PlanPartitions != nil, "partitions"); err != nil {
		return err
	}
	if err := of.take(r.Context()); err != nil {
		return err
	}
	defer of.end()
	list, err := rows()
	if err != nil {
		return err
	}
	sendList(w, "rows", nil, slices.Values(list))
	return nil
}

// why answers about one port and one partition.
func (s *Server) why(r *http.Request) (any, error) {
	port, partition := r.URL.Query().Get("port"), r.URL.Query().Get("pkey")
	if port == "" || partition == "" {
		return nil, hint(fmt.Errorf("%w: parameters port and pkey are required", ErrBadRequest),
			"port is a LID, GUID, GID or NodeDescription, pkey a number such as 0x8001 or the name of a partition")
	}
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Why(port, partition)
}
