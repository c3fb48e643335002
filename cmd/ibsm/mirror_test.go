package main

import (
	"testing"

	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sa/mirror"
	"ibsm/sweep"
)

// TestMirroring: the sums are those of what files mean, not of how they are written.
func TestMirroring(t *testing.T) {
	of := func(text, engine string) mirror.Settings {
		c := partitions.Begin(partitions.Reading{Name: "partitions.conf", Text: []byte(text)}, nil, false)
		if len(c.Errors) > 0 {
			t.Fatal(c.Errors)
		}
		cfg := manager.Config{Sweep: sweep.Config{EngineName: engine, Partitions: sweep.Partitions{Policy: c.ForTables()}}}
		return mirroring(&cfg).Settings
	}
	const text = "Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x12=full;\n"
	was := of(text, "minhop")
	if now := of("# a comment\nDefault=0x7fff , ipoib : ALL=limited, SELF=full;\n\nstorage=0x0001: 0x11, 0x12=full;\n", "minhop"); now != was {
		t.Error("another spelling is another sum")
	}
	if now := of("Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x13=full;\n", "minhop"); now.Partitions == was.Partitions || now.Routing != was.Routing {
		t.Error("another member is the same sum")
	}
	if now := of(text, "updn"); now.Partitions != was.Partitions || now.Routing == was.Routing {
		t.Error("another engine is the same sum")
	}
	var none manager.Config
	if s := mirroring(&none).Settings; s.Partitions == 0 || s.Partitions == was.Partitions {
		t.Error("no file has no sum of its own")
	}
}
