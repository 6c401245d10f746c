package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
)

// Exit codes, for scripts.
const (
	CodeFailed    = 1
	CodeNo        = 2
	CodeForbidden = 3
)

// ErrNo is the error of a command whose answer is no. It has been told already.
var ErrNo = errors.New("the answer is no")

// CodeOf returns the exit code that an error gives.
func CodeOf(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return CodeNo
	case isForbidden(err):
		return CodeForbidden
	}
	return CodeFailed
}

// isForbidden sees through what wraps errors.
func isForbidden(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == 403
}

// right is how API servers name the right that somebody lacks.
var right = regexp.MustCompile(`cannot (\S+) resource "(\S+)" in API group "(\S*)"(?: in the namespace "(\S+)"| at the cluster scope)?`)

// roles are those that give a right on the kinds of fedquota.
var roles = map[string]string{
	"get quota.fedquota.io":    "fedquota-federatedquota-viewer on the hub, fedquota-quotashare-viewer in a member, and view give it",
	"list quota.fedquota.io":   "fedquota-federatedquota-viewer on the hub, fedquota-quotashare-viewer in a member, and view give it",
	"watch quota.fedquota.io":  "fedquota-federatedquota-viewer on the hub, fedquota-quotashare-viewer in a member, and view give it",
	"patch quota.fedquota.io":  "fedquota-federatedquota-editor on the hub gives it",
	"create quota.fedquota.io": "fedquota-federatedquota-editor on the hub gives it",
}

// Explain returns what to tell of an error, or "" if there is nothing to tell. If a right is missing it is named first.
func Explain(err error) string {
	switch {
	case err == nil, errors.Is(err, ErrNo), errors.Is(err, context.Canceled):
		return ""
	case isForbidden(err):
		if missing := MissingRight(err); missing != "" {
			return fmt.Sprintf("you lack the right to %s\n%s", missing, err)
		}
	}
	if unanswered := new(url.Error); errors.As(err, &unanswered) {
		return err.Error() + ". If another API server is meant, see --context, --kubeconfig and --server"
	}
	return err.Error()
}

// MissingRight returns the right that an API server has refused somebody for, as "get pods in namespace team-a", or "".
func MissingRight(err error) string {
	found := right.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	verb, resource, group, namespace := found[1], found[2], found[3], found[4]
	text := verb + " " + resource
	if group != "" {
		text += "." + group
	}
	if namespace != "" {
		text += " in namespace " + namespace
	}
	if by := roles[verb+" "+group]; by != "" {
		text += ": " + by
	}
	return text
}

// Answered says whether an error is what an API server has answered, rather than that none did.
func Answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || apimeta.IsNoMatchError(err)
}
