package profile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/ctl/profile"
)

const fingerprint = "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99"

// write writes a file of a mode, and returns its name.
func write(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return file
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "token", "ibsm_of_file\nmore\n", 0o640)
	write(t, dir, "password", "a pass word \r\n", 0o600)
	file := write(t, dir, "profiles.toml", `# managers
[site-a]
servers = ["https://a1:8443", "https://a2:8443/"]
fingerprint = ["`+fingerprint+`", "`+strings.ToLower(strings.ReplaceAll(fingerprint, ":", ""))+`"]
token_file = "token"

[b]
servers = "https://b:8443"
fingerprint = "`+fingerprint+`"
token = "ibsm_secret"

["c.d"]
servers = ["http://127.0.0.1:8080"]
user = "ops"
password_file = "`+dir+`/password"
`, 0o640)
	t.Setenv(profile.FileEnv, file)
	all, err := profile.Read(nil)
	if err != nil || fmt.Sprint(all.Names()) != "[b c.d site-a]" {
		t.Fatalf("%v, %v", all, err)
	}
	for name, want := range map[string]string{
		"site-a": "https://a1:8443 2 ibsm_of_file  ;https://a2:8443/ 2 ibsm_of_file  ;",
		"b":      "https://b:8443 1 ibsm_secret  ;",
		"c.d":    "http://127.0.0.1:8080 0  ops a pass word ;",
	} {
		p, err := all.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		remotes, err := p.Remotes()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range remotes {
			got += fmt.Sprintf("%s %d %s %s %s;", r.URL, len(r.Fingerprints), r.Token, r.User, r.Password)
		}
		if got != want || !p.HasCredential() {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(verb+verb, p, *p); strings.Contains(text, "secret") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
	if _, err := all.Named("site-b"); err == nil || err.Error() != file+` has no profile "site-b"; did you mean site-a?` {
		t.Errorf("a name that is not there: %v", err)
	}
}

// TestUsual: the file of the environment is read, or else the first that exists; none is no error before a name is
// asked for.
func TestUsual(t *testing.T) {
	dir := t.TempDir()
	usual := []string{filepath.Join(dir, "own"), filepath.Join(dir, "host")}
	t.Setenv(profile.FileEnv, "")
	read := func() string {
		t.Helper()
		p, err := profile.Read(usual)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(p.Names(), " ")
	}
	if got := read(); got != "" {
		t.Errorf("without a file: %s", got)
	}
	p, _ := profile.Read(usual)
	if _, err := p.Named("a"); err == nil || !strings.Contains(err.Error(), usual[0]+" or "+usual[1]) {
		t.Errorf("without a file: %v", err)
	}
	write(t, dir, "host", "[h]\nservers = \"https://h\"\n", 0o644)
	if got := read(); got != "h" {
		t.Errorf("with one file: %s", got)
	}
	write(t, dir, "own", "[o]\nservers = \"https://o\"\n", 0o644)
	if got := read(); got != "o" {
		t.Errorf("with two files: %s", got)
	}
	t.Setenv(profile.FileEnv, filepath.Join(dir, "none"))
	if _, err := profile.Read(usual); err == nil {
		t.Error("a file that is named and does not exist is no error")
	}
	t.Setenv("XDG_CONFIG_HOME", "/config")
	if got := fmt.Sprint(profile.Usual()); got != "[/config/ibsmctl.toml /etc/ibsm/ibsmctl.toml]" {
		t.Errorf("usual files: %s", got)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "/home/ops")
	if got := fmt.Sprint(profile.Usual()); got != "[/home/ops/.config/ibsmctl.toml /etc/ibsm/ibsmctl.toml]" {
		t.Errorf("usual files: %s", got)
	}
}

// TestErrors: each error has its line, and none the token.
func TestErrors(t *testing.T) {
	const server = "servers = \"https://a\"\n"
	for _, c := range []struct{ text, want string }{
		{"[a]\n", `:1: servers is missing`},
		{"\n[a]\nserver = \"https://a\"\n", `:2: servers is missing: expected servers = ["https://HOST:PORT"]` + "\n"},
		{"[a]\n" + server + "serves = 1\n", `:3: unknown key "serves"; did you mean servers?`},
		{"a = 1\n", `:1: "a": expected [NAME] before the keys`},
		{"token = \"secret\"\n", `:1: "token": expected [NAME] before the keys`},
		{"[\"a,b\"]\n" + server, `:1: "a,b" is not the name of a profile`},
		{"[a]\nservers = []\n", ":2: servers: expected a list"},
		{"[a]\nservers = [1]\n", ":2: servers: expected a list"},
		{"[a]\nservers = [\"https://a\", \"a:8443\"]\n", `:2: servers: "a:8443" is not the address of a server`},
		{"[a]\nservers = \"http://a\"\n", ":2: servers: http://a: a credential would be sent in plain text"},
		{"[a]\nservers = \"https://u:secret@a\"\n", ":2: servers: the address of a server has no user"},
		{"[a]\nservers = [" + strings.Repeat("\"https://a\",", 17) + "]\n", ":2: servers: at most 16"},
		{"[a]\n" + server + "fingerprint = \"AA\"\n", `:3: fingerprint: "AA" is not the SHA-256 fingerprint`},
		{"[a]\n" + server + "fingerprint = 1\n", `:3: fingerprint: expected a text, or a list`},
		{"[a]\n" + server + "ca = 1\n", ":3: ca: expected a text"},
		{"[a]\n" + server + "ca = \"\"\n", ":3: ca: expected a text"},
		{"[a]\n" + server + "[a.b]\nc = 1\n", `:3: unknown key "b"`},
		{"[a]\n" + server + "certificate = \"c\"\n", ":1: certificate and key need each other"},
		{"[a]\n" + server + "user = \"u\"\n", ":1: user and password_file need each other"},
		{"[a]\n" + server + "token = \"secret\"\ntoken_file = \"f\"\n", ":1: token, token_file and user exclude"},
		{"[a]\n" + server + "token = secret\n", ":3: this is not TOML"},
		{"[a]\n" + server + "token = \"secret\n", ":3:"},
		{"[a]\n" + server + "token = \"secret\"\ntoken = \"secret\"\n", ":4:"},
		{"[a]\n" + server + "[a]\n" + server, ":3:"},
		{"[a]\n[b]\nx = 1\n" + server, ":1: servers is missing: expected servers = [\"https://HOST:PORT\"]\n"},
	} {
		file := write(t, t.TempDir(), "p.toml", c.text, 0o600)
		t.Setenv(profile.FileEnv, file)
		_, err := profile.Read(nil)
		if err == nil || !strings.HasPrefix(err.Error(), file+c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s%s", c.text, err, file, c.want)
		}
	}
}

// TestModes: what other users can read or change is not used.
func TestModes(t *testing.T) {
	const server = "[a]\nservers = \"https://a\"\n"
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string // part of the error
	}{
		{server, 0o644, ""}, {server, 0o664, ""}, {server, 0o646, "all users can change "},
		{server + "token = \"secret\"", 0o640, ""}, {server + "token = \"secret\"", 0o644, "all users can read or change "},
		{server + "token_file = \"private\"", 0o644, ""}, {server + "token_file = \"public\"", 0o644, "public (mode 0644)"},
		{server + "token_file = \"empty\"", 0o644, "the first line is empty"},
		{server + "token_file = \"none\"", 0o644, "no such file"},
		{server + "user = \"u\"\npassword_file = \"public\"", 0o644, "chmod o= "},
		{server + "ca = \"public\"", 0o644, "no certificate in PEM form"},
		{server + "ca = \"written\"", 0o644, "chmod o-w "},
		{server + "certificate = \"public\"\nkey = \"public\"", 0o644, "public (mode 0644)"},
		{server + "certificate = \"public\"\nkey = \"private\"", 0o644, "failed to find any PEM data"},
	} {
		dir := t.TempDir()
		write(t, dir, "private", "secret\n", 0o600)
		write(t, dir, "public", "secret\n", 0o644)
		write(t, dir, "written", "secret\n", 0o646)
		write(t, dir, "empty", "\nsecret\n", 0o600)
		t.Setenv(profile.FileEnv, write(t, dir, "p.toml", c.text, c.mode))
		all, err := profile.Read(nil)
		if err == nil {
			p, wrong := all.Named("a")
			if wrong != nil {
				t.Fatal(wrong)
			}
			_, err = p.Remotes()
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q, mode %o: %v, want %q", c.text, c.mode, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("[a]\nservers = [\"https://a\"]\nfingerprint = \"" + fingerprint + "\"\n")
	f.Add("[a]\nuser = 1\nx = {y = [[1]]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 500 { // the time of the TOML package grows with the third power of the depth
			return
		}
		file := filepath.Join(t.TempDir(), "p.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(profile.FileEnv, file)
		all, err := profile.Read(nil)
		if err != nil {
			return
		}
		for _, name := range all.Names() {
			if p, err := all.Named(name); err != nil || len(p.Servers) == 0 {
				t.Errorf("%q: profile %q: %v", text, name, err)
			}
		}
	})
}
