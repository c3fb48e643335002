package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sa/mirror"
)

// mirroring is what managers tell each other: the keys by which they know each other,
// and sums over what should be the same at both; and what a standby of a manager of
// another kind needs to know.
func mirroring(cfg *manager.Config) mirror.Config {
	s := &cfg.Sweep
	return mirror.Config{
		SMKey: cfg.Elect.SMKey, MKey: s.Settings.MKey.Value, SAKey: cfg.SAKey, Keys: partitionKeys(s.Partitions.Policy),
		Settings: mirror.Settings{
			Partitions: sum(func(w io.Writer) {
				fmt.Fprintln(w, s.Partitions.Settings)
				if s.Partitions.Policy == nil {
					return
				}
				for _, p := range s.Partitions.Policy.Partitions {
					fmt.Fprintln(w, uint16(p.Key), p.IPoIB, p.SL)
					for _, m := range p.Members {
						fmt.Fprintln(w, m.Who, m.Port, m.Membership, m.Index0)
					}
					for _, g := range p.Groups {
						fmt.Fprintln(w, g.MGID, g.QKey, g.MTU, g.Rate, g.SL, g.TClass, g.FlowLabel)
					}
				}
			}),
			Routing: sum(func(w io.Writer) { fmt.Fprintln(w, s.EngineName, s.Settings.LMC, s.Settings.DisableAR) }),
		},
	}
}

// partitionKeys are those of the partitions that there are.
func partitionKeys(p *partitions.Policy) []mad.PKey {
	keys := []mad.PKey{mad.DefaultPKey}
	if p != nil {
		for i := range p.Partitions {
			keys = append(keys, p.Partitions[i].Key)
		}
	}
	return keys
}

// sum is over what is written; never 0.
func sum(write func(io.Writer)) uint64 {
	h := sha256.New()
	write(h)
	return binary.BigEndian.Uint64(h.Sum(nil)) | 1
}
