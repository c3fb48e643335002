package ctl

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"time"
)

// Metrics writes samples in Prometheus' text format, version 0.0.4. All samples of a
// family follow its head. WriteMetrics makes one.
type Metrics struct {
	w    *bufio.Writer
	name string // of the family
	b    []byte
}

// MetricType is what the samples of a family are.
type MetricType string

// Types of family.
const (
	Counter   MetricType = "counter"
	Gauge     MetricType = "gauge"
	Histogram MetricType = "histogram"
)

// WriteMetrics writes to w what the calls of write are given to write.
func WriteMetrics(w io.Writer, write ...func(*Metrics)) error {
	m := &Metrics{w: bufio.NewWriterSize(w, 1<<16)}
	for _, f := range write {
		f(m)
	}
	return m.w.Flush()
}

// Family begins a family of samples.
func (m *Metrics) Family(name string, t MetricType, help string) {
	m.name = name
	b := append(append(append(append(m.b[:0], "# HELP "...), name...), ' '), help...)
	b = append(append(append(b, "\n# TYPE "...), name...), ' ')
	m.write(append(append(b, t...), '\n'))
}

// Sample is one sample of the family. Labels are names, each followed by its value.
func (m *Metrics) Sample(value float64, labels ...string) { m.sample("", value, labels, "") }

// Uint is a Sample of a count.
func (m *Metrics) Uint(value uint64, labels ...string) { m.sample("", float64(value), labels, "") }

// Histogram is a sample of a family of that type. Counts are those of values up to each
// bound but above the one before; there is one more, of values above all.
func (m *Metrics) Histogram(bounds []time.Duration, counts []uint64, sum time.Duration, labels ...string) {
	total := uint64(0)
	for i, n := range counts {
		total += n
		le := math.Inf(1)
		if i < len(bounds) {
			le = bounds[i].Seconds()
		}
		m.sample("_bucket", float64(total), labels, formatFloat(le))
	}
	m.sample("_sum", sum.Seconds(), labels, "")
	m.sample("_count", float64(total), labels, "")
}

func (m *Metrics) sample(suffix string, value float64, labels []string, le string) {
	b := append(append(m.b[:0], m.name...), suffix...)
	if le != "" {
		labels = append(labels[:len(labels):len(labels)], "le", le)
	}
	for i := 0; i+1 < len(labels); i += 2 {
		b = append(b, "{,"[min(i, 1)])
		b = append(append(b, labels[i]...), '=', '"')
		b = appendLabel(b, labels[i+1])
		b = append(b, '"')
	}
	if len(labels) > 0 {
		b = append(b, '}')
	}
	b = append(b, ' ')
	if math.IsInf(value, 0) || math.IsNaN(value) {
		b = append(b, formatFloat(value)...)
	} else {
		b = strconv.AppendFloat(b, value, 'g', -1, 64)
	}
	m.write(append(b, '\n'))
}

// appendLabel escapes what the format wants escaped. What is not UTF-8 becomes U+FFFD.
func appendLabel(b []byte, value string) []byte {
	for _, r := range value {
		switch r {
		case '\\':
			b = append(b, '\\', '\\')
		case '"':
			b = append(b, '\\', '"')
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, string(r)...)
		}
	}
	return b
}

func formatFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func (m *Metrics) write(line []byte) {
	m.b = line
	m.w.Write(line) // an error stays with the writer until it is flushed
}
