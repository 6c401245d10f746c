package web

import (
	"crypto/subtle"
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
)

//go:embed static
var static embed.FS

// policy lets a page load what this server has, and nothing else: no script or style in the page itself, no frame around it.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// site answers those who know the token.
type site struct {
	// host is the address with the port that it listens on, and token what those have to know who ask.
	host, token string
	source      *source
}

// handler returns what answers.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", files())
	mux.HandleFunc("GET /viewer", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("GET /events", s.source.events)
	mux.HandleFunc("GET /what-if", s.source.answerWhatIf)
	mux.HandleFunc("GET /replay", s.source.answerReplay)
	return secured(s.guarded(mux))
}

// files serves what does not change: the page, its scripts and its looks.
func files() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return http.FileServerFS(files)
}

// secured tells browsers to run nothing but what the page brings, and to keep nothing.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// guarded lets through who asks this host, and knows the token.
func (s *site) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A name that somebody has pointed at this machine is another host.
		if r.Host != s.host && r.Host != strings.Replace(s.host, "127.0.0.1", "localhost", 1) {
			http.Error(w, "This is not the host that was asked for.", http.StatusForbidden)
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.URL.Path == "/" && s.knows(token) {
			// Lax: a link may come from a file, or from a terminal in a browser. Nothing here changes anything.
			http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if cookie, err := r.Cookie(s.cookie()); err != nil || !s.knows(cookie.Value) {
			http.Error(w, "Open the address that kubectl fedquota view has printed.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// cookie is the name of the cookie. Browsers send one also to other ports of a host, so those have other names.
func (s *site) cookie() string {
	_, port, _ := strings.Cut(s.host, ":")
	return "fedquota-view-" + port
}

// knows says whether somebody knows the token.
func (s *site) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// topicOf returns what a page asks for.
func topicOf(query url.Values) topic {
	return topic{page: query.Get("page"), namespace: query.Get("namespace"), name: query.Get("name")}
}
