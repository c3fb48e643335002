package browser

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flap takes cables of the spines down and up, a thousand a second, and leaves all up. It returns how often.
func (s *subnet) flap(lasts time.Duration) (times int) {
	s.Helper()
	conn, err := net.Dial("unix", filepath.Join(s.dir, "fabric"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	down := map[int]bool{}
	turn := func(cable int) {
		word := map[bool]string{true: "up", false: "down"}[down[cable]]
		down[cable] = !down[cable]
		fmt.Fprintf(conn, "link %s \"spine-%02d\" %d\n", word, cable/8+1, cable%8+1)
		if line, err := answers.ReadString('\n'); err != nil || strings.TrimSpace(line) != "ok" {
			s.Fatalf("%q %v", line, err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < lasts; <-tick.C {
		for range 10 {
			turn(times * 7 % 128)
			times++
		}
	}
	for cable, is := range down {
		if is {
			turn(cable)
		}
	}
	return times
}

// TestStorm: while a thousand cables a second go down or come up, the map is drawn a few times a second, and the page
// answers the user; afterwards it shows that all are up.
func TestStorm(t *testing.T) {
	s := serve(t, "fattree:k=8")
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.has("Nothing is wrong")
	b.open("#/map")
	b.until(`document.querySelector("canvas")?.dataset.items > 100`)
	frames := func() int {
		n, err := strconv.Atoi(b.eval(`document.querySelector("canvas").dataset.frames`))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before, began := frames(), time.Now()
	flapped := make(chan int)
	go func() { flapped <- s.flap(4 * time.Second) }()
	slowest, looks := time.Duration(0), 0
	for times := 0; times == 0; looks++ {
		asked := time.Now()
		b.eval("1")
		slowest = max(slowest, time.Since(asked))
		select {
		case times = <-flapped:
			took := time.Since(began)
			drawn := frames() - before
			t.Logf("%d changes in %v: %d pictures; the slowest of %d answers of the page %v", times,
				took.Round(time.Millisecond), drawn, looks, slowest.Round(time.Millisecond))
			if most := int(took/(200*time.Millisecond)) + 3; drawn > most {
				t.Errorf("%d pictures in %v, want at most %d", drawn, took, most)
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	b.until(`document.getElementById("state").textContent === "nothing wrong"`)
}
