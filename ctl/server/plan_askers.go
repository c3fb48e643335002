package server

import (
	"context"
	"sync"
	"time"

	"ibsm/manager"
)

// planAskers are the clients that wait for plans, each of which has a number.
type planAskers struct {
	mu      sync.Mutex // guards the following
	last    uint64
	answers map[uint64]chan manager.Planned // which have room for one answer
}

// add returns the number of another plan, and where its answer comes.
func (a *planAskers) add() (number uint64, answer <-chan manager.Planned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers == nil {
		a.answers = map[uint64]chan manager.Planned{}
	}
	a.last++
	room := make(chan manager.Planned, 1)
	a.answers[a.last] = room
	return a.last, room
}

// take removes the client that waits for a plan; nil for none.
func (a *planAskers) take(number uint64) chan<- manager.Planned {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.answers[number]
	delete(a.answers, number)
	return answer
}

// answer gives a plan to the client that waits for it.
func (a *planAskers) answer(p manager.Planned) {
	if answer := a.take(p.Number); answer != nil {
		answer <- p
	}
}

// refuse answers all.
func (a *planAskers) refuse(err error) {
	a.mu.Lock()
	all := a.answers
	a.answers = nil
	a.mu.Unlock()
	for number, answer := range all {
		answer <- manager.Planned{Number: number, Err: err}
	}
}

// endPatience is how long the manager has to take that a client has left: it takes requests at once, or has ended.
const endPatience = time.Second

// planned asks the manager for a plan and waits for it. If the client leaves before, the plan ends.
func (d *Server) planned(ctx context.Context, ask manager.SweepRequested) (manager.Planned, error) {
	number, answer := d.plans.add()
	ask.Number = number
	select {
	case d.cfg.Asks <- ask:
	case p := <-answer: // the manager has ended
		return p, nil
	case <-ctx.Done():
		d.plans.take(number)
		return manager.Planned{}, errNotAccepted
	}
	select {
	case p := <-answer:
		return p, nil
	case <-ctx.Done():
	}
	if d.plans.take(number) != nil {
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		// a plan that goes on has no asker
		_ = d.send(soon, manager.SweepRequested{Sweep: manager.EndPlan, Number: number})
	}
	return manager.Planned{}, ctx.Err()
}
