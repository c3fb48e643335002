package ctl

import (
	"fmt"
	"net/http"
	"strconv"

	"ibsm/routing/qos"
)

// QoS is a QoS policy.
type QoS struct {
	Default QoSLevel   `json:"default"` // of requests that no rule matches
	Rules   []QoSRule  `json:"rules"`   // the first that matches decides
	Levels  []QoSLevel `json:"levels"`
	Groups  []QoSGroup `json:"groups"`
}

// QoSRule is a rule, or a line of qos-ulps.
type QoSRule struct {
	Position   string `json:"position"` // file:line:column
	Use        string `json:"use,omitempty"`
	Conditions string `json:"conditions"`
	Level      string `json:"level,omitempty"` // its name; "" for a line of qos-ulps
	Limits     string `json:"limits"`
	SL         uint8  `json:"sl"`
}

// QoSLevel is a level.
type QoSLevel struct {
	Position string `json:"position"`
	Name     string `json:"name,omitempty"` // "" for the line default of qos-ulps
	Use      string `json:"use,omitempty"`
	Limits   string `json:"limits"`
	SL       uint8  `json:"sl"`
}

// QoSGroup is a group of ports.
type QoSGroup struct {
	Position string `json:"position"`
	Name     string `json:"name"`
	Lists    string `json:"lists"`           // what the file lists
	Ports    *int   `json:"ports,omitempty"` // how many ports of the subnet are in it, if that is known
}

// NewQoS describes a policy, without a subnet.
func NewQoS(p *qos.Policy) *QoS {
	level := func(l *qos.Level) QoSLevel {
		return QoSLevel{Position: l.Position.String(), Name: l.Name, Use: l.Use, Limits: l.Limits(), SL: l.SL}
	}
	out := &QoS{Default: level(p.Default), Rules: []QoSRule{}, Levels: []QoSLevel{}, Groups: []QoSGroup{}}
	for i := range p.Rules {
		r := &p.Rules[i]
		out.Rules = append(out.Rules, QoSRule{
			Position: r.Position.String(), Use: r.Use, Conditions: r.Conditions(), Level: r.Level.Name,
			Limits: r.Level.Limits(), SL: r.Level.SL,
		})
	}
	for i := range p.Levels {
		out.Levels = append(out.Levels, level(&p.Levels[i]))
	}
	for _, g := range p.Groups {
		out.Groups = append(out.Groups, QoSGroup{Position: g.Position.String(), Name: g.Name, Lists: g.Lists()})
	}
	return out
}

// PathRequest is what a host may say when it asks for a path, besides the two ports.
type PathRequest struct {
	ServiceID *uint64
	PKey      *uint16
	QoSClass  *uint16 // 12 bits
}

// PathAnswer is what the SA answers to a host that asks for a path.
type PathAnswer struct {
	From     End     `json:"from"`
	To       End     `json:"to"`
	Found    bool    `json:"found"`
	SL       uint8   `json:"sl"`
	MTU      int     `json:"mtu,omitempty"` // bytes
	Gbps     float64 `json:"gbps,omitempty"`
	LifeTime uint8   `json:"life_time"` // 4.096 us x 2^n
	PKey     string  `json:"pkey,omitempty"`
	HopLimit uint8   `json:"hop_limit,omitempty"` // above 0 hosts send a GRH
	// Rule and Level are those of the policy, and Position that of the rule, or of the default level.
	// They are empty without a policy.
	Rule     string `json:"rule,omitempty"` // its description, or its conditions; "" for the default level
	Level    string `json:"level,omitempty"`
	Limits   string `json:"limits,omitempty"`
	Position string `json:"position,omitempty"`
	Reason   string `json:"reason,omitempty"` // why there is no path
}

// qos answers with the policy in force.
func (s *Server) qos(r *http.Request) (any, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.QoS()
}

// pathRecord answers about the path that a host would get.
func (s *Server) pathRecord(w http.ResponseWriter, r *http.Request) error {
	var err error
	query := r.URL.Query()
	from, to := query.Get("from"), query.Get("to")
	var want PathRequest
	for _, p := range []struct {
		name string
		bits int
		set  func(n uint64)
	}{
		{"service_id", 64, func(n uint64) { want.ServiceID = &n }},
		{"pkey", 16, func(n uint64) { want.PKey = new(uint16); *want.PKey = uint16(n) }},
		{"qos_class", 12, func(n uint64) { want.QoSClass = new(uint16); *want.QoSClass = uint16(n) }},
	} {
		if text := query.Get(p.name); text != "" && err == nil {
			n, wrong := strconv.ParseUint(text, 0, p.bits)
			if wrong != nil {
				err = fmt.Errorf("%w: parameter %s=%q: expected a number of at most %d bits", ErrBadRequest, p.name,
					text, p.bits)
			}
			p.set(n)
		}
	}
	if err != nil {
		return hint(err, "from and to are each a LID, GUID, GID or NodeDescription")
	}
	sub, err := s.named(w, r)
	if err != nil {
		return err
	}
	answer, err := sub.PathRecord(from, to, &want)
	if err == nil {
		s.reply(w, http.StatusOK, answer)
	}
	return err
}
