// Package metrics exposes a manager to Prometheus: its own metrics from a registry, and
// information about ports family by family. The formats are those of Prometheus' library.
package metrics

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/view"
)

// Exporter answers scrapes. Any number of goroutines may use it.
type Exporter struct {
	registry *prometheus.Registry // of everything but ports
	view     func() *view.View    // nil while there is no subnet
	logger   *slog.Logger
}

// New returns an Exporter of the manager behind the control server, whose counters are in
// stats.
func New(control *server.Server, stats *ctl.Stats, logger *slog.Logger) *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry(), view: control.View, logger: logger}
	e.registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector(), &collector{control, stats},
	)
	return e
}

// formats are the formats offered, the preferred first where a client accepts several
// equally. A client that names none of them gets the text format.
var formats = []expfmt.Format{
	expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtProtoDelim, expfmt.FmtProtoText, expfmt.FmtProtoCompact, expfmt.FmtText,
}

// Parts of an exposition, which a client chooses by the parameter collect[].
const (
	managerPart = "manager"
	portsPart   = "ports"
)

// Serve answers a scrape. An error wraps ctl.ErrBadRequest, and nothing has been written
// then. A scrape that fails later breaks the connection, so that no client takes a part
// of it for the whole.
func (e *Exporter) Serve(w http.ResponseWriter, r *http.Request) error {
	parts, err := collect(r)
	if err != nil {
		return err
	}
	format := expfmt.NegotiateAccept(r.Header, formats...)
	head := w.Header()
	head.Set("Content-Type", string(format))
	head.Set("Vary", "Accept, Accept-Encoding")
	out := bufio.NewWriterSize(w, ctl.Piece)
	if acceptsGzip(r.Header) {
		head.Set("Content-Encoding", "gzip")
		zip, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the only error is that of the level
		if err = e.write(zip, format, parts); err == nil {
			err = zip.Close()
		}
	} else {
		err = e.write(out, format, parts)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		e.logger.Debug("scrape of metrics aborted", "reason", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// collect is what a client asks for: the values of collect[], or all parts without any.
func collect(r *http.Request) (parts []string, err error) {
	for name, values := range r.URL.Query() {
		if name != "collect[]" {
			return nil, fmt.Errorf("%w: unknown parameter %q", ctl.ErrBadRequest, name)
		}
		parts = values
	}
	for _, p := range parts {
		if p != managerPart && p != portsPart {
			return nil, fmt.Errorf("%w: parameter collect[]=%q: want %s or %s", ctl.ErrBadRequest, p, managerPart, portsPart)
		}
	}
	if parts == nil {
		parts = []string{managerPart, portsPart}
	}
	return parts, nil
}

// acceptsGzip reports whether a client asks for compression (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, weighted := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return !weighted || err == nil && q > 0
	}
	return false
}

// write writes the parts of an exposition.
func (e *Exporter) write(w io.Writer, format expfmt.Format, parts []string) error {
	s := newSeries(w, format)
	if slices.Contains(parts, managerPart) {
		families, err := e.registry.Gather()
		if err != nil {
			e.logger.Error("some metrics cannot be collected", "reason", err) // the others are in families
		}
		for _, f := range families {
			s.encodeAfter(f, 0)
		}
	}
	if v := e.view(); v != nil && slices.Contains(parts, portsPart) {
		writePorts(s, v)
	}
	return s.close()
}
