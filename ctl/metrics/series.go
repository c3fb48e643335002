package metrics

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"ibsm/ctl"
)

const (
	batch     = 256 // samples that are encoded at a time
	maxLabels = 8   // of a sample
)

// series writes metric families in a format. Families of gauges and counters can have any number of
// samples. In protobuf they are encoded in batches, in messages that are used again: each is a message of its own,
// with the name of the family. In a text format the library writes the lines of comment, and those of samples are
// printed, which takes a tenth of the time.
type series struct {
	out     io.Writer
	enc     expfmt.Encoder // writes to buf
	buf     bytes.Buffer
	format  format
	err     error
	family  dto.MetricFamily
	begun   bool // the family has been begun to be written
	labels  [maxLabels]string
	samples [batch]sample
}

// format is how samples are written.
type format uint8

const (
	protobuf    format = iota // messages
	text                      // lines
	openMetrics               // lines; a number has a point or an exponent
)

// portLabels are the labels of a port but its number: the GUID, and the name of its node. In lines head is before the
// number, and tail behind it.
type portLabels struct{ guid, name, head, tail string }

// newPortLabels are labels of a port. node is the name of the label that has the name of its node.
func newPortLabels(guid, node, name string) portLabels {
	return portLabels{guid, name, `{guid="` + guid + `",port="`, `",` + node + `="` + escape.Replace(name) + `"} `}
}

// escape is the value of a label as text.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

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

func newSeries(out io.Writer, asked expfmt.Format) *series {
	s := &series{out: out}
	s.enc = expfmt.NewEncoder(&s.buf, asked)
	switch asked.FormatType() {
	case expfmt.TypeTextPlain:
		s.format = text
	case expfmt.TypeOpenMetrics:
		s.format = openMetrics
	}
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

// add adds a sample to the family, with a finite value and one for each label, and reports whether
// there is anybody to write for.
func (s *series) add(value float64, labels ...string) bool {
	if s.format != protobuf {
		b := append(s.line(), '{')
		for i, l := range labels {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, s.labels[i]...), `="`...)
			b = append(append(b, escape.Replace(l)...), '"')
		}
		return s.print(append(b, "} "...), value)
	}
	x := &s.samples[len(s.family.Metric)]
	x.value = value
	x.metric.Label = x.label[:copy(x.values[:], labels)]
	s.family.Metric = append(s.family.Metric, &x.metric)
	if len(s.family.Metric) == batch {
		s.flush()
	}
	return s.err == nil
}

// addPort is add for a port.
func (s *series) addPort(value float64, l *portLabels, num uint8) bool {
	if s.format == protobuf {
		return s.add(value, l.guid, strconv.Itoa(int(num)), l.name)
	}
	b := append(s.line(), l.head...)
	b = strconv.AppendUint(b, uint64(num), 10)
	return s.print(append(b, l.tail...), value)
}

// line begins a line with the name of the family, behind those that are in buf. The first one comes behind lines of
// comment, which the library writes before a sample.
func (s *series) line() []byte {
	if !s.begun && s.err == nil {
		s.begun = true
		s.samples[0].metric.Label = nil
		s.family.Metric = append(s.family.Metric, &s.samples[0].metric)
		s.err = s.enc.Encode(&s.family)
		s.family.Metric = s.family.Metric[:0]
		if b := s.buf.Bytes(); s.err == nil {
			s.buf.Truncate(bytes.LastIndexByte(b[:len(b)-1], '\n') + 1)
		}
	}
	return append(s.buf.AvailableBuffer(), *s.family.Name...)
}

// print ends a line with a value.
func (s *series) print(b []byte, value float64) bool {
	if value >= 0 && value < 1<<53 && value == math.Trunc(value) {
		b = strconv.AppendUint(b, uint64(value), 10)
		if s.format == openMetrics {
			b = append(b, ".0"...)
		}
	} else {
		from := len(b)
		if b = strconv.AppendFloat(b, value, 'g', -1, 64); s.format == openMetrics &&
			!bytes.ContainsAny(b[from:], "e.") {
			b = append(b, ".0"...)
		}
	}
	s.buf.Write(append(b, '\n'))
	if s.buf.Len() >= ctl.Piece {
		s.drain()
	}
	return s.err == nil
}

// flush writes the samples that have been added.
func (s *series) flush() {
	if len(s.family.Metric) == 0 {
		return
	}
	if s.begun {
		s.family.Help = nil
	}
	s.encode(&s.family)
	s.family.Metric, s.begun = s.family.Metric[:0], true
}

// encode writes a family.
func (s *series) encode(f *dto.MetricFamily) {
	if s.err == nil {
		s.err = s.enc.Encode(f)
		s.drain()
	}
}

// close writes what is left, and the mark of the end where the format has one.
func (s *series) close() error {
	s.flush()
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
