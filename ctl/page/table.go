package page

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/shape"
)

// Table is a part of a list, as texts.
type Table struct {
	Generation uint64        `json:"generation"`
	Time       time.Time     `json:"time"` // when it was read
	Columns    []TableColumn `json:"columns"`
	Rows       []TableRow    `json:"rows"`
	Offset     int           `json:"offset"`  // of the first row among those that match
	Matched    int           `json:"matched"` // rows that match the filter
	Total      int           `json:"total"`   // rows of the list
}

// TableColumn is a column.
type TableColumn struct {
	Name   string `json:"name"`
	Number bool   `json:"number,omitempty"` // its cells are numbers
}

// TableRow is a row.
type TableRow struct {
	Cells []string `json:"cells"`
	// Node and Port are its place on the map; "" for none.
	Node string `json:"node,omitempty"` // GUID
	Port uint8  `json:"port,omitempty"`
}

// mostRows bounds the rows of a Table.
const mostRows = 1000

// tableQuery selects rows.
type tableQuery struct {
	words  []string // in lower case: each must be in a cell; NAME:TEXT in the cell of a column
	sort   string   // a column; "" for the order of the list
	down   bool     // the greatest first
	offset int
	count  int // at most
}

// sheet is a list of which rows are texts. Values of all rows are pointers to structs of one type.
type sheet struct {
	columns []column
	rows    iter.Seq[any]
}

// column is a field of a struct.
type column struct {
	TableColumn
	index []int
}

// columnsOf are the fields of a struct that can be texts, by their names in JSON. GUIDs come last where there is a
// description, which says more and is shorter.
func columnsOf(t reflect.Type) []column {
	all := fieldsOf(t)
	if slices.ContainsFunc(all, func(c column) bool { return c.Name == "desc" }) {
		isGUID := func(c column) bool { return c.Name == "guid" || c.Name == "node" }
		all = slices.Concat(slices.DeleteFunc(slices.Clone(all), isGUID),
			slices.DeleteFunc(all, func(c column) bool { return !isGUID(c) }))
	}
	return all
}

// fieldsOf are the columns in the order of the fields.
func fieldsOf(t reflect.Type) (all []column) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !field.IsExported():
		case field.Anonymous && tag == "":
			for _, c := range fieldsOf(field.Type) {
				c.index = append([]int{i}, c.index...)
				all = append(all, c)
			}
		default:
			name := strings.ReplaceAll(cmp.Or(tag, field.Name), "_", " ")
			c := column{TableColumn: TableColumn{Name: name}, index: []int{i}}
			kind := field.Type.Kind()
			c.Number = kind >= reflect.Int && kind <= reflect.Float64 && !field.Type.Implements(texts)
			all = append(all, c)
		}
	}
	return all
}

var texts = reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()

// cell is a value as a text.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case time.Time:
		if value.IsZero() {
			return ""
		}
		return value.UTC().Format(time.RFC3339)
	case ctl.End:
		return whereAt(value)
	case ctl.CableEnd:
		return whereAt(ctl.End{Desc: value.Desc, Port: value.Port})
	case ctl.Routes:
		return fmt.Sprintf("%d, %d", value.Out, value.In)
	case []string:
		return strings.Join(value, ", ")
	case Hurts:
		return value.String()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		return strconv.Itoa(v.Len())
	case reflect.Bool:
		return map[bool]string{true: "yes", false: ""}[v.Bool()]
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', 6, 64)
	}
	return fmt.Sprint(v.Interface())
}

// cells are a row's texts, in a slice that is used again.
func (s *sheet) cells(row any, into []string) []string {
	v := reflect.ValueOf(row).Elem()
	into = into[:0]
	for _, c := range s.columns {
		into = append(into, cell(v.FieldByIndex(c.index)))
	}
	return into
}

// placeOf is the place of a row on the map.
func placeOf(row any) (node string, port uint8) {
	switch r := row.(type) {
	case *ctl.Node:
		return r.GUID, 0
	case *ctl.Port:
		return r.Node, r.Num
	case *ctl.Link:
		return r.From.Node, r.From.Port
	case *ctl.Drained:
		return r.GUID, r.Port
	case *ctl.Cable:
		return r.From.Node, r.From.Port
	case *Problem:
		return r.Node, r.Port
	case *ctl.SM:
		return r.GUID, 0
	}
	v := reflect.ValueOf(row).Elem()
	if f := v.FieldByName("Node"); f.IsValid() && f.Kind() == reflect.String {
		node = f.String()
	}
	if f := v.FieldByName("Port"); f.IsValid() && f.Kind() == reflect.Uint8 {
		port = uint8(f.Uint())
	}
	return node, port
}

// matches reports whether a row has all words.
func (s *sheet) matches(words, cells []string) bool {
	for _, word := range words {
		name, text, only := strings.Cut(word, ":")
		if only {
			i := slices.IndexFunc(s.columns, func(c column) bool { return strings.ReplaceAll(c.Name, " ", "_") == name })
			if i >= 0 {
				if !strings.Contains(strings.ToLower(cells[i]), text) {
					return false
				}
				continue
			}
		}
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.Contains(strings.ToLower(c), word) }) {
			return false
		}
	}
	return true
}

// table selects rows. It reads the list twice if it has to be sorted, rather than hold all of it.
func (s *sheet) table(q *tableQuery) (*Table, error) {
	t := &Table{Time: time.Now().UTC(), Columns: []TableColumn{}, Rows: []TableRow{}, Offset: q.offset}
	by := -1
	for i, c := range s.columns {
		t.Columns = append(t.Columns, c.TableColumn)
		if c.Name == q.sort {
			by = i
		}
	}
	if by < 0 && q.sort != "" {
		return nil, fmt.Errorf("%w: parameter sort=%q: there is no such column", ctl.ErrBadRequest, q.sort)
	}
	type key struct {
		text   string
		number float64
		at     int
	}
	var keys []key
	var scratch []string
	for row := range s.rows {
		t.Total++
		if scratch = s.cells(row, scratch); !s.matches(q.words, scratch) {
			continue
		}
		if by >= 0 {
			k := key{text: scratch[by], at: t.Matched}
			k.number, _ = strconv.ParseFloat(k.text, 64)
			keys = append(keys, k)
		} else if t.Matched >= q.offset && t.Matched < q.offset+q.count {
			t.Rows = append(t.Rows, rowOf(row, scratch))
		}
		t.Matched++
	}
	if by < 0 {
		return t, nil
	}
	number := s.columns[by].Number
	slices.SortFunc(keys, func(a, b key) int {
		c := cmp.Or(cmp.Compare(a.number, b.number), 0)
		if !number {
			c = shape.Natural(a.text, b.text)
		}
		if q.down {
			c = -c
		}
		return cmp.Or(c, a.at-b.at)
	})
	page := keys[min(q.offset, len(keys)):min(q.offset+q.count, len(keys))]
	want := make(map[int]int, len(page))
	for i, k := range page {
		want[k.at] = i
	}
	t.Rows = make([]TableRow, len(page))
	at := 0
	for row := range s.rows {
		if scratch = s.cells(row, scratch); s.matches(q.words, scratch) {
			if i, is := want[at]; is {
				t.Rows[i] = rowOf(row, scratch)
			}
			at++
		}
	}
	return t, nil
}

func rowOf(row any, cells []string) TableRow {
	r := TableRow{Cells: slices.Clone(cells)}
	r.Node, r.Port = placeOf(row)
	return r
}

// csv writes all rows that match. A cell that a spreadsheet would compute gets an apostrophe before it.
func (s *sheet) csv(w io.Writer, words []string) error {
	out := csv.NewWriter(w)
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.Name
	}
	if err := out.Write(names); err != nil {
		return err
	}
	var scratch []string
	for row := range s.rows {
		if scratch = s.cells(row, scratch); !s.matches(words, scratch) {
			continue
		}
		for i, text := range scratch {
			if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) && !s.columns[i].Number {
				scratch[i] = "'" + text
			}
		}
		if err := out.Write(scratch); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
