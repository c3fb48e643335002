package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestReadSADB: a file that the store is younger than is not read, and nothing is lost by
// that.
func TestReadSADB(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	file := filepath.Join(t.TempDir(), "opensm-sa.dump")
	if _, whole := readSADB(file, time.Time{}, logger); whole {
		t.Error("a file that is not there is whole")
	}
	const alias = "GUIDInfo Record: base_guid=0x1 lid=0x1 block_num=0x0 guid0=0x1 guid1=0x2 guid2=0x0 guid3=0x0 guid4=0x0 guid5=0x0 guid6=0x0 guid7=0x0\n"
	if err := os.WriteFile(file, []byte(alias), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stored time.Time
		read   bool
	}{{time.Time{}, true}, {time.Now().Add(-time.Hour), true}, {time.Now().Add(time.Hour), false}} {
		reg, whole := readSADB(file, tt.stored, logger)
		if !whole || (reg != nil) != tt.read || reg != nil && reg.Counts().Aliases != 1 {
			t.Errorf("a store of %v: %v, %t", tt.stored, reg, whole)
		}
	}
}
