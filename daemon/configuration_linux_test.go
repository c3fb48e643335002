package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ibsm/opensm/console"
)

// TestChangeWhileFilesAreRead: while a file is read, which a FIFO prolongs, nobody waits, and
// a change that is made meanwhile is not lost: the files are read once more.
func TestChangeWhileFilesAreRead(t *testing.T) {
	policy := newFixture(t, masterSettings, masterParts).sent.Registrar.Mirror.Policy
	o := newFixture(t, ownSettings, ownParts)
	fifo := filepath.Join(o.dir, "partitions.conf")
	if err := os.Remove(fifo); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("this system gives no FIFO: ", err)
	}
	reloaded := make(chan struct{})
	go func() {
		defer close(reloaded)
		o.reload(false)
	}()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // opens when the reload reads
	if err != nil {
		t.Fatal(err)
	}
	o.setPriority(11)
	o.mirrored(9, policy)
	var st console.Status
	if o.describe(&st); st.Priority != 11 {
		t.Errorf("priority %d is shown", st.Priority)
	}
	o.take()
	o.must("meanwhile", 1, 1, "lmc", "part_enforce", "partition_config_file")
	if err := os.Remove(fifo); err != nil {
		t.Fatal(err)
	}
	o.write("partitions.conf", ownParts)
	if _, err := f.WriteString("x=0x0004 : ALL=full;\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	<-reloaded
	o.take()
	o.must("read again", 1, 1, "lmc", "part_enforce", "partition_config_file")
	now := o.current.Load()
	if o.sent.Elect.Priority != 11 || string(now.partitions.Text) != ownParts {
		t.Errorf("priority %d, partitions %q", o.sent.Elect.Priority, now.partitions.Text)
	}
	if strings.Count(o.log.String(), "no configuration file to reload")+
		strings.Count(o.log.String(), "configuration reloaded") != 1 {
		t.Errorf("one reload is logged as:\n%s", o.log.String())
	}
}
