package sarec

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// Notice is attribute 0x0002 as a Report carries it: what a trap says and which port
// issued it (IBA 13.4.8.2).
//
//	 0 Notice of subnet management
//	64 IssuerGID
type Notice [80]byte

// Notice is the part that a trap has, too, as a view.
func (n *Notice) Notice() *smp.Notice { return (*smp.Notice)(n[0:64]) }

// IssuerGID is the port that issued the notice.
func (n *Notice) IssuerGID() mad.GID { return mad.GID(n[64:80]) }

// SetIssuerGID replaces IssuerGID.
func (n *Notice) SetIssuerGID(g mad.GID) { copy(n[64:80], g[:]) }
