package manager

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// TestPollMKey: the M_Key that was answered is shown until two polls are lost, then the others in order, and then it
// again; one that is answered takes its place.
func TestPollMKey(t *testing.T) {
	list := []mad.MKey{1, 2, 3}
	keys := func(_ mad.GUID, n int) mad.MKey { return list[n%len(list)] }
	k := pollMKey{}
	show := func(count int) (shown []mad.MKey) {
		for range count {
			key, _ := k.toPoll(9, keys)
			shown = append(shown, key)
			k.heard(&txn.Outcome{Tag: tagPoll, Result: txn.TimedOut}, tagGuess)
		}
		return shown
	}
	answer := func() {
		tag := tagPoll
		if _, guesses := k.toPoll(9, keys); guesses {
			tag = tagGuess
		}
		k.heard(&txn.Outcome{Tag: tag, Result: txn.Replied}, tagGuess)
	}
	for _, c := range []struct {
		name string
		want []mad.MKey
		then func()
	}{
		{"at first", []mad.MKey{1, 1, 2, 3, 1}, answer},
		{"after the second was answered", []mad.MKey{2, 2}, answer},
		{"after the first was answered", []mad.MKey{1, 1, 2, 3, 1}, func() { list = list[:1]; k = pollMKey{} }},
		{"with one M_Key", []mad.MKey{1, 1, 1, 1}, func() {
			list, k = []mad.MKey{1, 2, 3}, pollMKey{}
			show(1)
			k.refused()
		}},
		{"after an answer to a wrong one", []mad.MKey{2, 3, 1}, func() { list, k = list[:1], pollMKey{}; show(1) }},
	} {
		if got := show(len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		c.then()
	}
	hides := &smp.PortInfo{}
	hides.SetMKeyProtectBits(1)
	if k.isWrong(hides) {
		t.Error("where there is one M_Key, a port that hides its own says nothing about that")
	}
	k.single = false
	shows := *hides
	if shows.SetMKey(1); !k.isWrong(hides) || k.isWrong(&shows) {
		t.Error("whether an agent was shown its own M_Key is not found")
	}
}
