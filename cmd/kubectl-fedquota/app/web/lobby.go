package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
)

const (
	// cookie is what a browser keeps of who looks, and largest how many bytes of a request to enter are read.
	cookie, largest = "fedquota-view", 64 << 10
	// longest is how long somebody may look before he shows a token again, and idle how long without a request.
	longest, idle = 12 * time.Hour, 10 * time.Minute
)

// lobby lets in who shows a token that the hub knows. Each viewer is shown what his own token may read, by requests that are
// made with that token: the lobby has no rights.
type lobby struct {
	// connect returns a client that has the rights of a token, and no others.
	connect func(token string) (client.WithWatch, error)
	clock   clock.PassiveClock
	live    live.Options
	// most is how many may look at a time, and each from how many places one of them.
	most, each int
	// recheck is how often the hub is asked whether a viewer may still read what he is shown.
	recheck time.Duration

	mutex   sync.Mutex
	viewers map[string]*viewer
	// coming is how many are being let in, and places from how many each looks whose name is known.
	coming int
	places map[string]int
}

// viewer is somebody who looks. All of him ends with leave.
type viewer struct {
	name   string
	source *source
	ended  <-chan struct{}
	leave  context.CancelFunc
	came   time.Time
	// seen is when he asked last, and streams how many answers to him go on. The mutex of the lobby holds both.
	seen    time.Time
	streams int
}

// handler returns what answers. Viewers end with the context.
func (l *lobby) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", files())
	mux.HandleFunc("GET /viewer", l.who)
	mux.HandleFunc("POST /enter", func(w http.ResponseWriter, r *http.Request) { l.enter(ctx, w, r) })
	mux.HandleFunc("POST /leave", l.bye)
	mux.HandleFunc("GET /events", l.shown((*source).events))
	mux.HandleFunc("GET /what-if", l.shown((*source).answerWhatIf))
	mux.HandleFunc("GET /replay", l.shown((*source).answerReplay))
	// A page of another site cannot have a browser enter or leave. Cookies are not sent for one: they are strict.
	return secured(http.NewCrossOriginProtection().Handler(mux))
}

// of returns who asks, nil if he has not entered, or has been let out.
func (l *lobby) of(r *http.Request) *viewer {
	shown, err := r.Cookie(cookie)
	if err != nil {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	v := l.viewers[shown.Value]
	if v != nil {
		v.seen = l.clock.Now()
	}
	return v
}

// who says who looks, null if nobody does.
func (l *lobby) who(w http.ResponseWriter, r *http.Request) {
	var told map[string]string
	if v := l.of(r); v != nil {
		told = map[string]string{"name": v.name}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(told)
}

// shown answers a viewer from what his token may read. An answer that goes on ends when he does.
func (l *lobby) shown(answer func(*source, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := l.of(r)
		if v == nil {
			http.Error(w, "Nobody has entered.", http.StatusUnauthorized)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-v.ended:
				cancel()
			case <-ctx.Done():
			}
		}()
		l.count(v, 1)
		defer l.count(v, -1)
		answer(v.source, w, r.WithContext(ctx))
	}
}

func (l *lobby) count(v *viewer, streams int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	v.streams += streams
	v.seen = l.clock.Now()
}

// bye lets a viewer out.
func (l *lobby) bye(_ http.ResponseWriter, r *http.Request) {
	if v := l.of(r); v != nil {
		v.leave()
	}
}

// refusal is why somebody is not let in, and with which status that is told.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

// enter lets in who shows a token.
func (l *lobby) enter(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var asked struct{ Token, Namespace string }
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, largest)).Decode(&asked) != nil {
		http.Error(w, "This is not what the page sends.", http.StatusBadRequest)
		return
	}
	id, err := l.admit(ctx, r.Context(), strings.TrimSpace(asked.Token), strings.TrimSpace(asked.Namespace))
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		http.Error(w, refused.why, refused.status)
	case err != nil:
		http.Error(w, "The hub does not answer: "+err.Error(), http.StatusBadGateway)
	default:
		// Without a path the cookie is sent to what is beside this address, wherever that is served.
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: id, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.WriteHeader(http.StatusNoContent)
	}
}

// admit finds out who shows a token and what he may read, and returns by what he is known from now on. Without a namespace he
// is shown all, and nothing if he may not list all.
func (l *lobby) admit(ctx, request context.Context, token, namespace string) (string, error) {
	if !l.reserve() {
		return "", &refusal{http.StatusServiceUnavailable, "As many look as this server shows at a time. Try again later."}
	}
	defer l.release()
	ctx, leave := context.WithCancel(ctx)
	stop := context.AfterFunc(request, leave)
	v, err := l.read(ctx, token, namespace)
	if !stop() || err != nil {
		leave()
		if v != nil {
			l.vacate(v.name)
		}
		return "", errors.Join(err, request.Err())
	}
	v.ended, v.leave = ctx.Done(), leave
	id := rand.Text()
	l.mutex.Lock()
	l.viewers[id] = v
	l.mutex.Unlock()
	go l.attend(ctx, id, v)
	return id, nil
}

// reserve keeps a place for somebody who comes in, if there is one.
func (l *lobby) reserve() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.viewers)+l.coming >= l.most {
		return false
	}
	l.coming++
	return true
}

func (l *lobby) release() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.coming--
}

// occupy keeps one of the places of somebody, if he has one left.
func (l *lobby) occupy(name string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.places[name] >= l.each {
		return false
	}
	l.places[name]++
	return true
}

func (l *lobby) vacate(name string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.places[name]--; l.places[name] == 0 {
		delete(l.places, name)
	}
}

// read returns a viewer with what his token may read, who has one of his places, also if there is an error besides.
func (l *lobby) read(ctx context.Context, token, namespace string) (*viewer, error) {
	if token == "" {
		return nil, &refusal{http.StatusUnauthorized, "There is no token."}
	}
	hub, err := l.connect(token)
	if err != nil {
		return nil, err
	}
	self := &authenticationv1.SelfSubjectReview{}
	if err := hub.Create(ctx, self); apierrors.IsUnauthorized(err) {
		return nil, &refusal{http.StatusUnauthorized, "The hub does not know this token, or it has ended."}
	} else if err != nil {
		return nil, err
	}
	// An API server may take one whom it does not know for anybody.
	if slices.Contains(self.Status.UserInfo.Groups, user.AllUnauthenticated) {
		return nil, &refusal{http.StatusUnauthorized, "The hub does not know this token."}
	}
	name := self.Status.UserInfo.Username
	if !l.occupy(name) {
		return nil, &refusal{http.StatusTooManyRequests, fmt.Sprintf("%s looks from %d places already. Leave one of them, or wait for some minutes if nobody looks there.", name, l.each)}
	}
	v := &viewer{name: name, source: newSource(hub, l.clock, l.live), came: l.clock.Now(), seen: l.clock.Now()}
	err = v.source.start(ctx, namespace, namespace != "")
	if err != nil && cli.MissingRight(err) != "" {
		err = &refusal{http.StatusForbidden, name + " lacks the right to " + cli.MissingRight(err)}
	}
	return v, err
}

// attend lets a viewer out who is gone, or whom the hub would not let read any more what he is shown.
func (l *lobby) attend(ctx context.Context, id string, v *viewer) {
	tick := time.NewTicker(l.recheck)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if l.gone(v) || v.source.lost(ctx) {
				v.leave()
			}
		}
	}
	l.vacate(v.name)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.viewers, id)
}

// gone says whether a viewer has left without a word, or has looked for as long as a token is good for.
func (l *lobby) gone(v *viewer) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.clock.Now()
	return now.Sub(v.came) > longest || v.streams == 0 && now.Sub(v.seen) > idle
}
