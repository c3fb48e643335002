package ctl

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"
)

// DrainOrder says what routes avoid from now on, or with Undrain what they may use again.
type DrainOrder struct {
	Undrain bool
	// Switches are switches, or ports as SWITCH:PORT. SWITCH is the name or GUID of a switch of the subnet, or the name
	// of a line card or director. Undrain also takes the name of an absent switch, spelled as in drain_file.
	Switches []string
	All      bool // of Undrain: everything, and Switches is empty
}

// DrainDone is what has become of a DrainOrder.
type DrainDone struct {
	File string `json:"file"` // drain_file
	// Refused says that the configuration file has errors: drain_file is in force all the same.
	Refused bool `json:"refused"`
}

// maxDrainWait bounds the time for which a request waits for its routes.
const maxDrainWait = 24 * time.Hour

// drain makes routes avoid switches and ports, or use them again. The reply comes when they do.
func (s *Server) drain(r *http.Request) (any, error) {
	o := DrainOrder{Undrain: r.URL.Path == "/v1/undrain", Switches: r.URL.Query()["switch"]}
	seconds, err := number(r, "seconds", 32)
	if err == nil {
		o.All, err = flag(r, "all")
	}
	if err == nil && ((len(o.Switches) == 0) != o.All || o.All && !o.Undrain) {
		err = hint(fmt.Errorf("%w: expected switch=SWITCH or switch=SWITCH:PORT, which may be repeated", ErrBadRequest),
			"undrain also takes all=1")
	}
	if err = cmp.Or(err, has(s.cfg.Drain != nil, "configuration")); err != nil {
		return nil, err
	}
	if err := s.drains.take(r.Context()); err != nil {
		return nil, err
	}
	defer s.drains.end()
	s.cfg.Logger.Info("drain_file edited over the control socket", "undrain", o.Undrain, "switches", o.Switches)
	ctx, cancel := context.WithTimeout(r.Context(), min(time.Duration(seconds)*time.Second, maxDrainWait))
	defer cancel()
	return s.cfg.Drain(ctx, o)
}
