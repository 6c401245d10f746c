package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

// metrics returns the lines of an API server's metrics.
func metrics(ctx context.Context, c *fleet.ControlPlane) ([]string, error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	body, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	return strings.Split(string(body), "\n"), err
}

// lastNumber is the value of a line of metrics.
func lastNumber(line string) int {
	value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
	if err != nil {
		return 0
	}
	return int(value)
}

// scrape reads the metrics of a manager.
func (w *world) scrape(ctx context.Context, m system.Manager) (map[string]*dto.MetricFamily, error) {
	return systemtest.Scrape(ctx, w.scrapers[m.Of.Name], m)
}

// hubMetric returns the sum of a series over the hub managers that run, and how many of them have it.
func (s *scenario) hubMetric(ctx context.Context, name string, labels map[string]string) (total float64, served int, err error) {
	for _, hub := range s.Managers(s.Hub) {
		families, err := s.scrape(ctx, hub)
		if err != nil {
			return 0, 0, err
		}
		if value, ok := systemtest.ValueOf(families, name, labels); ok {
			total, served = total+value, served+1
		}
	}
	return total, served, nil
}

// measured says which resources are granted above the budget without a debt, as all hub managers tell by their metrics
// that have had to do with the quota, and of which none of them tells.
func (s *scenario) measured(ctx context.Context) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	told := map[corev1.ResourceName]bool{}
	var errs []error
	for _, hub := range s.Managers(s.Hub) {
		families, err := s.scrape(ctx, hub)
		if err != nil {
			return err
		}
		for name := range fq.Spec.Hard {
			known, err := within(families, fq, name)
			told[name] = told[name] || known
			errs = append(errs, err)
		}
	}
	for name := range fq.Spec.Hard {
		if !told[name] {
			errs = append(errs, fmt.Errorf("no hub manager tells how much of %s is granted", name))
		}
	}
	return errors.Join(errs...)
}

// within says whether metrics tell how much of a resource is granted, and if that is above the budget although there is
// no debt.
func within(families map[string]*dto.MetricFamily, fq *quotav1alpha1.FederatedQuota, name corev1.ResourceName) (known bool, err error) {
	labels := map[string]string{"namespace": fq.Namespace, "name": fq.Name, "resource": string(name)}
	granted, known := systemtest.ValueOf(families, "fedquota_granted", labels)
	budget, _ := systemtest.ValueOf(families, "fedquota_budget", labels)
	debt, _ := systemtest.ValueOf(families, "fedquota_debt", labels)
	indebted := apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionDebt)
	if granted > budget && debt == 0 || debt > 0 && !indebted {
		err = fmt.Errorf("%g of %g %s are granted, with a debt of %g", granted, budget, name, debt)
	}
	return known, err
}

// reachable waits until the hub manager tells by its metrics that a member can be read, or that it cannot.
func (s *scenario) reachable(member string, want float64) {
	s.Helper()
	s.eventually(fmt.Sprintf("fedquota_member_reachable of %s to be %g", member, want), func(ctx context.Context) error {
		got, served, err := s.hubMetric(ctx, "fedquota_member_reachable", map[string]string{"cluster": member})
		if err == nil && (served == 0 || got != want*float64(served)) {
			err = fmt.Errorf("the sum is %g over %d hub managers that tell", got, served)
		}
		return err
	})
}
