package api_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ibsm/api"
	"ibsm/api/users"
	"ibsm/ctl"
	"ibsm/rights"
)

// streams adds a request to a listener whose reply ends when its context does.
func streams(cfg *api.Config) {
	cfg.Routes = append(cfg.Routes, ctl.Route{Method: "GET", Path: "/v1/endless", Right: rights.Read, Does: "never ends",
		Reply: ctl.Content{Type: "text/event-stream"}, Handle: func(w http.ResponseWriter, r *http.Request) error {
			io.WriteString(w, "begun\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			<-r.Context().Done()
			return nil
		}})
}

// stream opens an endless reply with a header Authorization. The channel gets the time when it has ended.
func (h *harness) stream(authorization string) <-chan time.Time {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), "GET", h.server.URL()+"/v1/endless", nil)
	if err != nil {
		h.Fatal(err)
	}
	name, value, _ := strings.Cut(authorization, ": ")
	req.Header.Set(name, value)
	resp, err := h.client(ask{raw: "/v1/endless"}).Transport.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	body := bufio.NewReader(resp.Body)
	if line, err := body.ReadString('\n'); resp.StatusCode != 200 || err != nil {
		h.Fatalf("%s %q %v", resp.Status, line, err)
	}
	ended := make(chan time.Time, 1)
	go func() {
		defer resp.Body.Close()
		io.Copy(io.Discard, body)
		ended <- time.Now()
	}()
	return ended
}

// TestStreamsEndWithTheirUsers: a reply that is still sent ends within seconds of the end of its credential: a token
// that is revoked or ends, another password or role, a user that is deleted. Those of others go on, also where nothing
// is sent for longer than a client has to take a piece.
func TestStreamsEndWithTheirUsers(t *testing.T) {
	h := prepare(t)
	short, shortText, err := users.NewToken(time.Now(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	short.Until = time.Now().Add(4 * time.Second)
	h.changeUsers(func(s *users.Set) (*users.Set, error) { return s.AddToken("operator", short) })
	cfg := h.config()
	streams(&cfg)
	h.serve(cfg)
	reader, ends := h.stream("Authorization: Bearer "+h.tokens["reader"]), h.stream("Authorization: Bearer "+shortText)
	select {
	case at := <-ends:
		if at.Before(short.Until) {
			t.Errorf("the stream of a token has ended %v before the token", short.Until.Sub(at))
		}
	case <-time.After(20 * time.Second):
		t.Error("the token has ended: its stream goes on")
	}
	for _, c := range []struct {
		what, with string
		change     func(*users.Set) (*users.Set, error)
	}{
		{"a revoked token", "Authorization: Bearer " + h.tokens["operator"], func(s *users.Set) (*users.Set, error) {
			return s.RevokeToken("operator", s.TokenID("operator", h.tokens["operator"]))
		}},
		{"another password", basic("operator:" + password), func(s *users.Set) (*users.Set, error) {
			p, err := users.NewPassword("another " + password)
			if err != nil {
				return nil, err
			}
			return s.SetPassword("operator", p)
		}},
		{"another role", "Authorization: Bearer " + h.tokens["admin"], func(s *users.Set) (*users.Set, error) {
			a, _ := s.Find("admin")
			a.Role = rights.Reader
			if s, err = s.Delete("admin"); err != nil {
				return nil, err
			}
			return s.Add(a)
		}},
		{"a deleted user", basic("admin:" + password), func(s *users.Set) (*users.Set, error) { return s.Delete("admin") }},
	} {
		ended := h.stream(c.with)
		select {
		case <-ended:
			t.Fatalf("%s: the stream has ended before", c.what)
		case <-time.After(1500 * time.Millisecond):
		}
		h.changeUsers(c.change)
		changed := time.Now()
		select {
		case at := <-ended:
			t.Logf("%s: ended after %v", c.what, at.Sub(changed).Round(10*time.Millisecond))
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the stream goes on", c.what)
		}
	}
	select {
	case <-reader:
		t.Error("the stream of a user who has not changed has ended")
	default:
	}
}
