package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// kubernetesPage are the commands of a section of docs/kubernetes.md.
func kubernetesPage(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatalf("the page has no section %q", heading)
	}
	var script strings.Builder
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			script.WriteString(command)
		}
	}
	return script.String()
}

// needPrograms skips a test where a program of others is missing.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
}

// TestKubernetesPage: a reader of docs/kubernetes.md pastes what it says about two managers without hardware. A P_Key
// goes into a port, and is still a member's after the master was killed.
func TestKubernetesPage(t *testing.T) {
	t.Parallel()
	needPrograms(t, "curl", "openssl", "ibsim-run", "smpquery", "awk")
	dir := t.TempDir()
	sock := fmt.Sprintf("tenants-%d", os.Getpid())
	leader, api := []string{freePort(t), freePort(t)}, []string{freePort(t), freePort(t)}
	text := strings.NewReplacer("$PWD/bin", filepath.Dir(program(t, "ibsm")), "/tmp/tenants", filepath.Join(dir, "tenants"),
		"IBSIM_SOCKNAME=tenants", "IBSIM_SOCKNAME="+sock, "--sock tenants", "--sock "+sock,
		"969$1", "${leader[$1]}", "844$1", "${api[$1]}", "9691", leader[0], "9692", leader[1], "8441", api[0], "8442", api[1]).
		Replace(kubernetesPage(t, "Try it without hardware"))
	program(t, "ibsmctl")
	program(t, "ibfabric")
	ports := fmt.Sprintf("leader=(0 %s) api=(0 %s)\n", strings.Join(leader, " "), strings.Join(api, " "))
	// timeout ends what the script has started, too
	r := run(t, dir, nil, "timeout", "-k", "2", "50", "bash", "-c", ports+text)
	rest := r.stdout
	for _, want := range []string{"SUBNET UP", "mirrors registrations", "masterstandby", "{}\n", "P_Key 0x02fb, of a caller, ready",
		" applied ", "0x82fb", `{"partition": "api_pkey_0x2fb", "ip_over_ib": true, "guids": [{"guid": "`, "{}\n{}\n"} {
		_, after, found := strings.Cut(strings.ReplaceAll(rest, "master\nstandby\n", "masterstandby"), want)
		if !found {
			t.Fatalf("it does not print %q in its turn; status %d\n%s\n%s", want, r.status, r.stdout, r.stderr)
		}
		rest = after
	}
}

// TestFromUFM: the commands of docs/kubernetes.md carry P_Keys of UFM over. UFM is another ibsm.
func TestFromUFM(t *testing.T) {
	t.Parallel()
	needPrograms(t, "curl", "jq")
	dir := t.TempDir()
	from, to := freePort(t), freePort(t)
	const list = "resources/pkeys?guids_data=true"
	script := fmt.Sprintf(`
old() { curl -s --retry 20 --retry-connrefused -u a:b "$@"; }
start() { ibsm --fabric fattree:k=4 --api_addr http://127.0.0.1:$1 -f log$1 >out$1 & }
start %[1]s; ufm=$!
start %[2]s; ibsm=$!
UFM=http://127.0.0.1:%[1]s/ufmRest IBSM=http://127.0.0.1:%[2]s CREDENTIAL=a:b
old $UFM/resources/pkeys -d '{"pkey": "0x2fb", "index0": true, "ip_over_ib": true, "guids": ["b83fd20300a00000", "0x1"]}'
old $UFM/resources/pkeys -d '{"pkey": "0x2fb", "memberships": ["limited"], "guids": ["b83fd20300a00010"]}'
old $UFM/resources/pkeys -d '{"pkey": "0x5", "ip_over_ib": false, "guids": ["0x2"], "partition_name": "storage"}'
old $UFM/%[3]s >pkeys.json
old $IBSM/ufmRest/app/ufm_version >version
(
%[4]s) >refused
old $IBSM/ufmRest/%[3]s >carried.json
kill -9 $ufm $ibsm
`, from, to, list, carryOver(t))
	r := run(t, dir, []string{"PATH=" + filepath.Dir(program(t, "ibsm")) + ":" + os.Getenv("PATH")}, "timeout", "-k", "2", "50",
		"bash", "-c", script)
	read := func(name string) (of map[string]any) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(text, &of)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", name, err, r.stdout, r.stderr)
		}
		return of
	}
	old, carried := read("pkeys.json"), read("carried.json")
	if len(old) != 3 || !reflect.DeepEqual(old, carried) {
		t.Errorf("carried over %v, want %v", carried, old)
	}
	if refused, err := os.ReadFile(filepath.Join(dir, "refused")); err != nil || len(refused) != 0 {
		t.Errorf("refused: %s, %v", refused, err)
	}
}

// carryOver are the lines of docs/kubernetes.md that put the saved members.
func carryOver(t *testing.T) string {
	t.Helper()
	_, text, found := strings.Cut(kubernetesPage(t, "From UFM"), "    jq ")
	if !found {
		t.Fatal("the page has no commands that put the saved members")
	}
	return strings.ReplaceAll("jq "+text, "\n    ", "\n")
}
