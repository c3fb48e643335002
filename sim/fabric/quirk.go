package fabric

import (
	"fmt"
	"strconv"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Quirk is what an agent makes of one method of one attribute, where that is not what the architecture asks for.
type Quirk struct {
	Method mad.Method // MethodGet or MethodSet
	Attr   mad.AttrID
	Answer Answer
	Status mad.Status // of AnswersStatus
}

// Answer is how an agent with a Quirk answers.
type Answer uint8

// Answers. Those to a Set have status 0.
const (
	NoAnswer      Answer = iota // not at all, and does nothing
	AnswersStatus               // with a status that is an error, and does nothing
	Acknowledges                // a Set: with the value that was sent, of which it keeps nothing
	Ignores                     // a Set: with the value that it has, and keeps
	AnswersBefore               // a Set: with the value from before the Set, though it has taken the new one
)

var answerNames = []string{NoAnswer: "none", Acknowledges: "acknowledges", Ignores: "ignores", AnswersBefore: "before"}

// String is the Quirk in the words of ParseQuirk.
func (q Quirk) String() string {
	answer := answerNames[q.Answer]
	if q.Answer == AnswersStatus {
		answer = fmt.Sprintf("%#02x", uint16(q.Status))
	}
	return fmt.Sprintf("%v %s %s", q.Method, smp.AttrName(q.Attr), answer)
}

// ParseQuirk reads a Quirk from its words: Get or Set; the name of an attribute, or its number; and an answer: "none",
// a status such as "0x1c", or of a Set "acknowledges", "ignores" or "before".
func ParseQuirk(method, attr, answer string) (q Quirk, err error) {
	switch method {
	case mad.MethodGet.String():
		q.Method = mad.MethodGet
	case mad.MethodSet.String():
		q.Method = mad.MethodSet
	default:
		return q, fmt.Errorf("%q: expected Get or Set", method)
	}
	named := false
	if q.Attr, named = smp.AttrNamed(attr); !named {
		n, err := strconv.ParseUint(attr, 0, 16)
		if err != nil {
			return q, fmt.Errorf("no attribute %q; the command counters prints names", attr)
		}
		q.Attr = mad.AttrID(n)
	}
	for a, name := range answerNames {
		if name == answer && name != "" {
			q.Answer = Answer(a)
			if q.Answer != NoAnswer && q.Method != mad.MethodSet {
				return q, fmt.Errorf("%q is an answer to Set alone", answer)
			}
			return q, nil
		}
	}
	status, err := strconv.ParseUint(answer, 0, 16)
	if err != nil || status == 0 {
		return q, fmt.Errorf("%q: expected a status such as 0x1c, or none, acknowledges, ignores, before", answer)
	}
	q.Answer, q.Status = AnswersStatus, mad.Status(status)
	return q, nil
}

// Defect is that of an agent with the Quirk, which is sound otherwise.
func (q Quirk) Defect() Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.Method() != q.Method || p.AttrID() != q.Attr {
			return obey(), true
		}
		switch q.Answer {
		case NoAnswer:
			return mad.StatusOK, false
		case AnswersStatus:
			return q.Status, true
		case Acknowledges:
			return mad.StatusOK, true
		case Ignores:
			p.SetMethod(mad.MethodGet)
			return obey(), true
		}
		asked := *p.Data()
		p.SetMethod(mad.MethodGet)
		readable := obey() == mad.StatusOK
		before := *p.Data()
		p.SetMethod(mad.MethodSet)
		*p.Data() = asked
		status := obey()
		if status == mad.StatusOK && readable { // a wildcard is not
			*p.Data() = before
		}
		return status, true
	}
}

// SetDefect gives a node's agent a Defect from now on; nil makes it a sound one.
func (f *Fabric) SetDefect(node int32, d Defect) { f.nodes[node].caps.Defect = d }
