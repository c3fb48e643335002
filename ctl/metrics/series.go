package metrics

import (
	"bytes"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

const (
	batch     = 256 // samples that are encoded at a time
	maxLabels = 8   // of a sample
)

// series writes metric families in a format. Families of gauges and counters can have any number of
// samples: they are encoded in batches, in messages that are used again. In protobuf a
// batch is a message of its own, with the name of the family.
type series struct {
	out     io.Writer
	enc     expfmt.Encoder // writes to buf
	buf     bytes.Buffer
	text    bool // families begin with lines of comment
	err     error
	family  dto.MetricFamily
	begun   bool // a batch of the family has been written
	labels  [maxLabels]string
	samples [batch]sample
}

// sample is one sample of the family and what its message points to.
type sample struct {
	metric dto.Metric
	gauge  dto.Gauge
	count  dto.Counter
	value  float64
	pairs  [maxLabels]dto.LabelPair
	label  [maxLabels]*dto.LabelPair
	values [maxLabels]string
}

func newSeries(out io.Writer, format expfmt.Format) *series {
	s := &series{out: out}
	s.enc = expfmt.NewEncoder(&s.buf, format)
	t := format.FormatType()
	s.text = t == expfmt.TypeTextPlain || t == expfmt.TypeOpenMetrics
	s.family.Metric = make([]*dto.Metric, 0, batch)
	for i := range s.samples {
		x := &s.samples[i]
		x.gauge.Value, x.count.Value = &x.value, &x.value
		for l := range x.pairs {
			x.pairs[l].Name, x.pairs[l].Value = &s.labels[l], &x.values[l]
			x.label[l] = &x.pairs[l]
		}
	}
	return s
}

// gauges begins a family of gauges with labels of these names. A family without samples
// is left out.
func (s *series) gauges(name, help string, labels ...string) {
	s.begin(dto.MetricType_GAUGE, name, help, labels)
	for i := range s.samples {
		x := &s.samples[i]
		x.metric.Gauge, x.metric.Counter = &x.gauge, nil
	}
}

// counters is the same for counters, whose names end in _total.
func (s *series) counters(name, help string, labels ...string) {
	s.begin(dto.MetricType_COUNTER, name, help, labels)
	for i := range s.samples {
		x := &s.samples[i]
		x.metric.Gauge, x.metric.Counter = nil, &x.count
	}
}

func (s *series) begin(typ dto.MetricType, name, help string, labels []string) {
	s.flush()
	s.family.Type = typ.Enum()
	s.family.Name, s.family.Help = &name, &help
	s.begun = false
	copy(s.labels[:], labels)
}

// add adds a sample to the family, with a value for each label, and reports whether
// there is anybody to write for.
func (s *series) add(value float64, labels ...string) bool {
	x := &s.samples[len(s.family.Metric)]
	x.value = value
	x.metric.Label = x.label[:copy(x.values[:], labels)]
	s.family.Metric = append(s.family.Metric, &x.metric)
	if len(s.family.Metric) == batch {
		s.flush()
	}
	return s.err == nil
}

// flush writes the samples that have been added.
func (s *series) flush() {
	if len(s.family.Metric) == 0 {
		return
	}
	skip := 0
	if s.begun {
		s.family.Help = nil
		if s.text {
			skip = 1 // the line of the type
		}
	}
	s.encodeAfter(&s.family, skip)
	s.family.Metric, s.begun = s.family.Metric[:0], true
}

// encodeAfter writes a family without its first lines.
func (s *series) encodeAfter(f *dto.MetricFamily, skip int) {
	if s.err != nil {
		return
	}
	s.buf.Reset()
	s.err = s.enc.Encode(f)
	for range skip {
		_, _ = s.buf.ReadBytes('\n') // there is one, unless err says what is wrong
	}
	s.drain()
}

// close writes what is left, and the mark of the end where the format has one.
func (s *series) close() error {
	s.flush()
	s.buf.Reset()
	if s.err == nil {
		s.err = s.enc.(expfmt.Closer).Close()
	}
	s.drain()
	return s.err
}

func (s *series) drain() {
	if s.err == nil {
		_, s.err = s.buf.WriteTo(s.out)
	}
}
