package ctl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
)

// planners have their plans made one after the other, when a test says so.
type planners struct {
	*bench
	begun chan context.Context // of each that begins
	next  chan bool            // ends one
}

func newPlanners(t *testing.T) *planners {
	p := &planners{begun: make(chan context.Context, 64), next: make(chan bool)}
	p.bench = serve(t, &source{planning: func(ctx context.Context) (*ctl.Plan, error) {
		p.begun <- ctx
		select {
		case <-p.next:
			return &ctl.Plan{Steps: slices.Values([]string{"step"})}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, partitions: func(text []byte) ([]ctl.PartitionRow, error) {
		return []ctl.PartitionRow{{File: &ctl.PartitionFile{Name: string(text)}}}, nil
	}}, ctl.Config{})
	return p
}

// ask asks for a plan; the error comes with the end of it.
func (p *planners) ask(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	go func() {
		steps := 0
		_, err := p.Client.Plan(ctx, nil, func(*string) error { steps++; return nil })
		if err == nil && steps != 1 {
			err = errors.New("an answer without its step")
		}
		ended <- err
	}()
	return ended
}

// fill asks for as many plans as are taken: the manager is given two, and 16 wait.
func (p *planners) fill() (all []<-chan error) {
	for i := range 18 {
		all = append(all, p.ask(p.Context()))
		if i < 2 {
			<-p.begun
			continue
		}
		p.until("it waits", func() bool { return p.server.Stats().Waiting.Load() == int64(i-1) })
	}
	return all
}

// TestPreviewsWait: of several clients that ask for plans each gets its answer; the manager is
// given two at a time. One more than may wait gets an error that says what to do, and is counted.
func TestPreviewsWait(t *testing.T) {
	p := newPlanners(t)
	all := p.fill()
	err, f := <-p.ask(t.Context()), (*ctl.Failure)(nil)
	if !errors.As(err, &f) || f.Err != "16 plans are already waiting" || !strings.Contains(f.Hint, "try again later") {
		t.Errorf("one more: %v, %+v", err, f)
	}
	if status, _ := p.raw(post, "/v1/plan", ""); status != 503 {
		t.Errorf("one more: status %d", status)
	}
	if n := p.server.Stats().NoRoom.Load(); n != 2 {
		t.Errorf("%d are counted", n)
	}
	select {
	case <-p.begun:
		t.Error("a third one begins beside two")
	default:
	}
	for range all {
		p.next <- true
	}
	for i, ended := range all {
		if err := <-ended; err != nil {
			t.Errorf("plan %d: %v", i, err)
		}
	}
	if n := p.server.Stats().Waiting.Load(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// TestPreviewsLeave: a plan ends with the client that asked for it, whether it waits or is made, and
// the next one takes its turn.
func TestPreviewsLeave(t *testing.T) {
	p := newPlanners(t)
	ctx, leave := context.WithCancel(t.Context())
	away, giveUp := context.WithCancel(t.Context())
	first, second := p.ask(ctx), p.ask(ctx)
	made := []context.Context{<-p.begun, <-p.begun}
	waiting := p.ask(away)
	waits := func(n int64) {
		t.Helper()
		p.until(fmt.Sprint(n, " wait"), func() bool { return p.server.Stats().Waiting.Load() == n })
	}
	waits(1)
	giveUp()
	if err := <-waiting; err == nil {
		t.Error("an answer for a client that has left")
	}
	waits(0)
	leave()
	for _, ended := range []<-chan error{first, second} {
		if err := <-ended; err == nil {
			t.Error("an answer for a client that has left")
		}
	}
	for _, c := range made {
		<-c.Done()
	}
	last := p.ask(t.Context())
	<-p.begun // the one that waited did not begin
	p.next <- true
	if err := <-last; err != nil {
		t.Error(err)
	}
	select {
	case <-p.begun:
		t.Error("the one that waited was begun")
	default:
	}
}

// TestOthersDoNotWaitForPlans: a partition file is previewed, and applied, and routes are measured, however many plans
// wait.
func TestOthersDoNotWaitForPlans(t *testing.T) {
	p := newPlanners(t)
	all := p.fill()
	short, long := []byte("short"), bytes.Repeat([]byte("long"), 1<<19)
	for _, text := range [][]byte{nil, short, long} {
		name := "none"
		if err := p.Client.PlanPartitions(t.Context(), text, func(r *ctl.PartitionRow) error {
			name = r.File.Name
			return nil
		}); err != nil || name != string(text) {
			t.Errorf("a file of %d bytes: %v, %d bytes were read", len(text), err, len(name))
		}
	}
	if err := p.Client.ApplyPartitions(t.Context(), false, func(*ctl.PartitionRow) error { return nil }); err != nil {
		t.Errorf("apply: %v", err)
	}
	if err := p.Get(t.Context(), "/v1/quality", nil, nil); err != nil {
		t.Errorf("quality: %v", err)
	}
	for range all {
		p.next <- true
	}
	for _, ended := range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestPartitionPreviewsWait: previews of partition files wait for each other, however long they are, and an
// apply does not wait for them.
func TestPartitionPreviewsWait(t *testing.T) {
	begun, end := make(chan int), make(chan bool)
	s := &source{partitions: func(text []byte) ([]ctl.PartitionRow, error) {
		if text != nil {
			begun <- len(text)
			<-end
		}
		return []ctl.PartitionRow{{File: &ctl.PartitionFile{}}}, nil
	}}
	b := serve(t, s, ctl.Config{})
	var all []chan error
	for i, size := range []int{1, 2, 3 << 20} {
		ended := make(chan error, 1)
		go func() {
			ended <- b.Client.PlanPartitions(context.Background(), make([]byte, size), func(*ctl.PartitionRow) error {
				return nil
			})
		}()
		if all = append(all, ended); i == 0 {
			if n := <-begun; n != size {
				t.Errorf("%d bytes of %d", n, size)
			}
			continue
		}
		b.until("it waits", func() bool { return b.server.Stats().Waiting.Load() == int64(i) })
	}
	if err := b.Client.ApplyPartitions(t.Context(), false, func(*ctl.PartitionRow) error { return nil }); err != nil {
		t.Errorf("apply: %v", err)
	}
	end <- true
	for _, size := range []int{2, 3 << 20} {
		if n := <-begun; n != size {
			t.Errorf("%d bytes of %d", n, size)
		}
		end <- true
	}
	for _, ended := range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestLongPartitionText: a partition file of 16 MiB and a byte is refused with the limit. The manager is not given it.
func TestLongPartitionText(t *testing.T) {
	b := serve(t, &source{partitions: func(text []byte) ([]ctl.PartitionRow, error) {
		t.Errorf("the manager is given %d bytes", len(text))
		return nil, nil
	}}, ctl.Config{})
	status, text := b.raw(post, "/v1/partitions/plan", strings.Repeat("\n", 16<<20+1))
	if status != 400 || !strings.Contains(text, "the file: more than 16777216 bytes: no more are read") {
		t.Errorf("%d %q", status, text)
	}
}
