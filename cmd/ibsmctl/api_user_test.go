package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/cmd/cli"
)

// TestAPIUser: users are added, listed, changed and deleted; a token is shown once, and no other secret ever.
func TestAPIUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.toml")
	t.Setenv(usersEnv, file)
	verb := func(stdin string, args ...string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		root := program()
		root.SetIn(strings.NewReader(stdin))
		status = cli.Run(t.Context(), root, append([]string{"api", "user"}, args...), &out, &errs, nil)
		return status, out.String(), errs.String()
	}
	does := func(stdin, want string, args ...string) (stderr string) {
		t.Helper()
		status, out, errs := verb(stdin, args...)
		if is, err := regexp.MatchString("^(?s:"+want+")$", out); err != nil || status != 0 || !is {
			t.Fatalf("%q: status %d, %s\n%s\nwant %s", args, status, errs, out, want)
		}
		return errs
	}
	if status, _, errs := verb("", "list"); status != 1 || !strings.Contains(errs, "no such file") ||
		!strings.Contains(errs, "hint: ibsmctl api user add makes the file") {
		t.Errorf("list without a file: %d, %s", status, errs)
	}
	does("correct horse\nsecond line\n", "added user k8s to "+file+"\n", "add", "k8s", "--role", "operator", "--password-stdin")
	does("", "added user nico .*", "add", "nico", "--role", "admin", "--certificate", "spiffe://cluster/ns/x",
		"--certificate", "node1.example.com")
	does("", "added user t7 .*", "add", "t7", "--role", "tenant", "--partitions", "t7-*", "--partitions", "shared",
		"--pkeys", "256-0x1ff", "--pkeys", "7", "--hosts", "gpu-*", "--guids", "0x2000000000000000-0x20ffffffffffffff")
	errs := does("", "ibsm_[A-Za-z0-9_-]{43}\n", "token", "nico", "--days", "2", "--note", "rack 7")
	id := regexp.MustCompile("^token ([0-9a-f]{8}) of user nico ends at 20[0-9-]* [0-9:]* UTC\n$").FindStringSubmatch(errs)
	if id == nil {
		t.Fatal(errs)
	}
	does("", "ibsm_.*\n", "token", "nico")
	does("", `k8s, operator
  password
nico, admin
  certificate spiffe://cluster/ns/x
  certificate node1.example.com
  token `+id[1]+` ends at [0-9-]* [0-9:]* UTC: rack 7
  token [0-9a-f]{8} ends at [0-9-]* [0-9:]* UTC
t7, tenant
  partitions t7-\*, shared
  pkeys 0x0100-0x01ff, 0x0007
  hosts gpu-\*
  guids 0x2000000000000000-0x20ffffffffffffff
`, "list")
	does("", "revoked token "+id[1]+" of user nico\n", "revoke", "nico", id[1])
	does("another horse", "set the password of user nico\n", "password", "nico", "--password-stdin")
	does("", "deleted user k8s\n", "delete", "k8s")
	_, text, _ := verb("", "list", "--json")
	var list []listedUser
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 2 || list[0].Name != "nico" ||
		!list[0].Password || len(list[0].Tokens) != 1 || list[0].Tokens[0].ID == id[1] || list[0].Tokens[0].Ended ||
		len(list[0].Certificates) != 2 || list[1].Role != "tenant" || list[1].PKeys[0] != "0x0100-0x01ff" {
		t.Errorf("%v\n%s", err, text)
	}
	before, err := os.ReadFile(file)
	if info, err2 := os.Stat(file); err != nil || err2 != nil || info.Mode().Perm() != 0o600 ||
		strings.Contains(string(before), "horse") {
		t.Errorf("%v, %v, mode %v:\n%s", err, err2, info.Mode(), before)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"add t8", 2, "--role is missing"},
		{"add t8 --role root", 2, `--role: there is no role "root"`},
		{"add t8 --role tenant --pkeys 0x7fff", 1, `"0x7fff" is not a range of P_Keys`},
		{"add t8 --role tenant --guids x", 1, `"x" is not a range of GUIDs`},
		{"add t8 --role reader --partitions t8", 1, "user t8: partitions, pkeys, hosts and guids are for the role tenant"},
		{"add nico --role admin", 1, "there is a user nico already"},
		{"add n:o --role admin", 1, `"n:o" is not a name of a user`},
		{"add t8 --role admin --certificate *.example.com", 1, `certificate "*.example.com" is neither`},
		{"add t8 --role admin --certificate node1.example.com", 1, "certificate node1.example.com is that of user nico already"},
		{"add t8 --role admin --password-stdin", 1, "the password has 5 bytes: expected 8 to 256"},
		{"password nico --password-stdin", 1, "the password has 5 bytes"},
		{"password nobody --password-stdin", 1, "there is no user nobody"},
		{"delete nobody", 1, "there is no user nobody"},
		{"token nobody", 1, "there is no user nobody"},
		{"token nico --days 0", 1, "a token cannot end after 0 days"},
		{"revoke nico " + id[1], 1, `user nico has no token "` + id[1] + `"`},
		{"revoke nico", 2, "an argument is missing"},
		{"list --socket x", 2, "unknown option --socket"},
		{"lst", 2, `unknown verb of user "lst"; did you mean list?`},
		{"list --file " + file + ".none", 1, "no such file"},
		{"add t8 --role admin --file " + file + "/none", 1, "not a directory"},
		{"add t8 --role admin --file " + filepath.Dir(file) + "/none/users.toml", 1, "hint: make the directory of the file"},
	} {
		status, out, errs := verb("horse\n", strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "horse") {
			t.Errorf("%s: status %d, %s%s\nwant %d, %s", c.args, status, out, errs, c.status, c.want)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("what failed has changed the file: %v\n%s", err, after)
	}
}
