package server

import (
	"time"

	"ibsm/ctl"
	"ibsm/rights"
)

// PartitionHistory are the last changes of partitions of callers, oldest first.
func (d *Server) PartitionHistory(by *rights.User) ([]ctl.PartitionEdit, error) {
	l, err := d.partitionLister(false)
	if err != nil {
		return nil, err
	}
	edits := []ctl.PartitionEdit{}
	for e := range l.state.PartitionEdits() {
		if !by.Partition(e.Name, e.Key) {
			continue
		}
		now, _ := l.state.Partition(e.Key)
		former, _ := l.state.FormerPartition(e.Key)
		edits = append(edits, ctl.PartitionEdit{Number: e.Number, Time: time.Unix(e.Since, 0).UTC(), Name: e.Name,
			PKey: e.Key.String(), What: e.Kind.String(), Put: int(e.Put), Removed: int(e.Removed),
			Undoable: e.Undo != "" && max(now.Number, former.Number) == e.Number})
	}
	return edits, nil
}
