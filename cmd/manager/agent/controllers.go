package agent

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/cmd/manager/setup"
	manifests "github.com/fedquota/fedquota/config/member/webhook"
	"github.com/fedquota/fedquota/controllers/member/canary"
	membercapacity "github.com/fedquota/fedquota/controllers/member/capacity"
	"github.com/fedquota/fedquota/controllers/member/coverage"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/recount"
	"github.com/fedquota/fedquota/controllers/member/share"
	"github.com/fedquota/fedquota/controllers/member/waiting"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
	"github.com/fedquota/fedquota/controllers/serving"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/webhooks/admission"
)

// setUp adds all that the agent runs to the manager.
func setUp(ctx context.Context, mgr ctrl.Manager, namespace string, webhook *setup.Webhook) error {
	c, live, now, recorder := mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}, mgr.GetEventRecorder(
		"fedquota-agent",
	)
	quotaCanary := canary.NewCanary(c, now, namespace)
	nodes := &capacity.Nodes{}
	needs := &memberdemand.Demand{
		Client: c, Clock: now, Book: demand.NewBook(), Nodes: nodes, Replica: string(uuid.NewUUID()),
	}
	shares := &share.Reconciler{
		Client: c, Live: live, Clock: now, Recorder: recorder, Canary: quotaCanary, Demand: needs,
	}
	recounts := &recount.Reconciler{Client: c, Live: live, Clock: now}
	notes := &coverage.Reconciler{Client: c}
	report := &membercapacity.Reporter{Client: c, Live: live, Clock: now, Nodes: nodes, Namespace: namespace}
	follower := &memberdemand.Follower{Demand: needs, Elected: mgr.Elected()}
	return setup.All(
		setup.Step{Name: "the canary", Do: func() error { return quotaCanary.SetupWithManager(mgr) }},
		setup.Step{Name: "the watch over the store", Do: func() error { return mgr.Add(quotaCanary.Watchdog(live)) }},
		setup.Step{Name: "the watch over pods and workloads", Do: func() error { return watch(mgr, needs) }},
		setup.Step{Name: "the report of what nodes can run", Do: func() error { return mgr.Add(report) }},
		setup.Step{Name: "the share controller", Do: func() error { return shares.SetupWithManager(mgr) }},
		setup.Step{Name: "the recount of pods", Do: func() error { return recounts.SetupWithManager(mgr) }},
		setup.Step{Name: "the notes of what is covered", Do: func() error { return notes.SetupWithManager(mgr) }},
		setup.Step{Name: "the reports of a follower", Do: func() error { return follower.SetupWithManager(mgr) }},
		setup.Step{Name: "the webhook", Do: func() error { return serve(ctx, mgr, namespace, webhook, shares) }},
	)
}

// watch adds what learns of pods, workloads and nodes to the manager.
func watch(mgr ctrl.Manager, needs *memberdemand.Demand) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	api, err := kubernetes.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	return (&memberdemand.Watch{
		Demand: needs, API: api, Recorder: mgr.GetEventRecorder("fedquota-agent"), Elected: mgr.Elected(),
	}).SetupWithManager(mgr)
}

// serve adds the webhook to the manager, if there is one, and has it asked before a share has a limit.
func serve(
	ctx context.Context, mgr ctrl.Manager, namespace string, webhook *setup.Webhook, shares *share.Reconciler,
) error {
	if webhook.Port == 0 {
		return nil
	}
	if err := webhook.KeepCertificate(mgr, namespace, "fedquota-agent", webhookconfig.SecretName); err != nil {
		return err
	}
	template, err := serving.NewTemplate(manifests.Manifests, namespace)
	if err != nil {
		return err
	}
	rules := &webhookconfig.Reconciler{
		Client: mgr.GetClient(), Template: template, Certificate: &webhook.Certificate, URL: webhook.URL,
	}
	teller := &waiting.Teller{
		Client: mgr.GetClient(), Clock: clock.RealClock{}, Book: shares.Demand.Book, Replica: shares.Demand.Replica,
	}
	gate := &admission.Gate{
		Clock: clock.RealClock{}, Book: shares.Demand.Book, Report: shares.Demand.Report, Live: mgr.GetAPIReader(),
		Refused: teller.Refused,
		Stuck:   func() bool { return shares.Canary.Verdict().Stuck }, Echo: admission.NewEcho(mgr.GetClient()),
	}
	shares.Ask, shares.Demand.Pings, webhook.Drain.Handler = rules.Ask, gate.Pings, admission.NewHandler(gate)
	if err := setup.All(
		setup.Step{Name: "its rules", Do: func() error { return rules.SetupWithManager(mgr) }},
		setup.Step{Name: "what workloads are told", Do: func() error { return teller.SetupWithManager(mgr) }},
		setup.Step{Name: "what the gate knows", Do: func() error { return gate.Feed(ctx, mgr.GetCache()) }},
		setup.Step{Name: "its readiness", Do: func() error { return mgr.AddReadyzCheck("gate", gate.Ready) }},
	); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(webhookconfig.Path, &webhook.Drain)
	return nil
}
