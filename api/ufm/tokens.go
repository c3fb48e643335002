package ufm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"ibsm/ctl"
	"ibsm/partitions/callers"
	"ibsm/rights"
)

// token is a token in a reply. Only the reply to its making has its secret, others have its ID.
type token struct {
	Token   string `json:"access_token"`
	Revoked bool   `json:"revoked"`
	Made    int64  `json:"issued_at"`  // seconds since 1970
	Lasts   int64  `json:"expires_in"` // seconds since then
	User    string `json:"username"`
}

func tokenOf(u *rights.User, t *Token, text string) *token {
	return &token{Token: text, Made: t.Made.Unix(), Lasts: int64(t.Until.Sub(t.Made).Seconds()), User: u.Name}
}

// tokenSource is where tokens are.
func (s *Server) tokenSource() (*Tokens, error) {
	if s.cfg.Tokens == nil {
		return nil, fmt.Errorf("%w: this manager has no tokens", ctl.ErrNotFound)
	}
	return s.cfg.Tokens, nil
}

// tokens answers with the user's tokens.
func (s *Server) tokens(w http.ResponseWriter, r *http.Request) error {
	source, err := s.tokenSource()
	if err != nil {
		return err
	}
	u := rights.Of(r.Context())
	all, err := source.List(r.Context(), u)
	if err != nil {
		return err
	}
	return s.array(w, r, func(add func(string, any)) error {
		for i := range all {
			add("", tokenOf(u, &all[i], all[i].ID))
		}
		return nil
	})
}

// makeToken makes a token of the user.
func (s *Server) makeToken(w http.ResponseWriter, r *http.Request) error {
	source, err := s.tokenSource()
	if err != nil {
		return err
	}
	u := rights.Of(r.Context())
	made, err := source.Make(r.Context(), u)
	if err != nil {
		return err
	}
	return s.reply(w, tokenOf(u, made, made.Secret))
}

// revokeToken revokes a token of the user.
func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	source, err := s.tokenSource()
	if err != nil {
		return err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	text := parseRevoked(r.Header.Get("Content-Type"), body)
	if text == "" {
		return refuse(callers.Wrong, "token", "field token is missing: expected a token or its ID, as a field of a form")
	}
	if err := source.Revoke(r.Context(), rights.Of(r.Context()), text); err != nil {
		return err
	}
	return s.reply(w, struct{}{})
}

// parseRevoked is the token in a form or in JSON; "" for none.
func parseRevoked(contentType string, body []byte) string {
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{}, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(bytes.NewReader(body))}
	text := r.PostFormValue("token")
	if r.MultipartForm != nil {
		r.MultipartForm.RemoveAll()
	}
	var fields struct{ Token string }
	if text == "" && json.Unmarshal(body, &fields) == nil {
		text = fields.Token
	}
	return text
}
