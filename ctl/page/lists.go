package page

import (
	"bufio"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"

	"ibsm/ctl"
)

// subnetLists are the lists of the subnet that are tables, with the type of their rows.
var subnetLists = map[ctl.List]reflect.Type{
	ctl.Nodes: reflect.TypeFor[ctl.Node](), ctl.Ports: reflect.TypeFor[ctl.Port](),
	ctl.Links: reflect.TypeFor[ctl.Link](), ctl.PKeys: reflect.TypeFor[ctl.PKey](),
	ctl.Groups: reflect.TypeFor[ctl.Group](), ctl.Members: reflect.TypeFor[ctl.Member](),
	ctl.Services: reflect.TypeFor[ctl.Service](), ctl.Subscriptions: reflect.TypeFor[ctl.Subscription](),
	ctl.Refusals: reflect.TypeFor[ctl.Refusal](), ctl.DrainedPorts: reflect.TypeFor[ctl.Drained](),
	ctl.Cables: reflect.TypeFor[ctl.Cable](), ctl.Offenders: reflect.TypeFor[ctl.Offender](),
	ctl.PortGroups: reflect.TypeFor[ctl.PortGroup](), ctl.Hosts: reflect.TypeFor[ctl.Host](),
}

// sheet is a list by its name.
func (p *Page) sheet(r *http.Request, name string) (*sheet, error) {
	if of, is := subnetLists[ctl.List(name)]; is {
		sub := p.cfg.Source.Subnet()
		if sub == nil {
			return nil, errUnknown
		}
		absent := name == string(ctl.Nodes) || name == string(ctl.Links)
		rows, err := sub.Rows(ctl.List(name), ctl.Filter{Absent: absent})
		return &sheet{columnsOf(of), rows}, err
	}
	switch name {
	case "problems":
		list, err := p.feed.list()
		if err != nil {
			return nil, err
		}
		return sheetOf(list.Problems), nil
	case "managers":
		return sheetOf(p.cfg.Source.Status().SMs), nil
	case "counters":
		if p.cfg.Counters == nil {
			return nil, fmt.Errorf("%w: this manager has no performance manager", ctl.ErrNotFound)
		}
		rows, err := p.cfg.Counters.Counters(r.Context(), "", true)
		return &sheet{columnsOf(reflect.TypeFor[ctl.PortCounters]()), anyOf(rows)}, err
	case "sick":
		if p.cfg.Counters == nil {
			return nil, fmt.Errorf("%w: this manager has no performance manager", ctl.ErrNotFound)
		}
		sick, err := p.cfg.Counters.SickLinks(r.Context())
		if err != nil {
			return nil, err
		}
		return sheetOf(sick.Links), nil
	}
	return nil, fmt.Errorf("%w: there is no table %.80q", ctl.ErrNotFound, name)
}

// sheetOf is a list that is there as a whole.
func sheetOf[T any](all []T) *sheet {
	return &sheet{columnsOf(reflect.TypeFor[T]()), func(yield func(any) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}}
}

func anyOf[T any](rows iter.Seq[*T]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for row := range rows {
			if !yield(row) {
				return
			}
		}
	}
}

// table answers with a part of a list.
func (p *Page) table(w http.ResponseWriter, r *http.Request) error {
	q := tableQuery{sort: r.URL.Query().Get("sort")}
	filter := strings.ToLower(r.URL.Query().Get("filter"))
	if len(filter) > maxText {
		return fmt.Errorf("%w: parameter filter has more than %d bytes", ctl.ErrBadRequest, maxText)
	}
	q.words = strings.Fields(filter)
	q.sort, q.down = strings.CutPrefix(q.sort, "-")
	var err error
	if q.offset, err = number(r, "offset", 0, 1<<30); err != nil {
		return err
	}
	if q.count, err = number(r, "count", 50, mostRows); err != nil {
		return err
	}
	format := r.URL.Query().Get("format")
	if format != "" && format != "csv" {
		return fmt.Errorf("%w: parameter format=%.40q: expected csv", ctl.ErrBadRequest, format)
	}
	leave, err := p.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	s, err := p.sheet(r, r.PathValue("list"))
	if err != nil {
		return err
	}
	if format == "csv" {
		w.Header().Set("Content-Type", csvType)
		out := bufio.NewWriterSize(w, ctl.Piece)
		if s.csv(out, q.words) != nil || out.Flush() != nil {
			panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
		}
		return nil
	}
	return answer(func(*http.Request) (any, error) {
		t, err := s.table(&q)
		if sub := p.cfg.Source.Subnet(); err == nil && sub != nil {
			t.Generation = sub.Generation()
		}
		return t, err
	})(w, r)
}
