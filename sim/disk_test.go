package sim

import (
	"time"

	"ibsm/store"
)

// Disk is a store without a file: what is put is safe after a while, and a crash loses
// the rest.
type Disk struct {
	// WriteTime is how long a write takes.
	WriteTime time.Duration

	safe    *store.Contents
	writing []write // oldest first
	now     time.Duration
}

type write struct {
	done  time.Duration
	batch store.Batch
}

// NewDisk is empty.
func NewDisk(writeTime time.Duration) *Disk {
	return &Disk{WriteTime: writeTime, safe: store.NewContents()}
}

// Contents is what a manager that begins now finds. What was under way when something was
// put last is not there yet.
func (d *Disk) Contents() *store.Contents {
	d.settle()
	c := *d.safe
	c.Add() // a copy that is the caller's alone
	return &c
}

// Load puts there what no manager has written.
func (d *Disk) Load(b store.Batch) { d.safe.Add(b) }

func (d *Disk) put(now time.Duration, b store.Batch) {
	d.now = now
	d.writing = append(d.writing, write{now + d.WriteTime, b})
}

// settle makes safe what has been written by now.
func (d *Disk) settle() {
	var done []store.Batch
	for len(d.writing) > 0 && d.writing[0].done <= d.now {
		done = append(done, d.writing[0].batch)
		d.writing = d.writing[1:]
	}
	d.safe.Add(done...)
}

// crash loses what is not safe.
func (d *Disk) crash(now time.Duration) {
	d.now = now
	d.settle()
	d.writing = nil
	d.safe.Interrupted = time.Unix(int64(now/time.Second), 0)
}
