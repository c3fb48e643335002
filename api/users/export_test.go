package users

// Text is the file of the users.
func (s *Set) Text() []byte { return s.text() }

// SetCheck has a function called in place of argon2id. is reports whether the password is right.
func (a *Authenticator) SetCheck(check func(is func() bool) bool) {
	a.check = func(h *hash, text string) bool { return check(func() bool { return h.is(text) }) }
}
