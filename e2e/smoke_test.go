package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

// TestSmoke sees the whole product work on a hub and three members: split, refusal, change, guard and restart.
func TestSmoke(t *testing.T) {
	w := startWorld(t, "smoke", system.Options{Fleet: fleet.Options{Members: threeMembers()}})
	s := newScenario(t, w, "team-a", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(amounts{cpu: {"15", "10", "5"}, pods: {"30", "20", "10"}})
	s.witness(1)
	s.refusesAtLimit()
	s.guarded()
	s.scraped()
	s.heardOf()

	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(1, 2, 3) })
	s.split(amounts{cpu: {"5", "10", "15"}, pods: {"10", "20", "30"}})
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("12", "24") })
	s.split(amounts{cpu: {"2", "4", "6"}, pods: {"4", "8", "12"}})
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("60", "120") })
	s.split(amounts{cpu: {"10", "20", "30"}, pods: {"20", "40", "60"}})

	// Killed in the middle of a change, started again, the same end.
	s.storm(east)
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(3, 2, 1) })
	s.must(w.HubManager.Kill())
	s.must(w.Agents[east].Kill())
	s.must(w.Agents[east].Restart(t.Context()))
	s.must(w.HubManager.Restart(t.Context()))
	s.endStorms()
	s.split(amounts{cpu: {"30", "20", "10"}, pods: {"60", "40", "20"}})
	s.finish()
}

// refusesAtLimit fills north, and reads what the native plug-in says then.
func (s *scenario) refusesAtLimit() {
	s.Helper()
	s.fill(north, "full", 4, "1")
	s.recounted(north, budget("4100m", "5"))
	err := s.member(north).Create(s.Context(), newPod(s.key.Namespace, "one-more", "1"))
	if want := "exceeded quota: " + quotaName + ", requested: requests.cpu=1, used: requests.cpu=4100m, limited: requests.cpu=5"; !apierrors.IsForbidden(err) || !containsAll(err.Error(), []string{want}) {
		s.Errorf("one pod too many: got %v, want a 403 with %q", err, want)
	}
	s.drain(north, "full")
}

// scraped sees that all managers serve metrics, and to nobody who may not read them.
func (s *scenario) scraped() {
	s.Helper()
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		managers := s.Managers(c)
		if len(managers) != 1 {
			s.Errorf("%d managers run for %s, want one", len(managers), c.Name)
		}
		for _, m := range managers {
			// It makes its certificate first.
			s.eventually("metrics", func(ctx context.Context) error {
				families, err := s.scrape(ctx, m)
				if err == nil && families["controller_runtime_reconcile_total"] == nil {
					err = fmt.Errorf("%s tells of no round", m.Name)
				}
				return err
			})
			stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as for a scraper
			if _, err := systemtest.Scrape(s.Context(), stranger, m); err == nil || !strings.Contains(err.Error(), "401") {
				s.Errorf("%s, asked by a stranger for its metrics: got %v, want a 401", m.Name, err)
			}
		}
	}
}

// heardOf sees that the hub manager tells when each member answered and reported, and that it has written shares.
func (s *scenario) heardOf() {
	s.Helper()
	tells := func(name string, labels map[string]string) {
		s.Helper()
		s.eventually(fmt.Sprint(name, labels), func(ctx context.Context) error {
			value, _, err := s.hubMetric(ctx, name, labels)
			if err == nil && value <= 0 {
				err = fmt.Errorf("it is %g", value)
			}
			return err
		})
	}
	for _, m := range s.Members {
		tells("fedquota_member_last_look_timestamp_seconds", map[string]string{"cluster": m.Name})
		tells("fedquota_member_last_report_timestamp_seconds", map[string]string{"cluster": m.Name})
	}
	tells("fedquota_member_writes_total", map[string]string{"verb": "create", "resource": "quotashares", "code": "201"})
}

// guarded sees that a cluster administrator cannot change, relabel or delete the managed ResourceQuota of a member.
func (s *scenario) guarded() {
	s.Helper()
	attempts := map[string]func(ctx context.Context, quota *corev1.ResourceQuota) error{
		"edit": func(ctx context.Context, quota *corev1.ResourceQuota) error {
			quota.Spec.Hard[cpu] = resource.MustParse("1000")
			return s.member(east).Update(ctx, quota)
		},
		"lower": func(ctx context.Context, quota *corev1.ResourceQuota) error {
			quota.Spec.Hard[cpu] = resource.MustParse("1")
			return s.member(east).Update(ctx, quota)
		},
		"relabel": func(ctx context.Context, quota *corev1.ResourceQuota) error {
			delete(quota.Labels, quotav1alpha1.ManagedLabel)
			return s.member(east).Update(ctx, quota)
		},
		"forge a revision": func(ctx context.Context, quota *corev1.ResourceQuota) error {
			quota.Annotations[quotav1alpha1.RevisionAnnotation] = "1000000"
			return s.member(east).Update(ctx, quota)
		},
		"delete": func(ctx context.Context, quota *corev1.ResourceQuota) error { return s.member(east).Delete(ctx, quota) },
		"delete all": func(ctx context.Context, quota *corev1.ResourceQuota) error {
			return s.member(east).DeleteAllOf(ctx, &corev1.ResourceQuota{}, client.InNamespace(quota.Namespace))
		},
	}
	for what, attempt := range attempts {
		s.eventually(what, func(ctx context.Context) error {
			quota, err := s.quota(ctx, east)
			if err != nil {
				return err
			}
			if err = attempt(ctx, quota); apierrors.IsConflict(err) {
				return err
			}
			if want := fmt.Sprintf("is managed by FederatedQuota %s", s.key); !apierrors.IsForbidden(err) || !containsAll(err.Error(), []string{want}) {
				s.Errorf("%s: got %v, want a 403 that says %q", what, err, want)
			}
			return nil
		})
	}
}
