package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// calm is how long changes are gathered before they are sent, so that a fleet that moves a lot does not keep browsers busy.
	calm = 250 * time.Millisecond
	// busy is how many times longer than a look it is to the next one at least.
	busy = 5
	// alive is how often something is sent at least, by which both sides find out that the other one is gone.
	alive = 15 * time.Second
)

// parts are what a page shows, by key: each is sent when it changes.
type parts map[string]any

// change is what has changed of a page since it was sent last. Gone are the keys of parts that are no more.
type change struct {
	Set  map[string]json.RawMessage `json:"set,omitempty"`
	Gone []string                   `json:"gone,omitempty"`
}

// events sends what a page shows, and then what changes of it, until the browser leaves.
func (s *source) events(w http.ResponseWriter, r *http.Request) {
	shown := topicOf(r.URL.Query())
	if pages[shown.page] == nil {
		http.Error(w, "There is no such page.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	changed, forget := s.subscribe()
	defer forget()
	heartbeat := time.NewTicker(alive)
	defer heartbeat.Stop()
	for sent := (state{}); ; {
		began := s.clock.Now()
		next, err := stateOf(s.show(r.Context(), shown))
		if err != nil || send(w, next.since(sent)) != nil {
			return
		}
		sent = next
		rest := max(calm, busy*s.clock.Since(began))
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-heartbeat.C:
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(rest):
		}
	}
}

// send sends a change, or a sign of life if there is none.
func send(w http.ResponseWriter, c change) error {
	content := []byte(": nothing new\n\n")
	if len(c.Set)+len(c.Gone) > 0 {
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		content = fmt.Appendf(nil, "data: %s\n\n", data)
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// state is what a page shows, as it is sent.
type state map[string]json.RawMessage

// stateOf returns parts as they are sent.
func stateOf(p parts) (state, error) {
	s := make(state, len(p))
	for key, part := range p {
		content, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		s[key] = content
	}
	return s, nil
}

// since returns what has changed since an earlier state.
func (s state) since(before state) change {
	c := change{Set: map[string]json.RawMessage{}}
	for key, content := range s {
		if !bytes.Equal(before[key], content) {
			c.Set[key] = content
		}
	}
	for key := range before {
		if _, there := s[key]; !there {
			c.Gone = append(c.Gone, key)
		}
	}
	return c
}
