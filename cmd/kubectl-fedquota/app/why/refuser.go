package why

import (
	"fmt"
	"regexp"
	"strings"
)

// refuser is who has refused a pod.
type refuser struct {
	// who says it in words.
	who string
	// quota is the name of the quota, if it was one.
	quota string
	// advice says what to do, unless looking at the quotas tells more.
	advice string
}

var (
	exceeded = regexp.MustCompile(`exceeded quota: ([^,\s]+),`)
	failed   = regexp.MustCompile(`failed quota: ([^:\s]+): must specify (.*)`)
	webhook  = regexp.MustCompile(`admission webhook "([^"]+)" denied`)
	policy   = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
)

// policies are those of fedquota that refuse pods, or their charge.
var policies = map[string]refuser{
	"fedquota-requirement": {who: "A QuotaRequirement demands a FederatedQuota that covers it, and none does here",
		advice: "Have those who own budgets on the hub make one for this namespace, of the scope or resource that the message names."},
	"fedquota-fence": {who: "The limit went down while it was created",
		advice: "Its controller tries again by itself, and then gets the ordinary answer."},
}

// refuserOf reads out of what an API server has answered who refused.
func refuserOf(message string) refuser {
	if found := failed.FindStringSubmatch(message); found != nil {
		return refuser{fmt.Sprintf("Quota %s refuses pods that do not say what they ask for: %s", found[1], found[2]), found[1],
			"Set these requests and limits in the pod template, or have a LimitRange set defaults."}
	}
	if found := exceeded.FindStringSubmatch(message); found != nil {
		return refuser{who: "quota " + found[1], quota: found[1]}
	}
	switch {
	case webhook.MatchString(message):
		name := webhook.FindStringSubmatch(message)[1]
		return refuser{who: "Webhook " + name + " refuses it", advice: "Ask those who run that webhook: no quota is in the way."}
	case policy.MatchString(message):
		name := policy.FindStringSubmatch(message)[1]
		if own, ok := policies[name]; ok {
			return own
		}
		return refuser{who: "ValidatingAdmissionPolicy " + name + " refuses it", advice: "Change what its message names: no quota is in the way."}
	case strings.Contains(message, "usage per Container"), strings.Contains(message, "usage per Pod"),
		strings.Contains(message, "limit to request ratio"):
		return refuser{who: "A LimitRange refuses it", advice: "Change what the pod asks for, or the LimitRange: kubectl get limitrange -o yaml"}
	case strings.Contains(message, "violates PodSecurity"):
		return refuser{who: "Pod security refuses it", advice: "Change the pod template to what the namespace enforces."}
	case strings.Contains(message, "serviceaccount") && strings.Contains(message, "not found"):
		return refuser{who: "Its ServiceAccount is missing", advice: "Create it, or name another one in the pod template."}
	}
	return refuser{who: "The API server refuses it", advice: "See the message."}
}
