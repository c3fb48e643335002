package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newPage(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "page [OPTION]...", Short: "show the subnet in a browser", Args: cli.Args(0, 0), Long: `
Serves a page with what is wrong, tables and a map of the subnet, for a browser on this host,
until interrupted. The page only reads. The link that is printed works once; other users of
this host cannot read the page without it. From another host, forward the port: ssh -L
PORT:127.0.0.1:PORT HOST. With several URLs in --server the page goes on with the next master
after a takeover.`, Example: `  ibsmctl page
  ibsmctl --server https://sm1:8443,https://sm2:8443 page --port 9000
`}
	port := c.Flags().Uint16("port", 0, "listen on 127.0.0.1:`PORT` (default: a free one)")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
		if err != nil {
			return err
		}
		p := newPageProxy(a, l.Addr().String())
		fmt.Fprintf(stdout, "open %s\n", p.link())
		return p.serve(ctx, l)
	})
	return c
}

// pageProxy serves the page of a manager on the loopback: it passes on what the page asks for, and nothing that changes
// anything. Files of the page are the same for everybody; all else takes a key, which the browser gets once for the
// token of the link. The key is no cookie: browsers send cookies to all ports of an address, also to those of others.
type pageProxy struct {
	addr string // HOST:PORT

	mu    sync.Mutex // guards the following
	asker *asker
	token string // "" after it was used
	key   string
}

func newPageProxy(a *asker, addr string) *pageProxy {
	return &pageProxy{addr: addr, asker: a, token: secretText()}
}

// secretText is a text that nobody guesses.
func secretText() string {
	b := make([]byte, 24)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// link is what to open. What is behind # is not sent to servers, and is in no log.
func (p *pageProxy) link() string { return "http://" + p.addr + "/#token=" + p.token }

// serve serves until ctx is done.
func (p *pageProxy) serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(l); ctx.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP answers a browser.
func (p *pageProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	switch refusal := p.refusal(r); {
	case refusal != "":
		pageFail(w, http.StatusForbidden, refusal)
	case r.URL.Path == "/session" && r.Method == http.MethodPost:
		p.session(w, r)
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		pageFail(w, http.StatusMethodNotAllowed, "the page only reads")
	case r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/page/"):
		p.pass(w, r)
	case strings.HasPrefix(r.URL.Path, "/v1/") && !p.has(r):
		pageFail(w, http.StatusUnauthorized, "this page has no key: run ibsmctl page, and open the link that it prints")
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		p.pass(w, r)
	default:
		pageFail(w, http.StatusNotFound, "there is no such file")
	}
}

// refusal is why a request is none of the page's own; "" if it is. A name that leads to the loopback is in the header
// Host of a page of another site.
func (p *pageProxy) refusal(r *http.Request) string {
	_, port, _ := net.SplitHostPort(p.addr)
	if r.Host != p.addr && r.Host != "localhost:"+port {
		return "the header Host has a name that is not this server's"
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	opens := r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if site != "" && site != "same-origin" && site != "none" && !opens || origin != "" && origin != "http://"+r.Host {
		return "the request comes from a page of another site"
	}
	return ""
}

// session exchanges the token of the link for the key, once.
func (p *pageProxy) session(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(io.LimitReader(r.Body, 200))
	key := ""
	if err == nil {
		key = p.exchange(sent)
	}
	if key == "" {
		pageFail(w, http.StatusForbidden, "this link has been used, or is not complete: run ibsmctl page again")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, key)
}

// exchange is the key for a token that was not used yet; "" for another one.
func (p *pageProxy) exchange(token []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == "" || subtle.ConstantTimeCompare(token, []byte(p.token)) != 1 {
		return ""
	}
	p.token, p.key = "", secretText()
	return p.key
}

// has reports whether a request has the key.
func (p *pageProxy) has(r *http.Request) bool {
	sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key != "" && subtle.ConstantTimeCompare([]byte(sent), []byte(p.key)) == 1
}

// pass has the manager answer.
func (p *pageProxy) pass(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	resp, err := p.client(ctx, r.URL.Path == "/v1/changes").Fetch(ctx, r.URL.Path, r.URL.Query())
	if err != nil {
		if ctx.Err() == nil {
			pageFail(w, http.StatusBadGateway, "the manager does not answer: "+err.Error())
		}
		return
	}
	defer resp.Body.Close()
	for _, name := range []string{"Content-Type", "Content-Security-Policy", "Referrer-Policy", "Retry-After",
		"Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"} {
		if value := resp.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	if resp.Header.Get("Content-Security-Policy") == "" {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	}
	status := resp.StatusCode
	if status == http.StatusUnauthorized {
		status = http.StatusBadGateway // the manager refuses ibsmctl, not the browser
	}
	w.WriteHeader(status)
	control, buffer := http.NewResponseController(w), make([]byte, ctl.Piece)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			control.SetWriteDeadline(time.Now().Add(pagePatience))
			if _, err := w.Write(buffer[:n]); err != nil || control.Flush() != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that the browser detects the incomplete reply
		}
	}
}

// pagePatience is how long a browser may take for a piece of a reply.
const pagePatience = 10 * time.Second

// client is the manager to ask. begins is set for a stream that begins, also again after a manager has gone: then
// another manager may be master.
func (p *pageProxy) client(ctx context.Context, begins bool) *ctl.Client {
	p.mu.Lock()
	asked := *p.asker
	p.mu.Unlock()
	if !begins {
		return asked.Client
	}
	next := asked.successor(ctx)
	if next == nil {
		return asked.Client
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asker.Client = next
	return next
}

// pageFail replies with an error as the manager does.
func pageFail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = writeJSON(w, &ctl.Failure{Err: text})
}
