package instances

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// host is a root folder with these files.
func host(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// shown is a plan in a line for each instance, and the places of what is wrong.
func shown(p Plan) string {
	var lines []string
	for _, i := range p.Instances {
		lines = append(lines, strings.TrimSpace(i.Name+": "+strings.Join(i.Args(), " ")))
	}
	if p.All {
		lines = append(lines, "all ports")
	}
	for _, w := range p.Wrong {
		lines = append(lines, "wrong: "+w.Error())
	}
	return strings.Join(lines, "\n")
}

// TestRead: what the Red Hat guide and Debian's package write is understood, and of what
// nobody can understand nothing is made.
func TestRead(t *testing.T) {
	const first, second = "0x0002c9030002fce9", "0x0002c9030002fcea"
	const expected = "expected the GUID of a port, such as 0x0002c9030002fce9, or its device or interface, such as mlx5_0:1 or ib0; ibstat lists them"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, ":"},
		{"plain file", map[string]string{"etc/rdma/opensm.conf": "guid 0x1"}, ":"},
		{"GUIDS and PRIORITY",
			map[string]string{"etc/sysconfig/opensm": "# ports\nGUIDS=\"" + first + " " + second + "\"\nPRIORITY=15\n"},
			first + ": --guid=" + first + " --subnet_prefix=0xfe80000000000000 --priority=15\n" + second + ": --guid=" +
				second + " --subnet_prefix=0xfe80000000000001 --priority=15"},
		{"PRIORITY alone", map[string]string{"etc/sysconfig/opensm": "GUIDS=\"\"\nPRIORITY='7'\n"}, ": --priority=7"},
		{"OPTIONS", map[string]string{"etc/sysconfig/opensm": `OPTIONS="-R updn -s 5"`}, ": -R updn -s 5"},
		{"PRIORITY out of range", map[string]string{"etc/sysconfig/opensm": "GUIDS=" + first + "\nPRIORITY=16"},
			first + ": --guid=" + first +
				" --subnet_prefix=0xfe80000000000000\nwrong: /etc/sysconfig/opensm:2: PRIORITY: \"16\" is ignored: expected 0 to 15"},
		{"a GUID that is none, one twice",
			map[string]string{"etc/sysconfig/opensm": "GUIDS='-mlx5_0 " + first + " 2c9030002fce9 0'"},
			// the launcher counts what is no GUID, too
			first + ": --guid=" + first + " --subnet_prefix=0xfe80000000000001" +
				"\nwrong: /etc/sysconfig/opensm:1: GUIDS: \"-mlx5_0\" is ignored: " + expected +
				"\nwrong: /etc/sysconfig/opensm:1: GUIDS: 2c9030002fce9 is listed twice" +
				"\nwrong: /etc/sysconfig/opensm:1: GUIDS: \"0\" is ignored: " + expected},
		{"no GUID that is one", map[string]string{"etc/sysconfig/opensm": "GUIDS=<GUID_1>"},
			"wrong: /etc/sysconfig/opensm:1: GUIDS: \"<GUID_1>\" is ignored: " + expected},
		// the same name with another separator
		{"devices and interfaces",
			map[string]string{"etc/default/opensm": "PORTS=\"mlx5_0:1 ib1 mlx5_0/1 " + second + "\"\n"},
			"mlx5_0:1: --guid=mlx5_0:1\nib1: --guid=ib1\n" + second + ": --guid=" + second +
				"\nwrong: /etc/default/opensm:1: PORTS: mlx5_0/1 is listed twice"},
		{"GUIDS with a device", map[string]string{"etc/sysconfig/opensm": "GUIDS=\"ib0 " + second + "\""},
			"ib0: --guid=ib0 --subnet_prefix=0xfe80000000000000\n" + second + ": --guid=" + second +
				" --subnet_prefix=0xfe80000000000001"},
		{"numbered files", map[string]string{"etc/rdma/opensm.conf.10": "", "etc/rdma/opensm.conf.2": "",
			"etc/rdma/opensm.conf": "",
			"etc/sysconfig/opensm": "GUIDS=" + first, "etc/default/opensm": "PORTS=ALL"},
			"2: --config=/etc/rdma/opensm.conf.2\n10: --config=/etc/rdma/opensm.conf.10"},
		{"backups", map[string]string{"etc/rdma/opensm.conf.orig": "", "etc/rdma/opensm.conf.rpmnew": "",
			"etc/rdma/opensm.conf.1.rpmsave": "",
			"etc/opensm/opensm.conf.1~":      "", "etc/opensm/opensm.conf.dpkg-dist": "",
			"etc/opensm/opensm.conf.1.dpkg-old": "", "etc/opensm/.opensm.conf.1.swp": "",
			"etc/opensm/opensm.conf.01": "", "etc/opensm/opensm.conf.-1": "", "etc/opensm/#opensm.conf.1#": "",
			"etc/opensm/opensm.conf.1.bak": ""}, ":"},
		{"number in both folders", map[string]string{"etc/rdma/opensm.conf.1": "", "etc/opensm/opensm.conf.1": ""},
			"1: --config=/etc/opensm/opensm.conf.1\nwrong: /etc/rdma/opensm.conf.1: is ignored: instance 1 has the configuration /etc/opensm/opensm.conf.1"},
		{"folder", map[string]string{"etc/opensm/opensm.conf.1/x": "", "etc/opensm/opensm.conf.2": ""},
			"2: --config=/etc/opensm/opensm.conf.2\nwrong: /etc/opensm/opensm.conf.1: is a folder, not the configuration of an instance"},
		{"PORTS=ALL", map[string]string{"etc/default/opensm": "PORTS=\"ALL\"\n"}, "all ports"},
		{"PORTS=NONE", map[string]string{"etc/default/opensm": "PORTS=NONE\n"}, ""},
		{"PORTS", map[string]string{"etc/default/opensm": "PORTS=\"" + first + " " + second + "\""},
			first + ": --guid=" + first + "\n" + second + ": --guid=" + second},
		{"GUIDS before PORTS",
			map[string]string{"etc/default/opensm": "PORTS=ALL", "etc/sysconfig/opensm": "GUIDS=" + first},
			first + ": --guid=" + first + " --subnet_prefix=0xfe80000000000000"},
		{"expansion", map[string]string{"etc/default/opensm": "PORTS=$(ibstat -p)\n"},
			"wrong: /etc/default/opensm:1: PORTS is ignored: nothing is expanded here; write the value out"},
		{"open quote", map[string]string{"etc/sysconfig/opensm": "PRIORITY=1\nGUIDS=\"0x1\n"},
			"wrong: /etc/sysconfig/opensm:2: GUIDS is ignored: a quote is left open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shown(Read(host(c.files))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// forbidden refuses to open some files.
type forbidden struct {
	fs.FS
	file string
}

func (f forbidden) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, f.file) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

// TestUnreadable: a file that cannot be read is reported, and none is guessed in its place.
func TestUnreadable(t *testing.T) {
	for _, file := range []string{"etc/opensm", "etc/sysconfig/opensm", "etc/default/opensm"} {
		p := Read(forbidden{host(nil), file})
		if want := "wrong: /" + file + ": cannot be read: " + fs.ErrPermission.Error(); shown(p) != want {
			t.Errorf("%s: got %q, want %q", file, shown(p), want)
		}
	}
	fifo := host(map[string]string{"etc/default/opensm": "PORTS=0x10"})
	fifo["etc/default/opensm"].Mode = fs.ModeNamedPipe
	if p, want := Read(fifo), "wrong: /etc/default/opensm: cannot be read: it is a FIFO: make it a regular file"; shown(
		p) != want {
		t.Errorf("a FIFO: got %q, want %q", shown(p), want)
	}
	large := host(map[string]string{"etc/sysconfig/opensm": strings.Repeat("#", maxFile+1)})
	if p := Read(large); len(p.Instances) != 0 || len(p.Wrong) != 1 {
		t.Errorf("a file beyond the limit: %s", shown(p))
	}
	var many strings.Builder
	for i := range 2 * maxInstances {
		fmt.Fprintf(&many, " 0x%x", i+1)
	}
	if p := Read(host(map[string]string{"etc/default/opensm": "PORTS='" + many.String() + "'"})); len(
		p.Instances) != maxInstances || len(p.Wrong) != 1 {
		t.Errorf("%d instances, %d wrong", len(p.Instances), len(p.Wrong))
	}
}

// TestDiskFiles: links are followed, as package managers make them, and one that leads
// nowhere is reported.
func TestDiskFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etc/rdma"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "etc/rdma/real")
	err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("real", filepath.Join(dir, "etc/rdma/opensm.conf.1")),
		os.Symlink("nowhere", filepath.Join(dir, "etc/rdma/opensm.conf.2")))
	if err != nil {
		t.Fatal(err)
	}
	p := Read(os.DirFS(dir))
	if len(p.Instances) != 1 || p.Instances[0].Name != "1" || len(p.Wrong) != 1 ||
		p.Wrong[0].File != "/etc/rdma/opensm.conf.2" {
		t.Errorf("got %s", shown(p))
	}
}

// TestAsShell: a shell gives the same values.
func TestAsShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	for _, src := range []string{
		"GUIDS=a", "GUIDS='a b'", `GUIDS="a b"`, `GUIDS=a\ b`, `GUIDS=a"b c"'d e'f`, "GUIDS=a # b", "GUIDS=a#b",
		"export GUIDS=a",
		"GUIDS=a; PRIORITY=b", "GUIDS=a\nGUIDS=b", "  GUIDS=a", "GUIDS=", "GUIDS=\"a\nb\"", "GUIDS=a\\\nb",
		`GUIDS='a\b'`, "PRIORITY=1 ; GUIDS=a",
		"GUIDS='$x `y`'", `GUIDS="\$x"`,
	} {
		out, err := exec.Command(shell, "-c", src+"\nprintf '%s|%s' \"$GUIDS\" \"$PRIORITY\"").Output()
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		set, wrong := parse("f", []byte(src))
		if got := set["GUIDS"].value + "|" + set["PRIORITY"].value; got != string(out) || wrong != nil {
			t.Errorf("%q: got %q, the shell has %q; %v", src, got, out, wrong)
		}
	}
}

// FuzzRead: whatever stands in the files, every instance has a name of its own and a
// port, and nothing comes of a file that is no text.
func FuzzRead(f *testing.F) {
	for _, src := range []string{"GUIDS=\"0x1 0x2\"\nPRIORITY=15", "PORTS=ALL", "GUIDS='", "export X=\\", "PORTS=`x`",
		"OPTIONS=-v"} {
		f.Add([]byte(src), []byte(src))
	}
	f.Fuzz(func(t *testing.T, red, debian []byte) {
		p := Read(fstest.MapFS{"etc/sysconfig/opensm": {Data: red}, "etc/default/opensm": {Data: debian}})
		names := map[string]bool{}
		for _, i := range p.Instances {
			if names[i.Name] || i.Name == "" != (i.GUID == 0) {
				t.Errorf("instance %+v", i)
			}
			names[i.Name] = true
		}
		if p.All && p.Instances != nil || len(p.Instances) > maxInstances {
			t.Errorf("%d instances, all ports: %v", len(p.Instances), p.All)
		}
	})
}
