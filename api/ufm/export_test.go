package ufm

// Encode encodes a value.
func Encode(v any) (string, error) {
	text, err := newEncoder().append(nil, v)
	return string(text), err
}

// ParseWanted returns the parsed body of a request about a P_Key again as a body with each field that it has.
func ParseWanted(body []byte) (*Body, error) {
	w, err := parseWanted(body)
	if err != nil {
		return nil, err
	}
	out := &Body{PKey: keyText(w.key), Name: w.name, Index0: w.index0}
	for _, m := range w.members() {
		if m.Host == "" {
			out.GUIDs = append(out.GUIDs, guidText(m.Port))
			continue
		}
		if out.HostsNames != "" {
			out.HostsNames += ","
		}
		out.HostsNames += m.Host
	}
	if w.membership != 0 {
		out.Membership = w.membership.String()
	}
	for _, m := range w.memberships {
		out.Memberships = append(out.Memberships, m.String())
	}
	out.IPOverIB = w.ipoib != nil && *w.ipoib
	if w.mtu != 0 {
		out.MTU = w.mtu.Bytes() / 1024
	}
	if w.sl != nil {
		out.SL = int(*w.sl)
	}
	out.Rate = w.rate.Gbps()
	return out, nil
}

// ParsePolicy is parsePolicy, and ParseRevoked parseRevoked.
var (
	ParsePolicy  = parsePolicy
	ParseRevoked = parseRevoked
)
