package users

import (
	"fmt"
	"slices"
	"time"

	"ibsm/conf/diag"
)

// Add returns the users with one more.
func (s *Set) Add(a Account) (*Set, error) {
	if err := CheckName(a.Name); err != nil {
		return nil, err
	}
	if s.find(a.Name) != nil {
		return nil, fmt.Errorf("there is a user %s already", a.Name)
	}
	next, _, err := newSet(append(s.Accounts(), a))
	return next, err
}

// Delete returns the users without one.
func (s *Set) Delete(name string) (*Set, error) {
	if s.find(name) == nil {
		return nil, s.noUser(name)
	}
	next, _, err := newSet(slices.DeleteFunc(s.Accounts(), func(a Account) bool { return a.Name == name }))
	return next, err
}

// SetPassword returns the users of whom one has another password.
func (s *Set) SetPassword(name string, p Password) (*Set, error) {
	return s.edit(name, func(a *Account) error {
		a.Password = p
		return nil
	})
}

// keptAfterEnd is how long a token that has ended stays in the file.
const keptAfterEnd = 30 * 24 * time.Hour

// AddToken returns the users of whom one has one more token. Tokens of the user that have ended 30 days before it was
// made are dropped.
func (s *Set) AddToken(name string, t Token) (*Set, error) {
	return s.edit(name, func(a *Account) error {
		kept := slices.DeleteFunc(slices.Clone(a.Tokens), func(old Token) bool {
			return old.Until.Add(keptAfterEnd).Before(t.Made)
		})
		a.Tokens = append(kept, t)
		return nil
	})
}

// RevokeToken returns the users of whom one has a token less.
func (s *Set) RevokeToken(name, id string) (*Set, error) {
	return s.edit(name, func(a *Account) error {
		kept := slices.DeleteFunc(slices.Clone(a.Tokens), func(t Token) bool { return t.ID == id })
		if len(kept) == len(a.Tokens) {
			return fmt.Errorf("user %s has no token %.20q", name, id)
		}
		a.Tokens = kept
		return nil
	})
}

// edit returns the users of whom one was changed.
func (s *Set) edit(name string, change func(*Account) error) (*Set, error) {
	list := s.Accounts()
	i := slices.IndexFunc(list, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return nil, s.noUser(name)
	}
	if err := change(&list[i]); err != nil {
		return nil, err
	}
	next, _, err := newSet(list)
	return next, err
}

func (s *Set) noUser(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	var names []string
	for i := range s.Len() {
		names = append(names, s.accounts[i].Name)
	}
	return fmt.Errorf("there is no user %s%s", name, diag.Meant(name, names))
}
