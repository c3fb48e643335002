// Package metrics exposes a manager to Prometheus: its own metrics from a registry, and
// information about ports family by family. The formats are those of Prometheus' library.
package metrics

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/perf"
	"ibsm/view"
)

// Exporter answers scrapes. Any number of goroutines may use it.
type Exporter struct {
	registry *prometheus.Registry                                               // of everything but ports
	view     func() *view.View                                                  // nil while there is no subnet
	totals   func(ctx context.Context, wanted func(mad.GUID) bool) *perf.Totals // nil for none
	logger   *slog.Logger
}

// Config of an Exporter. All functions are safe for concurrent use.
type Config struct {
	Control *server.Server
	Stats   *ctl.Stats // of the control server
	// LogDropped and AuditDropped are the numbers of lines that were not written.
	LogDropped, AuditDropped func() uint64
	API                      func() *ctl.APICounts // nil results: the API is not served
	Logger                   *slog.Logger
}

// New returns an Exporter of the manager behind a control server.
func New(cfg Config) *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry(), view: cfg.Control.View, totals: cfg.Control.CounterTotals,
		logger: cfg.Logger}
	e.registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector(),
		&collector{cfg},
	)
	return e
}

// formats are the formats offered, the preferred first where a client accepts several
// equally. A client that names none of them gets the text format.
var formats = []expfmt.Format{
	expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtProtoDelim, expfmt.FmtProtoText,
	expfmt.FmtProtoCompact, expfmt.FmtText,
}

// Parts of an exposition, which a client chooses by the parameter collect[].
const (
	managerPart  = "manager"
	portsPart    = "ports"
	countersPart = "counters"
)

// Serve answers a scrape. An error wraps ctl.ErrBadRequest, and nothing has been written
// then. A scrape that fails later breaks the connection, so that no client takes a part
// of it for the whole.
func (e *Exporter) Serve(w http.ResponseWriter, r *http.Request) error {
	ask, err := collect(r)
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
		if err = e.write(r.Context(), zip, format, ask); err == nil {
			err = zip.Close()
		}
	} else {
		err = e.write(r.Context(), out, format, ask)
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

// asked is what a client asks for.
type asked struct {
	parts  []string
	wanted func(mad.GUID) bool // nodes; nil for all
}

var allParts = []string{managerPart, portsPart, countersPart}

// collect is what a client asks for: the values of collect[], or all parts without any, of all nodes or
// of a share of them.
func collect(r *http.Request) (ask asked, err error) {
	for name, values := range r.URL.Query() {
		switch name {
		case "collect[]":
			ask.parts = values
		case "share":
			if ask.wanted, err = share(values); err != nil {
				return asked{}, err
			}
		default:
			return asked{}, fmt.Errorf("%w: unknown parameter %q", ctl.ErrBadRequest, name)
		}
	}
	for _, p := range ask.parts {
		if !slices.Contains(allParts, p) {
			return asked{}, fmt.Errorf("%w: parameter collect[]=%q: expected %s", ctl.ErrBadRequest, p,
				strings.Join(allParts, ", "))
		}
	}
	if ask.parts == nil {
		ask.parts = allParts
	}
	return ask, nil
}

// mostShares bounds the shares of nodes.
const mostShares = 1000

// share is whether a node is in a share of all, such as 2/8: the second of eight. A node stays in its
// share, whichever others there are.
func share(values []string) (func(mad.GUID) bool, error) {
	var nth, of uint64
	one, all, ok := strings.Cut(values[0], "/")
	if ok && len(values) == 1 {
		nth, _ = strconv.ParseUint(one, 10, 16)
		of, _ = strconv.ParseUint(all, 10, 16)
	}
	if nth < 1 || nth > of || of > mostShares {
		return nil, fmt.Errorf("%w: parameter share=%q: expected a share such as 2/8, of at most %d", ctl.ErrBadRequest,
			values[0], mostShares)
	}
	return func(guid mad.GUID) bool {
		const golden = 0x9e3779b97f4a7c15 // GUIDs of one vendor differ in few bits
		return uint64(guid)*golden>>32%of == nth-1
	}, nil
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
func (e *Exporter) write(ctx context.Context, w io.Writer, format expfmt.Format, ask asked) error {
	s := newSeries(w, format)
	if slices.Contains(ask.parts, managerPart) {
		families, err := e.registry.Gather()
		if err != nil {
			e.logger.Error("some metrics cannot be collected", "reason", err) // the others are in families
		}
		for _, f := range families {
			s.encode(f)
		}
	}
	v := e.view()
	if v == nil {
		return s.close()
	}
	sub := newSubnet(v, ask.wanted)
	if slices.Contains(ask.parts, portsPart) {
		writePorts(s, sub)
	}
	if slices.Contains(ask.parts, countersPart) {
		if t := e.totals(ctx, ask.wanted); t != nil {
			writeCounters(s, sub, t)
		}
	}
	return s.close()
}
