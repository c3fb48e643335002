package ufm_test

import (
	"net/http/httptest"
	"testing"

	"ibsm/api/ufm/ufmtest"
	"ibsm/view/viewtest"
)

// BenchmarkPorts: the ports of 11,664 hosts, of a subnet that has just changed.
func BenchmarkPorts(b *testing.B) {
	for _, query := range []string{"?sys_type=Computer", ""} {
		b.Run("ports"+query, func(b *testing.B) {
			backend := ufmtest.New(b, viewtest.New(b, "fattree:k=36", 0), ufmtest.NICoFile)
			h := ufmtest.Handler(backend, admin)
			b.ResetTimer()
			for b.Loop() {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, httptest.NewRequest("GET", "/ufmRest/resources/ports"+query, nil)); w.Code != 200 {
					b.Fatalf("status %d", w.Code)
				}
				b.ReportMetric(float64(w.Body.Len())/(1<<20), "MiB")
			}
		})
	}
}
