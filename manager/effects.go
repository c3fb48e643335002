package manager

import (
	"log/slog"
	"runtime"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
)

// effects are what the machines of a Core want done in one Step, in the order in which they
// want it. Each machine is given the effects with its input.
type effects struct {
	now     time.Duration
	table   *txn.Table     // takes their requests
	actions []Action       // of this Step
	send    []mad.Datagram // of this Step
}

func (fx *effects) begin(now time.Duration) {
	fx.now, fx.actions, fx.send = now, fx.actions[:0], fx.send[:0]
}

func (fx *effects) do(a Action) { fx.actions = append(fx.actions, a) }

// request has a request sent. It reports false when there is no slot for it.
func (fx *effects) request(r *txn.Request) bool { return fx.table.Submit(r) }

// reply sends a datagram that is no request.
func (fx *effects) reply(d mad.Datagram) { fx.send = append(fx.send, d) }

// flush has the requests leave before what comes after.
func (fx *effects) flush() { fx.send = fx.table.Output(fx.now, fx.send) }

func (fx *effects) log(level slog.Level, msg string, args ...any) {
	var pc [1]uintptr
	runtime.Callers(2, pc[:]) // of the caller
	fx.do(Log{level, msg, args, pc[0]})
}

// Owners of requests.
const (
	ownerElection txn.Owner = iota
	ownerControl
	ownerInquiry
	ownerShown
	ownerPlace
	ownerSweep
	ownerMulticast
	ownerDescriptions
	ownerGUIDs
	ownerPort
	ownerKeyRead
	ownerLeases
	ownerOwnLink
	ownerVPorts
)

// directed is a request along a directed route, without data.
func directed(owner txn.Owner, tag uint64, r mad.Route, m mad.Method, attr mad.AttrID, mod uint32,
	key mad.MKey) *txn.Request {
	return &txn.Request{Owner: owner, Tag: tag, Route: r, Method: m, Attr: attr, Mod: mod, MKey: key}
}

// urgent is directed for requests of the election, which must not wait behind a sweep: their time-outs decide which
// manager is master.
func urgent(owner txn.Owner, tag uint64, r mad.Route, m mad.Method, attr mad.AttrID, mod uint32,
	key mad.MKey) *txn.Request {
	return &txn.Request{Owner: owner, Tag: tag, Route: r, Method: m, Attr: attr, Mod: mod, MKey: key, Exempt: true}
}

// isOK reports whether a request was answered, and not refused.
func isOK(o *txn.Outcome) bool { return o.Result == txn.Replied && o.Status == mad.StatusOK }
