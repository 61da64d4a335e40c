package web

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// Who may ask, in the order it is checked:
//
//	Host     127.0.0.1:PORT or localhost:PORT    a name that was bent to this address (DNS rebinding) is refused
//	Method   GET or HEAD                         nothing here changes anything
//	Origin   none, or our own                    a page of another site, or of another port of this machine,
//	         and by Sec-Fetch-Site               may neither fetch nor embed
//	Token    in the URL, once                    then a cookie that scripts cannot read and other sites do not send
//
// A browser sends its cookies for 127.0.0.1 to every port of it. What that
// means is said in docs/web.md.

// policy lets a page load what this server serves and nothing else: no inline
// script or style, no frame, no form to elsewhere, and no way to make markup out
// of a string in a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard refuses whoever may not ask, without saying why, and sets the headers of
// every answer.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.ours(r.Host):
			refuse(w)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case !s.near(r):
			refuse(w)
		case r.URL.Query().Has("token"):
			s.enter(w, r)
		case !s.known(r):
			refuse(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter) {
	http.Error(w, "forbidden: open the address that was printed when this was started", http.StatusForbidden)
}

// ours reports whether a request names this server.
func (s *Server) ours(host string) bool {
	return host == "127.0.0.1:"+s.port || host == "localhost:"+s.port ||
		s.port == "80" && (host == "127.0.0.1" || host == "localhost")
}

// near reports whether a request comes from a page of ours or from the person
// at the browser. Another page may send the person here, and nothing more.
func (s *Server) near(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// cookie is named by the port, so that two servers do not put each other out.
func (s *Server) cookie() string { return "yore-" + s.port }

// known reports whether a request shows the cookie.
func (s *Server) known(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.cookie()) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.token)) == 1 {
			return true
		}
	}
	return false
}

// enter turns a token in a URL into a cookie and takes it out of the URL, so
// that it is neither in the history nor in a link that is passed on.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	if given := values["token"]; len(given) != 1 || !s.admits(given[0]) {
		refuse(w)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie(), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	values.Del("token")
	// A path that begins with two slashes would name another host.
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: values.Encode()}
	if r.URL.RawPath != "" && strings.HasPrefix(r.URL.RawPath, "/") && !strings.HasPrefix(r.URL.RawPath, "//") {
		to.RawPath = r.URL.RawPath
	}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
}
