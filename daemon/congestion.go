package daemon

import (
	"ibsm/congestioncontrol"
	"ibsm/mad/cc"
)

// troubled logs a device that does not take settings of congestion control, as
// congestioncontrol.Listener's Found.
func (r receiver) troubled(f congestioncontrol.Finding) {
	fields := []any{"node", r.nodeName(f.Port), "guid", f.Port.GUID, "port", f.Port.Num, "lid", f.Port.To.LID,
		"attribute", cc.AttrName(f.Attr)}
	switch f.Trouble {
	case congestioncontrol.Unresponsive:
		r.logger.Error(
			"congestion control: a device does not answer: it has no agent, or its CC_Key differs from cc_key",
			fields...)
	case congestioncontrol.NoAgent:
		r.logger.Error("congestion control: a device does not support it", append(fields, "status", f.Status)...)
	case congestioncontrol.Refused:
		r.logger.Error("congestion control: a device rejects a setting",
			append(fields, "block", f.Mod, "status", f.Status)...)
	}
}

// written logs the end of a round, as congestioncontrol.Listener's Done.
func (r receiver) written(s congestioncontrol.Report) {
	r.logger.Info("congestion control: settings written", "devices", s.Devices, "requests", s.Sent, "without",
		s.Without, "refused", s.Refused)
	if s.More > 0 {
		r.logger.Error("congestion control: further devices reject settings but are not logged", "more", s.More)
	}
}

// nodeName is that of a device.
func (r receiver) nodeName(p congestioncontrol.Port) string {
	shell := r.control.Manager()
	if shell == nil {
		return ""
	}
	return r.counters.name(shell.View(), p.Node)
}
