package ctl

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
)

// PartitionEdit is a change of a partition of callers that is remembered.
type PartitionEdit struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Name    string    `json:"name"`
	PKey    string    `json:"pkey"`
	What    string    `json:"what"`    // created, changed or deleted
	Put     int       `json:"put"`     // members that were added or changed
	Removed int       `json:"removed"` // members
	// Undoable says that the change can be taken back: it is the last one of the partition, and not too long.
	Undoable bool `json:"undoable"`
}

// Paths of the history.
const (
	partitionHistory = "/v1/partitions/history"
	partitionUndo    = "/v1/partitions/undo"
)

// partitionEdits answers with the last changes of partitions of callers, oldest first.
func (s *Server) partitionEdits(w http.ResponseWriter, r *http.Request) error {
	source, err := s.partitionSource()
	if err != nil {
		return err
	}
	edits, err := source.PartitionHistory(rights.Of(r.Context()))
	if err != nil {
		return err
	}
	sendList(w, "changes", nil, slices.Values(edits))
	return nil
}

// undoPartition takes a change of a partition of callers back.
func (s *Server) undoPartition(w http.ResponseWriter, r *http.Request) error {
	source, err := s.partitionSource()
	undo, wrong := number(r, "number", 64)
	if err = cmp.Or(err, wrong); err == nil && undo == 0 {
		err = fmt.Errorf("%w: no change has the number 0: %s lists them", ErrBadRequest, partitionHistory)
	}
	if err != nil {
		return err
	}
	return s.carryOut(w, source, &PartitionOrder{By: rights.Of(r.Context()),
		Decide: func(rules *callers.Rules, state *registry.State) (*callers.Done, error) {
			return rules.Undo(state, undo)
		}})
}

// PartitionHistory requests the last changes of partitions of callers.
func (c *Client) PartitionHistory(ctx context.Context, each func(*PartitionEdit) error) error {
	return All(ctx, c, http.MethodGet, partitionHistory, nil, each)
}

// UndoPartition takes a change of a partition of callers back.
func (c *Client) UndoPartition(ctx context.Context, number uint64) (*PartitionChanged, error) {
	done := &PartitionChanged{}
	return done, c.Post(ctx, partitionUndo, map[string][]string{"number": {strconv.FormatUint(number, 10)}}, done)
}
