package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestBenchSA: every part of the comparison measures OpenSM, which answers all that is asked, beside a host that
// sends as many requests as it was given, too.
func TestBenchSA(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := "bench-sa fattree:k=4 --only opensm --ibsm /bin/true --over 100ms --paths 1 --loss 0 --open 4 --rate 200 --for 500ms --flood 2000"
	if code := run(strings.Fields(args), &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s\n%s", code, stderr.String(), stdout.String())
	}
	_, parts, up := strings.Cut(stdout.String(), "opensm: up after ")
	if !up {
		t.Fatalf("OpenSM is not up:\n%s", stdout.String())
	}
	for _, want := range []string{"boot: ", "rate, 4 open: ", `latency at 200/s, \d+ full reroutes asked for: `,
		`latency at 200/s, flood of 0/s: `,
		`latency at 200/s, flood of [1-9]\d*/s to another host: `,
		`latency at 200/s, flood of [1-9]\d*/s to the manager: `, "all of it: "} {
		row := regexp.MustCompile(`(?m)^  ` + want + `(.*\n(    .*\n)*)`).FindStringSubmatch(parts)
		switch {
		case row == nil:
			t.Errorf("no part %q in\n%s", want, stdout.String())
		case strings.Contains(row[1], "asked") &&
			!regexp.MustCompile(` path +[1-9]\d* asked .* [1-9]\d* granted .* 0 given up`).MatchString(row[1]):
			t.Errorf("not all was answered in %q:\n%s", want, row[1])
		}
	}
	if !strings.Contains(parts, "rate on ibsim, 4 open") || !strings.Contains(parts, "latency on ibsim at 200/s") {
		t.Errorf("no parts on ibsim in\n%s", stdout.String())
	}
}

func TestBenchSANeedsHosts(t *testing.T) {
	var stdout, stderr bytes.Buffer
	const want = "ibfabric: error: fattree:k=2: 2 hosts; at least 4 are needed: the manager's, one that floods, and two that ask for paths to each other\n"
	if code := run(strings.Fields("bench-sa fattree:k=2 --only opensm --ibsm /bin/true"), &stdout,
		&stderr); code != 1 || stderr.String() != want {
		t.Errorf("exit %d: %s\nwant 1: %s", code, stderr.String(), want)
	}
}
