package members

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsAbsentKind says whether an API server does not serve the kind at all, rather than not having the object.
func IsAbsentKind(err error) bool {
	if apimeta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonNotFound &&
		(status.Status().Details == nil || status.Status().Details.Name == "")
}

// IsMissingNamespace says whether an API server refused to create an object since the namespace does not exist.
func IsMissingNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		status.Status().Details.Kind == "namespaces"
}
