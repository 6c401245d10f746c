//go:build e2e

package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// TestFlood has somebody in east send to the webhook's port what no API server sends, as much as goes: the agent keeps
// within the memory that its Deployment has, and requests of the API server are admitted meanwhile.
func TestFlood(t *testing.T) {
	w := startWorld(t, "flood", system.Options{Fleet: fleet.Options{Members: threeMembers()[:1]}})
	s := newScenario(t, w, "team-a", budget("30", "60"))
	s.create(budget("30", "60"), following, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = nil })
	s.settle()
	agent := s.Agents[east].PID()
	end := s.flood(s.webhookURL(east))
	s.fill(east, "meanwhile", 20, "1")
	counts := end()
	table := &system.Table{}
	table.Row("refused as too long", "refused as no review", "read", "memory of the agent at most", "pods created meanwhile")
	table.Row(counts[http.StatusRequestEntityTooLarge], counts[http.StatusBadRequest], counts[http.StatusOK], fmt.Sprintf("%d MiB", peak(t, agent)>>20), 20)
	s.must(table.Write("..", "flood"))
	for _, code := range []int{http.StatusRequestEntityTooLarge, http.StatusBadRequest, http.StatusOK} {
		if counts[code] == 0 {
			s.Errorf("no answer %d", code)
		}
	}
	if most := int64(512 << 20); peak(t, agent) > most {
		s.Errorf("the agent took %d MiB", peak(t, agent)>>20)
	}
	if pid := s.Agents[east].PID(); pid != agent {
		s.Errorf("the agent has been process %d, and is %d", agent, pid)
	}
	s.drain(east, "meanwhile")
	s.finish()
}

// webhookURL is where API servers reach the webhook of a member's agent.
func (s *scenario) webhookURL(member string) (url string) {
	s.Helper()
	s.eventually("the rules of the webhook", func(ctx context.Context) error {
		rules := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := s.member(member).Get(ctx, client.ObjectKey{Name: "fedquota-agent"}, rules); err != nil {
			return err
		}
		if len(rules.Webhooks) == 0 {
			return errors.New("there is none")
		}
		url = *rules.Webhooks[0].ClientConfig.URL
		return nil
	})
	return url
}

// flood sends bodies that are too long or are no review, of a stated length and not, and reviews of pods that do not
// fit, each of another owner, until the returned function is called, which returns how often each answer came.
func (s *scenario) flood(url string) (end func() map[int]int) {
	ctx, cancel := context.WithCancel(s.Context())
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // whoever floods
	long := strings.Repeat("x", 10<<20)
	var number atomic.Int64
	bodies := []func() io.Reader{
		func() io.Reader { return strings.NewReader(long) },
		func() io.Reader { return io.MultiReader(strings.NewReader(`"`), strings.NewReader(long)) },
		func() io.Reader {
			return strings.NewReader(`{"request": {"object": {"spec": "` + long[:6<<20] + `"}}}`)
		},
		func() io.Reader {
			return strings.NewReader(fmt.Sprintf(`{"request": {"uid": "1", "namespace": %q, "resource": {"version": "v1", "resource": "pods"},
				"operation": "CREATE", "object": {"metadata": {"name": "flood-%d"},
				"spec": {"containers": [{"resources": {"requests": {"cpu": "29"}}}]}}}}`, s.key.Namespace, number.Add(1)))
		},
	}
	counts, mutex := map[int]int{}, sync.Mutex{}
	var running sync.WaitGroup
	for i := range 40 {
		running.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bodies[i%len(bodies)]())
				if err != nil {
					s.Error(err)
					return
				}
				response, err := caller.Do(request)
				if err != nil {
					continue // the server has closed the connection, or it is over
				}
				_ = response.Body.Close()
				mutex.Lock()
				counts[response.StatusCode]++
				mutex.Unlock()
			}
		})
	}
	return func() map[int]int {
		s.eventually("all kinds of answers", func(context.Context) error {
			mutex.Lock()
			defer mutex.Unlock()
			if counts[http.StatusOK] < 100 || counts[http.StatusRequestEntityTooLarge] < 100 || counts[http.StatusBadRequest] < 100 {
				return fmt.Errorf("so far %v", counts)
			}
			return nil
		})
		cancel()
		running.Wait()
		return counts
	}
}

// peak returns the most memory that a process has had, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var kibibytes int64
	if _, after, found := strings.Cut(string(status), "VmHWM:"); !found {
		t.Fatal("no VmHWM")
	} else if _, err := fmt.Sscan(after, &kibibytes); err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10
}
