package ctl

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// PKeys is the list of the entries of end ports' partition tables, of PKey, by node GUID,
// port number and index.
const PKeys List = "pkeys"

// PKey is an entry of a port's partition table.
type PKey struct {
	Port      string `json:"port"` // GUID
	Desc      string `json:"desc"` // of the node
	Num       uint8  `json:"num"`
	Index     int    `json:"index"`
	PKey      string `json:"pkey"` // with the membership
	Member    string `json:"member"`
	Partition string `json:"partition,omitempty"` // its name, where a file gives one
	Checked   string `json:"checked"`             // by the switch before the port: in, out, both or off
}

// Why says which line of the partition file in force decides whether a port is in a
// partition.
type Why struct {
	Port      string `json:"port"` // GUID
	Desc      string `json:"desc"`
	PKey      string `json:"pkey"`                // without the membership
	Partition string `json:"partition,omitempty"` // "" where no partition has the key
	Member    string `json:"member,omitempty"`    // full, limited or both; "" for no member
	Rule      string `json:"rule,omitempty"`      // as the file writes it, such as ALL=limited
	Place     string `json:"place,omitempty"`     // file:line:column; "" for what holds unless a file says otherwise
	Held      string `json:"held,omitempty"`      // the key that the port holds
}

// PartitionRow is one row of what a partition file would do: exactly one field is set.
type PartitionRow struct {
	File    *PartitionFile `json:"file,omitempty"` // the first row
	Finding *Finding       `json:"finding,omitempty"`
	Change  *PKeyChange    `json:"change,omitempty"`
}

// PartitionFile is a file that was read.
type PartitionFile struct {
	Name string `json:"name"`
	// Refused says that it has errors, and what was in force stays.
	Refused bool `json:"refused"`
	// InForce says that it is what the fabric holds.
	InForce bool `json:"in_force"`
}

// PKeyChange is an entry of a port's partition table that changes.
type PKeyChange struct {
	GUID  string `json:"guid"` // of the port, or of the switch of an external port
	Desc  string `json:"desc"`
	Num   uint8  `json:"num"`
	Index int    `json:"index"`
	From  string `json:"from,omitempty"` // "" for none
	To    string `json:"to,omitempty"`
}

// Partitioner reads partition files for a manager. The rows are the outcome as the
// manager sees it at that moment.
type Partitioner interface {
	// PlanPartitions is what a text would do, or of nil the manager's own file.
	PlanPartitions(text []byte) ([]PartitionRow, error)
	// ApplyPartitions brings the manager's file into force unless it has errors, and does
	// not wait until it is.
	ApplyPartitions() ([]PartitionRow, error)
}

// MaxPartitionFile is the longest text that is taken to be planned, in bytes.
const MaxPartitionFile = 64 << 20

// planPartitions takes the text of a file as the body of the request.
func (s *Server) planPartitions(w http.ResponseWriter, r *http.Request) {
	s.partitions(w, r, func(p Partitioner) ([]PartitionRow, error) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxPartitionFile))
		if err != nil {
			return nil, fmt.Errorf("%w: the file: %w", ErrBadRequest, err)
		}
		if len(text) == 0 {
			text = nil
		}
		return p.PlanPartitions(text)
	})
}

func (s *Server) applyPartitions(w http.ResponseWriter, r *http.Request) {
	s.partitions(w, r, func(p Partitioner) ([]PartitionRow, error) {
		s.cfg.Logger.Info("the partition file is read again, as asked for over the control socket")
		return p.ApplyPartitions()
	})
}

// partitions answers with rows, for one client at a time.
func (s *Server) partitions(w http.ResponseWriter, r *http.Request, rows func(Partitioner) ([]PartitionRow, error)) {
	err := known(r)
	if err == nil && s.cfg.Partitions == nil {
		err = fmt.Errorf("%w: there are no partitions here", ErrNotFound)
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	if !s.begin(w) {
		return
	}
	defer s.end()
	list, err := rows(s.cfg.Partitions)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	sendList(w, "rows", "", slices.Values(list))
}

// why answers about one port and one partition.
func (s *Server) why(w http.ResponseWriter, r *http.Request) {
	err := known(r, "port", "pkey")
	port, partition := r.URL.Query().Get("port"), r.URL.Query().Get("pkey")
	if err == nil && (port == "" || partition == "") {
		err = fmt.Errorf("%w: want the parameters port and pkey", ErrBadRequest)
	}
	if err != nil {
		s.fail(w, err, "port is a LID, GUID, GID or NodeDescription, pkey a number such as 0x8001 or the name of a partition")
		return
	}
	sub, ok := s.subnet(w)
	if !ok {
		return
	}
	why, err := sub.Why(port, partition)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, why)
}
