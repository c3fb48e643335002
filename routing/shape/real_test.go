package shape

import (
	"os"
	"testing"

	"ibsm/topo/net"
)

func TestReal(t *testing.T) {
	const file = "../../../shared/data/ndr-582.topo"
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		text, err = os.ReadFile("/work/shared/data/ndr-582.topo")
	}
	if err != nil {
		t.Skip(err)
	}
	fabric, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		t.Log(Find(shuffled(t, fabric, seed)).Seen)
	}
}
