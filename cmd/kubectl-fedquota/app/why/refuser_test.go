package why

import (
	"strings"
	"testing"
)

// TestRefuserOf reads who refused out of what API servers answer.
func TestRefuserOf(t *testing.T) {
	const denied = `pods "web-1" is forbidden: ValidatingAdmissionPolicy '%' with binding '%' denied request: `
	by := func(policy, message string) string { return strings.ReplaceAll(denied, "%", policy) + message }
	for message, want := range map[string]struct {
		who, quota string
		advice     bool
	}{
		`pods "a" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3`:             {"quota compute", "compute", false},
		`admission webhook "pods.fedquota.io" denied the request: exceeded quota: compute, requested: pods=1, used: …`: {"quota compute", "compute", false},
		`pods "a" is forbidden: failed quota: compute: must specify requests.cpu for: main`:                            {"Quota compute refuses", "compute", true},
		`admission webhook "images.example.com" denied the request: no such image`:                                     {"Webhook images.example.com", "", true},
		by("fedquota-requirement", "insufficient quota to match these scopes: [{PriorityClass In [gold]}]; …"):         {"A QuotaRequirement", "", true},
		by("fedquota-fence", "exceeded quota: the limit is being lowered"):                                             {"The limit went down", "", true},
		by("no-latest", "use a tag"): {"ValidatingAdmissionPolicy no-latest", "", true},
		`pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2`:                            {"A LimitRange", "", true},
		`pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`:                  {"Pod security", "", true},
		`pods "a" is forbidden: error looking up service account team-a/robot: serviceaccount "robot" not found`: {"Its ServiceAccount", "", true},
		`the server is currently unable to handle the request`:                                                   {"The API server", "", true},
	} {
		got := refuserOf(message)
		if !strings.Contains(got.who, want.who) || got.quota != want.quota || want.advice && got.advice == "" {
			t.Errorf("%s\ngives %+v, want %+v", message, got, want)
		}
	}
}
