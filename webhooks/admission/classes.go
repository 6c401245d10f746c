package admission

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// +kubebuilder:rbac:groups=resource.k8s.io,resources=deviceclasses,verbs=list

// mapped returns the extended resources that device classes stand for, if that matters for what a request is charged in
// any of the lanes. It is asked of the API server each time: claims are rare, classes few, and a cluster that has
// neither need not be watched for them. Without an answer native quota alone judges what depends on it.
func (g *Gate) mapped(ctx context.Context, request *Request, lanes []*lane) map[string]string {
	if request.Charge.Resource != nativequota.ResourceClaims || !anyExtended(lanes) {
		return nil
	}
	return g.classes.Get(func() map[string]string {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pace.LiveTimeout) // others wait for the same answer
		defer cancel()
		var classes resourcev1.DeviceClassList
		if g.Live.List(ctx, &classes) != nil {
			return nil
		}
		mapped := map[string]string{}
		for i := range classes.Items {
			if stands := classes.Items[i].Spec.ExtendedResourceName; stands != nil && *stands != "" {
				mapped[classes.Items[i].Name] = *stands
			}
		}
		return mapped
	})
}

// anyExtended says whether any lane limits extended resources.
func anyExtended(lanes []*lane) bool {
	for _, l := range lanes {
		for name := range l.Limits() {
			if nativequota.ChargesExtended(name) {
				return true
			}
		}
	}
	return false
}
