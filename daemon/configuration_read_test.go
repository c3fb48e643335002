package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/ctl"
	"ibsm/opensm/console"
)

// hold has do called before each reading of a file, until the test ends.
func hold(t *testing.T, file string, do func()) {
	fileReader.Opening = func(name string) {
		if name == file {
			do()
		}
	}
	t.Cleanup(func() { fileReader.Opening = nil })
}

// TestChangeWhileFilesAreRead: while a file is read nobody waits, and a change that is made meanwhile is not lost: the
// files are read once more.
func TestChangeWhileFilesAreRead(t *testing.T) {
	policy := newFixture(t, masterSettings, masterParts).sent.Registrar.Mirror.Policy
	o := newFixture(t, ownSettings, ownParts)
	reading, answers, reloaded, times := make(chan struct{}), make(chan struct{}), make(chan struct{}), 0
	hold(t, filepath.Join(o.dir, "partitions.conf"), func() {
		if times++; times == 1 {
			close(reading)
			<-answers
		}
	})
	go func() {
		defer close(reloaded)
		o.reload(false)
	}()
	<-reading
	o.setPriority(11)
	o.mirrored(9, policy)
	var st console.Status
	if o.describe(&st); st.Priority != 11 {
		t.Errorf("priority %d is shown", st.Priority)
	}
	o.take()
	o.must("meanwhile", 1, 1, "lmc", "part_enforce", "partition_config_file")
	close(answers)
	<-reloaded
	o.take()
	o.must("read again", 1, 1, "lmc", "part_enforce", "partition_config_file")
	if text := string(o.current.Load().partitions.Text); o.sent.Elect.Priority != 11 || text != ownParts || times != 2 {
		t.Errorf("priority %d, partitions %q, which were read %d times", o.sent.Elect.Priority, text, times)
	}
	if strings.Count(o.log.String(), "no configuration file to reload")+
		strings.Count(o.log.String(), "configuration reloaded") != 1 {
		t.Errorf("one reload is logged as:\n%s", o.log.String())
	}
}

// TestReadHangs: a reload whose read hangs ends, changes nothing, and says why; so does the next one at once. When the
// file is there again a reload takes it.
func TestReadHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t, ownSettings, ownParts)
		answers, file := make(chan struct{}), filepath.Join(o.dir, "partitions.conf")
		hold(t, file, func() { <-answers })
		next := ownParts + "later=0x0005 : ALL=full;\n"
		o.write("partitions.conf", next)
		for _, c := range []struct {
			why   string
			takes time.Duration
		}{{"cannot be read within 11s", 11 * time.Second}, {"the previous read of it still hangs", 0}} {
			began := time.Now()
			found := o.reload(true).Findings
			if took := time.Since(began); took != c.takes || !slices.ContainsFunc(found, func(f ctl.Finding) bool {
				return f.File == file && isRefused(f) && strings.Contains(f.Text, c.why)
			}) {
				t.Errorf("after %v the caller of the reload learns of %+v", took, found)
			}
			if text := string(o.current.Load().partitions.Text); text != ownParts {
				t.Errorf("in force is %q", text)
			}
		}
		close(answers)
		synctest.Wait()
		if found := o.reload(true).Findings; slices.ContainsFunc(found, isRefused) ||
			string(o.current.Load().partitions.Text) != next {
			t.Errorf("then: %+v", found)
		}
	})
}

// TestStopWhileFilesAreRead: a signal that ends the daemon is not held up by a reload whose read hangs.
func TestStopWhileFilesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t, ownSettings, ownParts)
		reading, answers := make(chan struct{}), make(chan struct{})
		defer close(answers)
		begins := sync.OnceFunc(func() { close(reading) })
		hold(t, filepath.Join(o.dir, "opensm.conf"), func() {
			begins()
			<-answers
		})
		ctx, stop := context.WithCancel(t.Context())
		fileReader.Stop(ctx.Done())
		defer fileReader.Stop(nil)
		signals := make(chan os.Signal, 1)
		d := &daemon{signals: signals, current: o.configuration}
		var ts tasks
		ts.run(t.Context(), func(ended context.Context) { d.listen(ctx, ended) })
		signals <- syscall.SIGHUP
		<-reading
		began := time.Now()
		stop()
		ts.end()
		if took := time.Since(began); took > 0 {
			t.Errorf("it ends after %v", took)
		}
	})
}
