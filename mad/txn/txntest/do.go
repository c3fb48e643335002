// Package txntest asks requests in tests that have nothing else to wait for.
package txntest

import (
	"context"
	"time"

	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/mad/txn"
)

// Do asks all requests through a port that runs, as fast as a window of its own
// allows, and returns their outcomes in the order of the requests. What comes unasked
// meanwhile is lost. When ctx ends or the port fails, requests without outcome have
// Result 0, and the error says why.
func Do(ctx context.Context, port *smi.Port, cfg txn.Config, requests []txn.Request) ([]txn.Outcome, error) {
	var (
		start    = time.Now()
		table    = txn.New(cfg)
		outcomes = make([]txn.Outcome, len(requests))
		next     int
		out, in  []mad.Datagram
		expired  []txn.Outcome
		timer    = time.NewTimer(0)
		err      error
	)
	defer timer.Stop()
	settle := func(o txn.Outcome) {
		at := &outcomes[o.Tag]
		*at, at.Tag = o, requests[o.Tag].Tag
	}
	for {
		for ; next < len(requests) && table.Room() > 0; next++ {
			r := requests[next]
			r.Tag = uint64(next)
			table.Submit(&r)
		}
		out = table.Output(time.Since(start), out[:0])
		if err := port.Send(out); err != nil {
			return outcomes, err
		}
		deadline, waiting := table.Deadline()
		if !waiting {
			return outcomes, nil
		}
		timer.Reset(deadline - time.Since(start))
		select {
		case <-ctx.Done():
			return outcomes, ctx.Err()
		case <-timer.C:
		case <-port.Ready():
		}
		if in, err = port.Receive(in); err != nil {
			return outcomes, err
		}
		now := time.Since(start)
		for i := range in {
			if o, ended := table.Match(now, &in[i]); ended {
				settle(o)
			}
		}
		expired = table.Expire(now, expired[:0])
		for _, o := range expired {
			settle(o)
		}
	}
}
