package log

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/slogtest"
	"time"

	"ibsm/mad"
)

// TestJSON: records are objects with the same fields as the lines, and the flags say
// which are written.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	var sys string
	h := NewHandler(&out, Options{Flags: Info, Prefix: "mpi", JSON: true, Sys: func(text string) { sys = text }})
	l := slog.New(h)
	l.Error("not written")
	l.Debug("not written")
	l.With("guid", mad.GUID(0x2c9)).Info("SUBNET UP", "nodes", 6, "took", 1500*time.Millisecond, "reason",
		errors.New("a\nb"))
	l.Log(t.Context(), LevelSys, "Exiting SM")
	h.SetFlags(0xff)
	l.Warn("w")
	l.Error("e")
	l.Debug("d")
	l.Log(t.Context(), levelTrace, "t")
	for i, want := range []string{
		`{"guid":"0x00000000000002c9","level":"INFO","msg":"SUBNET UP","nodes":6,"reason":"a\nb","took":1.5}`,
		`{"level":"SYS","msg":"Exiting SM"}`, `{"level":"WARNING","msg":"w"}`, `{"level":"ERROR","msg":"e"}`,
		`{"level":"VERBOSE","msg":"d"}`, `{"level":"DEBUG","msg":"t"}`,
	} {
		line, err := out.ReadBytes('\n')
		var fields map[string]any
		if err != nil || json.Unmarshal(line, &fields) != nil {
			t.Fatalf("line %d: %q, %v", i, line, err)
		}
		if at, err := time.Parse(time.RFC3339Nano, fields["time"].(string)); err != nil ||
			time.Since(at) > time.Minute {
			t.Errorf("line %d: time %v", i, fields["time"])
		}
		delete(fields, "time")
		if got, _ := json.Marshal(fields); string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if out.Len() > 0 || sys != "mpi: Exiting SM" {
		t.Errorf("left %q, on standard output %q", out.String(), sys)
	}
}

// TestJSONHandler holds the rules for all handlers.
func TestJSONHandler(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return NewHandler(&out, Options{Flags: 0xff, JSON: true})
	}, func(t *testing.T) (fields map[string]any) {
		if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	})
}
