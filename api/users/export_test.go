package users

// Text is the file of the users.
func (s *Set) Text() []byte { return s.text() }

// SetCheck has a function called around argon2id.
func (a *Authenticator) SetCheck(around func(is func() bool) bool) {
	a.check = func(h *hash, text string) bool { return around(func() bool { return h.is(text) }) }
}

// SetQuick replaces argon2id by a comparison with one password, which takes no time.
func (a *Authenticator) SetQuick(around func(is func() bool) bool, password string) {
	a.check = func(_ *hash, text string) bool { return around(func() bool { return text == password }) }
}

// SetTurns has argon2id run as often at a time as on a machine with so many processors.
func (a *Authenticator) SetTurns(processors int) { a.turns = turnsOn(processors) }
