package cabling

import (
	"bytes"
	"strings"
	"testing"

	"ibsm/topo/net"
)

const small = `ibsm-topology 1
# two leaves
switch leaf-01 0x10
switch leaf-02
adapter "host 1" 0x20   # with a blank
cable leaf-01:7 - "host 1":1 4xNDR
cable 0x10:8 - leaf-02:8
`

func TestOwnFormat(t *testing.T) {
	c, err := Read("plan", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Write(&text, c); err != nil {
		t.Fatal(err)
	}
	const want = `ibsm-topology 1
switch leaf-01 0x0000000000000010
switch leaf-02
adapter "host 1" 0x0000000000000020
cable leaf-01:7 - "host 1":1 4xNDR
cable leaf-01:8 - leaf-02:8
`
	if text.String() != want {
		t.Errorf("written:\n%s", &text)
	}
	if c, err := Read("names", []byte("ibsm-topology 1\ncable a:1 - b:2 # no devices\n")); err != nil ||
		len(c.Devices) != 2 || c.Devices[0].Name != "a" {
		t.Errorf("by names alone: %+v, %v", c, err)
	}
}

// TestRoundTrip writes fabrics in each format, and reads the same cables.
func TestRoundTrip(t *testing.T) {
	for _, spec := range fabrics {
		n, err := net.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		for format := range 3 {
			if c := Compare(written(t, n, format), Of(n)); len(c.Findings) > 0 || c.Same != c.Planned ||
				len(c.Unplanned) > 0 || !c.Applies() {
				t.Errorf("%s in format %d: %v", spec, format, c)
			}
		}
	}
}

func TestTopoconfig(t *testing.T) {
	const text = `0x98039b0300867bba,1,0xb83fd2030080302e,1,Any,Active
0xb83fd2030080302e,1,0x98039b0300867bba,1,Any,Active

0xb83fd2030080302e,26,0xf452140300280040,1,Any,Active
`
	c, err := Read("topoconfig.conf", []byte(text))
	if err != nil || len(c.Devices) != 3 || len(c.Cables) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "plan: no node in the file"},
		{"ibsm-topology 2\n", `plan:1:1: expected "ibsm-topology 1"`},
		{"ibsm-topology 1\n", "plan: no cable in the file"},
		{"ibsm-topology 1\nswich a\n",
			`plan:2:1: "swich": expected adapter, router, switch, cable; did you mean switch?`},
		{"ibsm-topology 1\nswitch\n", "plan:2:1: expected a name, a GUID or both"},
		{"ibsm-topology 1\nswitch leaf 0xg\n", `plan:2:13: "0xg" is not a GUID`},
		{"ibsm-topology 1\nswitch leaf 0x1 0x2\n", `plan:2:17: unexpected "0x2"`},
		{"ibsm-topology 1\nswitch leaf 0x1\nswitch spine 0x1\n",
			"plan:3:14: 0x0000000000000001 is in the plan already"},
		{"ibsm-topology 1\nswitch leaf\nswitch leaf\n", `plan:3:8: "leaf" is in the plan already`},
		{"ibsm-topology 1\nswitch \"leaf\n", "plan:2:8: no closing quotation mark"},
		{"ibsm-topology 1\nswitch leaf\ncable leef:1 - leaf:2\n",
			`plan:3:7: no device is called "leef"; did you mean leaf?`},
		{"ibsm-topology 1\ncable a:1 b:2\n", "plan:2:1: expected cable NAME:PORT - NAME:PORT"},
		{"ibsm-topology 1\ncable a:0 - b:2\n", `plan:2:7: port "0": expected 1 to 254`},
		{"ibsm-topology 1\ncable a - b:2\n", "plan:2:7: expected NAME:PORT"},
		{"ibsm-topology 1\ncable a:1 - a:1\ncable a:1 - b:1\n", "plan:3:7: port 1 has another cable on line 2"},
		{"ibsm-topology 1\ncable a:1 - b:1 4xABC\n", `plan:2:17: unknown rate "4xABC"`},
		{"ibsm-topology 1\ncable a:1 - b:1\ncable b:2 - a:1\n", "plan:3:13: port 1 has another cable on line 2"},
		{"ibsm-topology 1\nswitch a 0x1\nswitch a 0x2\ncable a:1 - 0x2:1\n",
			`plan:4:7: several devices are called "a"`},
		{"ibsm-topology 1\n" + strings.Repeat("x", 2000), "plan:2:1025: the line is longer"},
		{"ibsm-topology 1\n" + strings.Repeat("x\n", 200), "too many errors"},
		{"0x1,1,0x2,1,Any\n", "plan:1:1: expected 0xGUID,port,0xGUID,port,Any,Active: 5 fields"},
		{"0x1,1,12,1,Any,Active\n", `plan:1:7: "12" is not a GUID`},
		{"0x1,1,0x2,300,Any,Active\n", `plan:1:11: port "300"`},
		{"0x1,1,0x2,1,Spine,Active\n", `plan:1:13: device type "Spine"`},
		{"0x1,1,0x2,1,Any,Down\n", `plan:1:17: link state "Down"`},
		{"0x1,1,0x2,1,Any,Active\n0x3,1,0x2,1,Any,Active\n", "plan:2:7: port 1 has another cable on line 1"},
		{"Switch 8 \"a\"\n[1] \"b\"[1]\n", "plan:2:5: unknown node"},
	} {
		_, err := Read("plan", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzRead reads anything without harm; what is written of it is read as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("0x1,1,0x2,1,Any,Active\n"))
	f.Add([]byte("Switch 8 \"a\"\n[1] \"b\"[1]\n\nSwitch 8 \"b\"\n[1] \"a\"[1]\n"))
	f.Add([]byte("Switch 8 \"a\"\n[1] \"a\"[1]\n")) // a loopback plug
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read("plan", text)
		if err != nil {
			return
		}
		if r := Compare(c, c); len(r.Findings) > 0 || len(r.Unplanned) > 0 {
			for i := range r.Findings {
				t.Log(&r.Findings[i])
			}
			t.Fatalf("a plan differs from itself: %+v", r)
		}
		for i := range c.Devices {
			if c.Devices[i].Type == 0 || strings.Contains(c.Devices[i].Name, `"`) {
				return
			}
		}
		var out bytes.Buffer
		if err := Write(&out, c); err != nil {
			t.Fatal(err)
		}
		again, err := Read("again", out.Bytes())
		if err != nil {
			t.Fatalf("%v of\n%s", err, &out)
		}
		if r := Compare(again, c); len(r.Findings) > 0 {
			t.Fatalf("it differs when it has been written: %v", &r.Findings[0])
		}
	})
}
