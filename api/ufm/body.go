package ufm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
)

// wanted is the body of a request about a P_Key. Fields that a request does not have, or that are null, are as if they
// had their defaults; those that are not known are ignored.
type wanted struct {
	key         mad.PKey
	name        string
	ipoib       *bool // nil: not said
	index0      bool
	membership  partitions.Membership // 0: not said
	memberships []partitions.Membership
	guids       []mad.GUID
	hasGUIDs    bool
	hosts       []string
	mtu         mad.MTU  // 0: not said
	rate        mad.Rate // likewise
	sl          *uint8   // nil: not said
}

// Body is what requests about a P_Key may have as a body.
type Body struct {
	PKey        string   `json:"pkey"`
	GUIDs       []string `json:"guids,omitempty"`
	HostsNames  string   `json:"hosts_names,omitempty"` // separated by commas
	Name        string   `json:"partition_name,omitempty"`
	IPOverIB    bool     `json:"ip_over_ib,omitempty"`
	Index0      bool     `json:"index0,omitempty"`
	Membership  string   `json:"membership,omitempty"`
	Memberships []string `json:"memberships,omitempty"`
	MTU         int      `json:"mtu_limit,omitempty"`
	SL          int      `json:"service_level,omitempty"`
	Rate        float64  `json:"rate_limit,omitempty"`
}

// parseWanted parses the body of a request about a P_Key.
func parseWanted(body []byte) (*wanted, error) {
	fields, err := parseObject(body, `{"pkey": "0x2fb", "guids": ["b83fd20300a00020"]}`)
	if err != nil {
		return nil, err
	}
	w := &wanted{}
	if w.key, err = pkeyField(fields["pkey"]); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name  string
		parse func(json.RawMessage) error
	}{
		{"partition_name", func(raw json.RawMessage) error { return parseField(raw, "a text", &w.name) }},
		{"ip_over_ib", func(raw json.RawMessage) (err error) {
			b, err := parseBool(raw)
			w.ipoib = &b
			return err
		}},
		{"index0", func(raw json.RawMessage) (err error) {
			w.index0, err = parseBool(raw)
			return err
		}},
		{"membership", w.parseMembership},
		{"memberships", w.parseMemberships},
		{"guids", w.parseGUIDs},
		{"hosts_names", w.parseHosts},
		{"mtu_limit", w.parseMTU},
		{"service_level", w.parseSL},
		{"rate_limit", w.parseRate},
	} {
		if raw := fields[f.name]; raw != nil {
			if err := f.parse(raw); err != nil {
				return nil, refuse(callers.Wrong, f.name, "field %s: %v", f.name, err)
			}
		}
	}
	return w, w.checkMemberships()
}

// parseObject parses a body that is one object. A member that is null is left out.
func parseObject(body []byte, example string) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		reason := "it is null"
		if err != nil {
			reason = err.Error()
		}
		return nil, fmt.Errorf("%w: the body is not a JSON object such as %s: %s", ctl.ErrBadRequest, example, reason)
	}
	for name, raw := range fields {
		if string(raw) == "null" {
			delete(fields, name)
		}
	}
	return fields, nil
}

// parseField parses a value of a type.
func parseField[T any](raw json.RawMessage, expected string, to *T) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s is not valid: expected %s", shown(raw), expected)
	}
	return nil
}

// optional parses a value of a type, if it is there.
func optional[T any](raw json.RawMessage, expected string, to *T) error {
	if raw == nil {
		return nil
	}
	return parseField(raw, expected, to)
}

// shown is a part of a request for a message.
func shown[T []byte | json.RawMessage | string](text T) string {
	const most = 40
	valid := strings.ToValidUTF8(string(text[:min(len(text), most)]), "?")
	if len(text) > most {
		valid += "..."
	}
	return strings.Join(strings.FieldsFunc(valid, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}

// pkeyField is the P_Key of a body.
func pkeyField(raw json.RawMessage) (mad.PKey, error) {
	var text *string
	if raw != nil {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, badKey(shown(raw))
		}
	}
	if text == nil {
		return 0, refuse(callers.Wrong, "pkey", `field pkey is missing: expected a text, such as "0x2fb"`)
	}
	return parseKey(*text)
}

// parseKey parses a P_Key, hexadecimal with 0x or decimal. The bit of a full member does not count.
func parseKey(text string) (mad.PKey, error) {
	digits, base := text, 10
	if hex, is := strings.CutPrefix(strings.ToLower(text), "0x"); is {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 16)
	key := mad.PKey(n).Base()
	if err != nil || key == 0 || strings.ContainsAny(digits, "+-_") {
		return 0, badKey(strconv.Quote(shown(text)))
	}
	return key, nil
}

func badKey(shown string) error {
	return refuse(callers.Wrong, "pkey", `P_Key %s is not valid: expected a text from "0x1" to "0x7fff", such as "0x2fb"`,
		shown)
}

// keyText is a P_Key as UFM writes it.
func keyText(key mad.PKey) string { return fmt.Sprintf("0x%x", uint16(key.Base())) }

// isTrue reports whether a text says yes.
func isTrue(text string) bool { return text == "1" || strings.EqualFold(text, "true") }

// parseBool parses true and false, also as texts.
func parseBool(raw json.RawMessage) (bool, error) {
	text := strings.Trim(string(raw), `"`)
	yes := isTrue(text)
	if !yes && text != "0" && !strings.EqualFold(text, "false") {
		return false, fmt.Errorf("%s is not valid: expected true or false", shown(raw))
	}
	return yes, nil
}

// parseNumber parses a number, also as a text.
func parseNumber(raw json.RawMessage, expected string) (float64, error) {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not valid: expected %s", shown(raw), expected)
	}
	return n, nil
}

// parseMember parses what a member may do.
func parseMember(text string) (partitions.Membership, error) {
	for _, m := range []partitions.Membership{partitions.Full, partitions.Limited} {
		if strings.EqualFold(text, m.String()) {
			return m, nil
		}
	}
	return 0, fmt.Errorf(`%q is not valid: expected "full" or "limited"`, shown(text))
}

func (w *wanted) parseMembership(raw json.RawMessage) (err error) {
	var text string
	if err = parseField(raw, `"full" or "limited"`, &text); err == nil {
		w.membership, err = parseMember(text)
	}
	return err
}

func (w *wanted) parseMemberships(raw json.RawMessage) error {
	var texts []string
	if err := parseField(raw, `a list, such as ["full", "limited"]`, &texts); err != nil {
		return err
	}
	for _, text := range texts {
		m, err := parseMember(text)
		if err != nil {
			return err
		}
		w.memberships = append(w.memberships, m)
	}
	return nil
}

func (w *wanted) parseGUIDs(raw json.RawMessage) error {
	var texts []string
	if err := parseField(raw, `a list of texts, such as ["b83fd20300a00020"]`, &texts); err != nil {
		return err
	}
	if len(texts) > callers.MaxMembers {
		return fmt.Errorf("more than %d GUIDs", callers.MaxMembers)
	}
	w.hasGUIDs = true
	var err error
	w.guids, err = parseGUIDs(texts)
	return err
}

// parseGUIDs parses GUIDs of ports.
func parseGUIDs(texts []string) (guids []mad.GUID, err error) {
	for _, text := range texts {
		guid, valid := ctl.ParseGUID(text)
		if !valid {
			return nil, fmt.Errorf("%q is not the GUID of a port: expected 16 hexadecimal digits, not all 0, such as "+
				"b83fd20300a00020", shown(text))
		}
		guids = append(guids, guid)
	}
	return guids, nil
}

// guidText is a GUID as UFM writes it.
func guidText(guid mad.GUID) string { return fmt.Sprintf("%016x", uint64(guid)) }

func (w *wanted) parseHosts(raw json.RawMessage) error {
	var text string
	err := parseField(raw, `a text, such as "node-1,node-2"`, &text)
	w.hosts = hostNames(text)
	return err
}

// hostNames are the names in a list with commas.
func hostNames(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkMemberships checks those of single GUIDs.
func (w *wanted) checkMemberships() error {
	switch {
	case len(w.memberships) == 0:
		return nil
	case w.membership != 0:
		return refuse(callers.Wrong, "memberships", "fields membership and memberships exclude each other: send one of them")
	case len(w.memberships) != len(w.guids):
		return refuse(callers.Wrong, "memberships",
			"field memberships has %d values for %d GUIDs: expected one for each", len(w.memberships), len(w.guids))
	}
	return nil
}

// members are the members that a body names.
func (w *wanted) members() (all []callers.Member) {
	for i, guid := range w.guids {
		m := callers.Member{Port: guid, Membership: w.membership, Index0: w.index0}
		if len(w.memberships) > 0 {
			m.Membership = w.memberships[i]
		}
		all = append(all, m)
	}
	for _, host := range w.hosts {
		all = append(all, callers.Member{Host: host, Membership: w.membership, Index0: w.index0})
	}
	return all
}
