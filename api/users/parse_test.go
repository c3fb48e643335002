package users_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/api/users"
)

// head begins each user of the tests.
const head = "[[user]]\nname = \"%s\"\nrole = \"%s\"\n"

const (
	anyHash  = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	anyToken = "\n[[user.token]]\nid = \"%s\"\nsha256 = \"%064d\"\nmade = 2026-01-31T00:00:00Z\nuntil = 2027-01-31T00:00:00Z\n"
)

func user(name, role, rest string) string { return fmt.Sprintf("\n"+head, name, role) + rest }

func tokenText(id string, sum int) string { return fmt.Sprintf(anyToken, id, sum) }

// TestParse: a file means what it says, whatever the form of its TOML.
func TestParse(t *testing.T) {
	set, err := users.Parse("users.toml", []byte("# comment with { and [[user]]\n"+
		user("k8s", "operator", `password = "`+anyHash+`"`+"\n")+
		user("nico", "admin", "certificates = [\"spiffe://cluster/ns/x\",\n  'node1.example.com'] # [[[[\n"+
			tokenText("0123abcd", 1)+"note = 'rack 7, {old}'\n"+tokenText("0123abce", 2))+
		user("tenant-7", "tenant", `partitions = ["t7-*"]`+"\n"+`pkeys = ["0x100-0x1ff", "7"]`+"\n"+
			`hosts = ["gpu-*"]`+"\n"+`guids = ["0x0200000000000000-0x02ffffffffffffff"]`+"\n")))
	if err != nil {
		t.Fatal(err)
	}
	list := set.Accounts()
	if set.Len() != 3 || len(list) != 3 || list[0].Name != "k8s" || !list[0].Password.IsSet() || list[1].Password.IsSet() {
		t.Fatalf("%d users: %v", set.Len(), list)
	}
	nico, is := set.Find("nico")
	if !is || len(nico.Certificates) != 2 || nico.Certificates[1] != "node1.example.com" || len(nico.Tokens) != 2 ||
		nico.Tokens[0].Note != "rack 7, {old}" || nico.Tokens[1].ID != "0123abce" ||
		!nico.Tokens[1].Until.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %v, %v", nico, nico.Certificates, nico.Tokens)
	}
	tenant := list[2]
	if !tenant.Partition("t7-a", 0x8100) || !tenant.Partition("t7-a", 7) || tenant.Partition("t7-a", 8) ||
		!tenant.Member(0x0200000000000001, "") || tenant.Member(0, "cpu-1") {
		t.Errorf("%v has another scope: %+v", tenant, tenant.Scope)
	}
	if _, is := set.Find("tenant-8"); is {
		t.Error("there is a user tenant-8")
	}
	longest := user(strings.Repeat("n", 64), "admin", fmt.Sprintf("certificates = [%q, %q]\n", strings.Repeat("c", 253),
		"spiffe://"+strings.Repeat("c", 2039))+tokenText("0123abcd", 1)+"note = '"+strings.Repeat("~", 64)+"'\n")
	if _, err := users.Parse("users.toml", []byte(longest)); err != nil {
		t.Errorf("the longest texts: %v", err)
	}
	if set, err := users.Parse("users.toml", nil); err != nil || set.Len() != 0 || len((*users.Set)(nil).Accounts()) != 0 {
		t.Errorf("an empty file: %v, %v", set, err)
	}
}

// TestParseErrors: what is wrong is an error at the user's line, and shows no secret.
func TestParseErrors(t *testing.T) {
	k8s := user("k8s", "operator", "") // lines 1 to 4; the next user begins in line 6
	for _, c := range []struct{ text, want string }{
		{k8s + user("a", "root", ""), `users.toml:6: user a: there is no role "root": expected reader, tenant, operator, admin`},
		{k8s + "\n[[user]]\nname = \"a\"\n", "users.toml:6: user a: there is no role: expected"},
		{k8s + "\n[[user]]\nrole = \"admin\"\n", `users.toml:6: "" is not a name of a user: expected 1 to 64 letters`},
		{user("-a", "admin", ""), `"-a" is not a name`}, {user("a b", "admin", ""), `"a b" is not a name`},
		{user("a:b", "admin", ""), `"a:b" is not a name`}, {user("ä", "admin", ""), `"ä" is not a name`},
		{user(strings.Repeat("a", 65), "admin", ""), "the name of a user is too long"},
		{k8s + user("k8s", "admin", ""), "users.toml:6: there are two users k8s"},
		{user("k8s", "operator", "name = \"a\"\n"), "users.toml:5: this is not TOML"},
		{k8s + user("a", "admin", "Role = \"admin\"\n"), "users.toml:6: user a: there is no name Role; did you mean role?"},
		{k8s + "[user.token]\n", "users.toml:2: user k8s: token has another form than [[user.token]]"},
		{user("a", "admin", "token = \"abc\"\n"), "user a: token has another form than [[user.token]]"},
		{"[user]\nname = \"a\"\n", "users.toml: user has another form than [[user]]"},
		{"users = 1\n" + k8s, "users.toml: there is no name users; did you mean user?"},
		{"user = [{name = \"a\"}]\n", "users.toml:1: inline tables are not read"},
		{user("a", "admin", "password = \"\"\"\n"+anyHash+"\"\"\"\n"), "users.toml:5: a text does not end in its line"},
		{user("a", "admin", "certificates = [\"\"\" \"\n\"\"\", \"x\"]\n"), "users.toml:5: a text does not end in its line"},
		{user("a", "admin", "password = 'abc\n"), "users.toml:5: a text does not end in its line"},
		{user("a", "admin", "certificates = [[[[\n"), "users.toml:5: nesting as deep as this is not read"},
		{user("a", "admin", "certificates = [\n[\n[\n"), "users.toml:7: nesting as deep as this is not read"},
		{"a" + strings.Repeat(".a", 10) + " = 1\n", "users.toml:1: nesting as deep as this is not read"},
		{user("a", "admin", "role: admin\n"), "users.toml:5: this is not TOML"},
		{user("a", "admin", "password = "+anyHash+"\n"), "users.toml:5: this is not TOML"},
		{user("a", "admin", `password = "hunter22"`+"\n"), "users.toml:2: user a: the password is not a hash"},
		{user("a", "admin", `password = "`+strings.Replace(anyHash, "t=2", "t=1", 1)+`"`+"\n"), "the password is not a hash"},
		{user("a", "admin", `password = "`+anyHash+`A"`+"\n"), "the password is not a hash"},
		{user("a", "admin", `password = "`+anyHash[:len(anyHash)-1]+`B"`+"\n"), "the password is not a hash"},
		{user("a", "admin", "password = 1\n"), `user a: password has another form than a text such as "a"`},
		{user("a", "admin", `certificates = "x"`+"\n"), `certificates has another form than a list of texts`},
		{user("a", "admin", `certificates = [1]`+"\n"), `certificates has other elements than texts`},
		{user("a", "admin", `certificates = [""]`+"\n"), `certificate "" is neither`},
		{user("a", "admin", `certificates = ["*.example.com"]`+"\n"), `certificate "*.example.com" is neither`},
		{user("a", "admin", `certificates = ["`+strings.Repeat("c", 254)+`"]`+"\n"), "is neither a DNS name"},
		{user("a", "admin", `certificates = ["spiffe://`+strings.Repeat("c", 2040)+`"]`+"\n"), "is neither a DNS name"},
		{user("a", "admin", `certificates = ["spiffe://a b"]`+"\n"), `certificate "spiffe://a b" is neither`},
		{user("a", "admin", `certificates = ['spiffe://a"b']`+"\n"), "is neither a DNS name"},
		{user("a", "admin", `certificates = ['spiffe://a\b']`+"\n"), "is neither a DNS name"},
		{user("a", "admin", `certificates = ["spiffe://ä"]`+"\n"), "is neither a DNS name"},
		{user("a", "admin", `certificates = [`+strings.Repeat(`"x",`, 101)+"]\n"), "more than 100 certificates"},
		{"[[\"user\"]]\nname = \"a\"\n", "users.toml: user a: there is no role"},
		{user("a", "admin", `certificates = ["x", "x"]`+"\n"), "user a: certificate x is that of user a already"},
		{user("a", "admin", `certificates = ["x"]`+"\n") + user("b", "admin", `certificates = ["x"]`+"\n"),
			"users.toml:7: user b: certificate x is that of user a already"},
		{user("a", "admin", `partitions = ["x"]`+"\n"), "user a: partitions, pkeys, hosts and guids are for the role tenant"},
		{user("a", "reader", `guids = ["1"]`+"\n"), "are for the role tenant, and the role is reader"},
		{user("a", "tenant", `partitions = ["x y"]`+"\n"), `user a: "x y" is not a pattern of names`},
		{user("a", "tenant", `hosts = [""]`+"\n"), `user a: "" is not a pattern of names`},
		{user("a", "tenant", `pkeys = ["0x7fff"]`+"\n"), `user a: "0x7fff" is not a range of P_Keys`},
		{user("a", "tenant", `pkeys = [7]`+"\n"), "pkeys has other elements than texts"},
		{user("a", "tenant", `guids = ["0x2-0x1"]`+"\n"), `user a: "0x2-0x1" is not a range of GUIDs`},
		{user("a", "tenant", `hosts = [`+strings.Repeat(`"x",`, 101)+"]\n"), "more than 100 partitions, pkeys, hosts or guids"},
		{user("a", "admin", "\n[[user.token]]\n"), "users.toml:2: user a: token 1: sha256 is not 64 hexadecimal digits"},
		{user("a", "admin", tokenText("0123ABCD", 1)), "user a: token 1: the id is not 8 hexadecimal digits"},
		{user("a", "admin", tokenText("0123abcd", 1)+tokenText("0123abcd", 2)), "user a: there are two tokens 0123abcd"},
		{user("a", "admin", tokenText("0123abcd", 1)) + user("b", "admin", tokenText("0123abce", 1)),
			"user b: token 0123abce is token 0123abcd of user a already"},
		{user("a", "admin", strings.Replace(tokenText("0123abcd", 1), "2027-", "2026-", 1)),
			"user a: token 0123abcd: the time until is not after made"},
		{user("a", "admin", strings.Replace(tokenText("0123abcd", 1), "00Z", "00", 1)),
			"user a: token 1: made has another form than a time such as"},
		{user("a", "admin", tokenText("0123abcd", 1)+"note = '"+strings.Repeat("~", 65)+"'\n"), "the note has other than"},
		{user("a", "admin", tokenText("0123abcd", 1)+"note = 'ä'\n"), "the note has other than"},
		{user("a", "admin", tokenText("0123abcd", 1)+"note = \"a\\nb\"\n"), "the note has other than"},
		{user("a", "admin", tokenText("0123abcd", 1)+"secret = \"x\"\n"), "token 1: there is no name secret"},
		{user("a", "admin", `"`+anyHash+`" = 1`+"\n"), "user a: there is a name that is none of name, role"},
		{strings.Repeat(" ", users.MaxFile+1), "users.toml: the file has more than 1048576 bytes"},
		{strings.Repeat("[[user]]\n", 10_001), "users.toml:10001: there are more than 10000 users"},
	} {
		set, err := users.Parse("users.toml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "AAAA") ||
			strings.Contains(err.Error(), "hunter") || set != nil {
			t.Errorf("%.300s\ngives error\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// TestMostUsers: 10,000 users are read, and one more is refused at its line.
func TestMostUsers(t *testing.T) {
	var b strings.Builder
	for i := range 10_001 {
		b.WriteString(user(fmt.Sprint("u", i), "reader", ""))
	}
	_, err := users.Parse("users.toml", []byte(b.String()))
	if want := "users.toml:40002: there are more than 10000 users"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	set, err := users.Parse("users.toml", []byte(strings.TrimSuffix(b.String(), user("u10000", "reader", ""))))
	if err != nil || set.Len() != 10_000 {
		t.Errorf("%v, %v", set, err)
	}
}

// differ says how users differ besides what they are authenticated by.
func differ(a, b []users.Account) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d users", len(a), len(b))
	}
	for i := range a {
		if !reflect.DeepEqual(a[i].User, b[i].User) || !slices.Equal(a[i].Certificates, b[i].Certificates) ||
			a[i].Password.IsSet() != b[i].Password.IsSet() || len(a[i].Tokens) != len(b[i].Tokens) {
			return fmt.Sprintf("%+v with %q, %v and %+v with %q, %v", a[i].User, a[i].Certificates, a[i].Tokens, b[i].User,
				b[i].Certificates, b[i].Tokens)
		}
		for j, t := range a[i].Tokens {
			of := b[i].Tokens[j]
			if t.ID != of.ID || !t.Made.Equal(of.Made) || !t.Until.Equal(of.Until) || t.Note != of.Note {
				return fmt.Sprintf("%v, %v, %q and %v, %v, %q", t, t.Made, t.Note, of, of.Made, of.Note)
			}
		}
	}
	return ""
}

// TestDocs: the file that docs/api.md shows is one.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	_, text, is := strings.Cut(string(page), "\n    [[user]]\n")
	text, _, ends := strings.Cut(text, "\n\n|")
	if err != nil || !is || !ends {
		t.Fatalf("%v, %t, %t", err, is, ends)
	}
	set, err := users.Parse("docs/api.md", []byte("[[user]]\n"+text))
	if err != nil || set.Len() != 1 || len(set.Accounts()[0].Tokens) != 1 {
		t.Errorf("%v, %v", set, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(user("k8s", "operator", `password = "`+anyHash+`"`+"\n")))
	f.Add([]byte(user("full", "tenant", `password = "`+anyHash+`"`+"\ncertificates = [\"c\"]\npartitions = [\"t7-*\"]\n"+
		"pkeys = [\"1-7\"]\nhosts = ['h']\nguids = [\"0x1\"]\n"+tokenText("0123abcd", 1)+
		strings.Replace(tokenText("0123abce", 2), "00Z", "00.7+01:00", 1)+"note = 'a'\n")))
	f.Add([]byte(user("nico", "admin", `certificates = ["spiffe://c/x"]`+"\n"+tokenText("0123abcd", 1)+"note = 'a'\n")))
	f.Add([]byte(user("t", "tenant", "partitions = [\"t7-*\"]\npkeys = [\"1-7\"]\nhosts = ['h']\nguids = [\"0x1\"]\n")))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := users.Parse("users.toml", text)
		if err != nil {
			return
		}
		// What was read is written and read again as it was.
		written := set.Text()
		if len(written) > users.MaxFile {
			return
		}
		again, err := users.Parse("users.toml", written)
		if err != nil || !bytes.Equal(again.Text(), written) {
			t.Fatalf("%s\nis written as\n%s\n%v", text, written, err)
		}
		if difference := differ(set.Accounts(), again.Accounts()); difference != "" {
			t.Fatal(difference)
		}
	})
}
