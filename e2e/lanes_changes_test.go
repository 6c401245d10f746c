//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// gradeLabel is a label of Clusters by which a rule of the distribution goes.
const gradeLabel = "grade"

// budgets cuts and raises the budget, and adds a resource to it.
func (c *chaos) budgets() lane {
	return lane{name: "budget", pause: 15 * time.Second, draw: func(r *rand.Rand) disturbance {
		hard := oneOf(r, budget("30", "60"), budget("36", "50"), budget("24", "60"), budget("18", "36"), budget("9", "20"), budget("3", "6"))
		if r.IntN(3) == 0 {
			hard[corev1.ResourceServices] = resource.MustParse("10")
		}
		return disturbance{kind: "budget", where: text(hard), do: func(ctx context.Context) error {
			c.budget.Lock()
			defer c.budget.Unlock()
			return c.call(ctx, func(ctx context.Context) error {
				return c.tryChange(ctx, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = hard })
			})
		}}
	}}
}

// changed writes something else than the budget into the spec.
func (c *chaos) changed(kind, where string, mutate func(*quotav1alpha1.FederatedQuota)) disturbance {
	return disturbance{kind: kind, where: where, do: func(ctx context.Context) error {
		return c.call(ctx, func(ctx context.Context) error { return c.tryChange(ctx, mutate) })
	}}
}

// rules changes weights, and bounds, among them such as cannot be.
func (c *chaos) rules() lane {
	return lane{name: "rules", pause: 10 * time.Second, draw: func(r *rand.Rand) disturbance {
		list := weights(splits[r.IntN(len(splits))]...)
		bounded := &list[r.IntN(len(list))]
		if r.IntN(3) == 0 {
			bounded.Min = budget(oneOf(r, "2", "6", "12"), oneOf(r, "4", "12", "24"))
			bounded.Lendable = oneOf(r, nil, budget("2", "4"))
		}
		if r.IntN(3) == 0 {
			bounded.Max = budget(oneOf(r, "1", "5", "16"), oneOf(r, "2", "10", "30"))
		}
		if r.IntN(3) == 0 {
			list = append(list, quotav1alpha1.DistributionRule{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{gradeLabel: "gold"}},
				RuleTerms:       quotav1alpha1.RuleTerms{Weight: new(r.Int32N(8))},
			})
		}
		text, _ := json.Marshal(list)
		return c.changed("rules", string(text), func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Distribution.Rules = list
		})
	}}
}

// modes changes what limits follow, and what is done for requests that do not fit.
func (c *chaos) modes() lane {
	return lane{name: "mode", pause: 12 * time.Second, draw: func(r *rand.Rand) disturbance {
		mode := quotav1alpha1.Rebalance{Mode: oneOf(r, quotav1alpha1.RebalanceAuto, quotav1alpha1.RebalanceAuto, quotav1alpha1.RebalanceStatic),
			DampingSeconds: new(r.Int32N(10)), HeadroomPercent: new(oneOf[int32](r, 0, 10, 50))}
		admission := quotav1alpha1.Admission{Mode: oneOf(r, quotav1alpha1.AdmissionHold, quotav1alpha1.AdmissionOff),
			WaitMilliseconds: new(oneOf[int32](r, 1, 500, 5000))}
		where := fmt.Sprintf("%s, admission %s of %d ms", mode.Mode, admission.Mode, *admission.WaitMilliseconds)
		return c.changed("mode", where, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Rebalance, fq.Spec.Admission = mode, admission })
	}}
}

// losses wipe the ledger, as a restore without the status does.
func (c *chaos) losses() lane {
	return lane{name: "ledger", pause: c.duration * 3 / 2, draw: func(*rand.Rand) disturbance {
		return disturbance{kind: "ledger lost", do: func(ctx context.Context) error {
			c.budget.Lock()
			defer c.budget.Unlock()
			c.renewed = true
			return c.call(ctx, c.loseLedger)
		}}
	}}
}

// recreation deletes the FederatedQuota and creates it again, over all clusters: what one that is not selected goes on
// using is no part of the new budget. It waits until the administrators' members are managed again.
func (c *chaos) recreation() lane {
	return lane{name: "FederatedQuota", pause: c.duration * 3 / 2, draw: func(*rand.Rand) disturbance {
		return disturbance{kind: "re-created", do: func(ctx context.Context) error {
			c.managed.Lock()
			defer c.managed.Unlock()
			if err := await(ctx, c.deleted); err != nil {
				return err
			}
			c.note("the FederatedQuota is gone")
			c.ruling.Lock()
			defer c.ruling.Unlock()
			for _, member := range c.names() {
				if err := await(ctx, func(ctx context.Context) error { return c.relabel(ctx, member, "prod") }); err != nil {
					return err
				}
			}
			if err := c.created(ctx); err != nil {
				return err
			}
			return await(ctx, func(ctx context.Context) error { return errors.Join(c.manages(ctx, east), c.manages(ctx, west)) })
		}}
	}}
}

// created creates the FederatedQuota, and waits until it has heard of all members: what these use without it is debt,
// however much that is.
func (c *chaos) created(ctx context.Context) error {
	c.budget.Lock()
	defer c.budget.Unlock()
	c.renewed = true
	c.observer.SetBudget(budget("1000", "1000"), time.Now())
	return c.observer.ChangeBudget(ctx, budget("30", "60"), func(ctx context.Context) error {
		err := await(ctx, func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(c.hub.Create(ctx, c.newQuota()))
		})
		return errors.Join(err, await(ctx, c.heard))
	})
}

// heard says whether the ledger has yet to hear what a member uses.
func (c *chaos) heard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	fq, err := c.federatedQuota(ctx)
	if err != nil {
		return err
	}
	if len(fq.Status.Clusters) < len(c.names()) {
		return fmt.Errorf("%d clusters are in the ledger", len(fq.Status.Clusters))
	}
	for _, e := range fq.Status.Clusters {
		if e.Revision == 0 || len(e.Used) == 0 {
			err = errors.Join(err, fmt.Errorf("%s has not said what it uses", e.Name))
		}
	}
	return err
}

// manages says whether the ResourceQuota of a member is left to its users.
func (c *chaos) manages(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	quota, err := c.quota(ctx, member)
	if _, managed := quota.Labels[quotav1alpha1.ManagedLabel]; err == nil && !managed {
		err = fmt.Errorf("the ResourceQuota in %s is not managed", member)
	}
	return err
}

// deleted deletes the FederatedQuota, and says whether it is still there.
func (c *chaos) deleted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name}}
	err := c.hub.Delete(ctx, fq)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(errors.New("the FederatedQuota is still there"), err)
}

// labels deselects a cluster and selects it again; north may be empty then, and have left in between.
func (c *chaos) labels(member string) lane {
	return sharing(&c.managed, lane{name: "placement of " + member, pause: 40 * time.Second, draw: func(r *rand.Rand) disturbance {
		if member == north && r.IntN(2) == 0 {
			return disturbance{kind: "emptied and deselected", lasts: upTo(r, 20*time.Second), do: c.emptied(member), undo: c.loaded(member)}
		}
		return disturbance{kind: "deselected", lasts: upTo(r, 10*time.Second), do: c.labelled(member, tierLabel, "test"), undo: c.labelled(member, tierLabel, "prod")}
	}})
}

// emptied ends the load of a member and deselects it. Its lanes may bring the load back before it has left.
func (c *chaos) emptied(member string) func(context.Context) error {
	return func(ctx context.Context) error {
		c.writers[member].idle.Store(true)
		return errors.Join(
			c.call(ctx, func(ctx context.Context) error { return c.tryScale(ctx, member, "burst", 0) }),
			c.labelled(member, tierLabel, "test")(ctx),
		)
	}
}

// loaded selects it again, and lets the load go on.
func (c *chaos) loaded(member string) func(context.Context) error {
	return func(ctx context.Context) error {
		c.writers[member].idle.Store(false)
		return c.labelled(member, tierLabel, "prod")(ctx)
	}
}

// grades changes a label that a rule may go by.
func (c *chaos) grades(member string) lane {
	return lane{name: "grade of " + member, pause: 30 * time.Second, draw: func(r *rand.Rand) disturbance {
		return disturbance{kind: "label", do: c.labelled(member, gradeLabel, oneOf(r, "gold", "none"))}
	}}
}

func (c *chaos) labelled(member, label, value string) func(context.Context) error {
	return func(ctx context.Context) error {
		return c.call(ctx, func(ctx context.Context) error { return c.setLabel(ctx, member, label, value) })
	}
}

// shares deletes the share of a member by hand, and waits until it is written again.
func (c *chaos) shares(member string) lane {
	return lane{name: "share in " + member, pause: 40 * time.Second, draw: func(*rand.Rand) disturbance {
		return disturbance{kind: "share deleted",
			do: func(ctx context.Context) error {
				return c.call(ctx, func(ctx context.Context) error {
					return c.member(member).Delete(ctx, &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name}})
				})
			},
			undo: func(ctx context.Context) error {
				return await(ctx, func(ctx context.Context) error { return c.told(ctx, member) })
			}}
	}}
}

// told says whether a member has no share that the ledger has told something. One that was just rebuilt tells nobody
// anything for as long as the rules are such as cannot be, which nobody may mend before all lanes have ended.
func (c *chaos) told(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	fq, err := c.federatedQuota(ctx)
	told := func(s quotav1alpha1.ClusterStatus) bool { return string(s.Name) == member && s.Revision > 0 }
	if err != nil || !slices.ContainsFunc(fq.Status.Clusters, told) {
		return err
	}
	share := &quotav1alpha1.QuotaShare{}
	err = c.member(member).Get(ctx, c.key, share)
	if err == nil && !share.DeletionTimestamp.IsZero() {
		err = errors.New("the share is still being deleted")
	}
	return err
}

// administrators change the ResourceQuota of a member, which is refused, or break the glass and think better of it.
func (c *chaos) administrators(member string) lane {
	return lane{name: "administrator of " + member, pause: 20 * time.Second, draw: func(r *rand.Rand) disturbance {
		much := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"requests.cpu":"1000"}}}`))
		inForce := client.RawPatch(types.MergePatchType, []byte(`{"status":{"hard":{"requests.cpu":"1000"}}}`))
		switch r.IntN(4) {
		case 0:
			return c.refused("edit", func(ctx context.Context) error { return c.member(member).Patch(ctx, c.named(), much) })
		case 1:
			return c.refused("edit of the status", func(ctx context.Context) error { return c.member(member).Status().Patch(ctx, c.named(), inForce) })
		case 2:
			return c.refused("delete", func(ctx context.Context) error { return c.member(member).Delete(ctx, c.named()) })
		}
		return disturbance{kind: "broken glass", lasts: upTo(r, 8*time.Second),
			do: func(ctx context.Context) error {
				return c.call(ctx, func(ctx context.Context) error { return c.breakGlass(ctx, member, `"chaos"`) })
			},
			// While the glass is broken others may change the quota, so nothing else may be tried before it is mended.
			undo: func(ctx context.Context) error {
				return await(ctx, func(ctx context.Context) error { return c.breakGlass(ctx, member, "null") })
			}}
	}}
}

// refused is something that an administrator tries and that guard or fence have to refuse.
func (c *chaos) refused(what string, try func(context.Context) error) disturbance {
	return disturbance{kind: "meddling", where: what, do: func(ctx context.Context) error {
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := try(calling)
		if err == nil || apierrors.IsNotFound(err) {
			return fmt.Errorf("the %s was not refused: %w", what, err)
		}
		return nil
	}}
}

// bursting changes how many pods a ReplicaSet wants, beyond what there is and to nothing.
func (c *chaos) bursting(member string) lane {
	return lane{name: "replicas in " + member, pause: 6 * time.Second, draw: func(r *rand.Rand) disturbance {
		replicas := oneOf[int32](r, 0, 4, 16, 50)
		return disturbance{kind: "burst", where: fmt.Sprint(replicas), do: func(ctx context.Context) error {
			return c.call(ctx, func(ctx context.Context) error { return c.tryScale(ctx, member, "burst", replicas) })
		}}
	}}
}

// idling has the writers of a member delete all that they have for a while.
func (c *chaos) idling(member string) lane {
	return lane{name: "writers in " + member, pause: 15 * time.Second, draw: func(r *rand.Rand) disturbance {
		set := func(idle bool) func(context.Context) error {
			return func(context.Context) error { c.writers[member].idle.Store(idle); return nil }
		}
		return disturbance{kind: "no load", lasts: upTo(r, 15*time.Second), do: set(true), undo: set(false)}
	}}
}
