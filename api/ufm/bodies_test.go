package ufm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/api/ufm/ufmtest"
)

// TestBodiesWithoutEnd: clients that send bodies of no stated length, and do not end them, keep nobody else from
// sending one.
func TestBodiesWithoutEnd(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		b := nico(t)
		transport := &http.Transport{TLSClientConfig: b.client.TLS, Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetHTTP2(http2)
		defer transport.CloseIdleConnections()
		post := func(body io.Reader) (status int) {
			r, err := http.NewRequest("POST", b.client.URL+"/ufmRest/resources/pkeys", body)
			if err != nil {
				t.Error(err)
				return 0
			}
			r.Header.Set("Authorization", "Bearer "+b.token)
			reply, err := transport.RoundTrip(r)
			if err != nil {
				return 0
			}
			reply.Body.Close()
			return reply.StatusCode
		}
		var slow sync.WaitGroup
		var ends []*io.PipeWriter
		for range 20 {
			body, end := io.Pipe()
			ends = append(ends, end)
			slow.Go(func() { post(body) })
			if _, err := end.Write([]byte("{")); err != nil { // until the request has begun
				t.Error(err)
			}
		}
		began := time.Now()
		body := struct{ io.Reader }{strings.NewReader(`{"pkey":"0x2fb","guids":["b83fd20300a00020"]}`)}
		if status := post(body); status != 200 || time.Since(began) > 3*time.Second {
			t.Errorf("a short body: status %d after %v", status, time.Since(began))
		}
		for _, end := range ends {
			end.Close()
		}
		slow.Wait()
	})
}

// broken is a body that does not come in time.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestBodiesThatBreakOff: a body that does not come to its end is the client's fault, however long it is.
func TestBodiesThatBreakOff(t *testing.T) {
	h := ufmtest.Handler(ufmtest.New(t, ufmtest.NICoSubnet(t), ufmtest.NICoFile), admin)
	for _, call := range []string{"POST resources/pkeys", "PUT resources/pkeys", "POST resources/pkeys/add",
		"POST actions/remove_guids_from_pkey"} {
		for _, length := range []int{1, 100_000} {
			method, path, _ := strings.Cut(call, " ")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "/ufmRest/"+path,
				io.MultiReader(strings.NewReader(strings.Repeat(" ", length)), broken{})))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "the body ends after") {
				t.Errorf("%s, %d bytes: status %d, %s", call, length, w.Code, w.Body)
			}
		}
	}
}
