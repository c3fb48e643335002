// Package nettest makes the fabrics that tests run on.
package nettest

import (
	"os"
	"strings"
	"testing"

	"ibsm/topo/net"
)

// profileVariable is the environment variable that chooses the profile of fabrics in tests.
const profileVariable = "IBSM_PROFILE"

// Profile is what the fabrics of tests are made of: real devices, or what IBSM_PROFILE says.
func Profile(t testing.TB) net.Profile {
	t.Helper()
	name := os.Getenv(profileVariable)
	if name == "" {
		return net.RealDevices
	}
	p, err := net.ParseProfile(name)
	if err != nil {
		t.Fatalf("%s=%s: %v", profileVariable, name, err)
	}
	return p
}

// SetProfile makes p the profile of the test's fabrics and of programs that it starts.
func SetProfile(t *testing.T, p net.Profile) {
	t.Helper()
	t.Setenv(profileVariable, p.String())
}

// Spec completes a generator's specification by the profile, unless it names one. The name
// of a file stays as it is.
func Spec(t testing.TB, spec string) string {
	t.Helper()
	if !net.IsSpec(spec) || strings.Contains(spec, "devices=") || Profile(t) == net.RealDevices {
		return spec
	}
	separator := ","
	if !strings.Contains(spec, ":") {
		separator = ":"
	}
	return spec + separator + "devices=" + Profile(t).String()
}

// Generate makes the fabric that a specification describes.
func Generate(t testing.TB, spec string) *net.Net {
	t.Helper()
	n, err := net.Generate(Spec(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
