// Package pack makes shares small in caches: what they say goes into one string. It hides that in a field of the
// object, since a cache of controller-runtime holds nothing else. It can go once such a cache can hold a type of its
// own.
package pack

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// packedMark begins what is packed. No API server gives an object such a name.
const packedMark = "\x00packed:"

// Share makes a share small for the cache of a connection, which holds hundreds of thousands of them in a large fleet:
// a map of quantities takes more than half a kilobyte. What it says goes into one string, in a field that says nothing
// of an object that has its name. Other objects, and what cannot be packed, stay as they are. It is a transform of
// client-go.
func Share(object any) (any, error) {
	share, ok := object.(*quotav1alpha1.QuotaShare)
	if !ok || isPacked(share) {
		return object, nil
	}
	share.ManagedFields = nil
	var p packer
	if err := p.share(share); err != nil {
		return share, nil //nolint:nilerr // it takes more space, and that is all
	}
	about := metav1.ObjectMeta{
		Namespace: share.Namespace, Name: share.Name, UID: share.UID,
		ResourceVersion: share.ResourceVersion, Generation: share.Generation,
		CreationTimestamp: share.CreationTimestamp, DeletionTimestamp: share.DeletionTimestamp,
		GenerateName: packedMark + string(p.bytes),
	}
	return &quotav1alpha1.QuotaShare{ObjectMeta: about}, nil
}

func isPacked(share *quotav1alpha1.QuotaShare) bool {
	return strings.HasPrefix(share.GenerateName, packedMark)
}

// Unpack returns a share as it was before it was packed, and a copy of one that is not. It shares nothing that can be
// changed with what is cached.
func Unpack(share *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
	if !isPacked(share) {
		return share.DeepCopy(), nil
	}
	u := unpacker{rest: share.GenerateName[len(packedMark):]}
	whole := &quotav1alpha1.QuotaShare{TypeMeta: share.TypeMeta, ObjectMeta: *share.ObjectMeta.DeepCopy()}
	whole.GenerateName = ""
	u.share(whole)
	if u.err != nil {
		return nil, fmt.Errorf("unpacking share %s/%s: %w", share.Namespace, share.Name, u.err)
	}
	return whole, nil
}

// remainder is what is seldom there, and packed as JSON.
type remainder struct {
	Prefix     string                         `json:"p,omitempty"`
	Finalizers []string                       `json:"f,omitempty"`
	Labels     map[string]string              `json:"l,omitempty"`
	Owners     []metav1.OwnerReference        `json:"o,omitempty"`
	Spec       quotav1alpha1.QuotaShareSpec   `json:"s,omitzero"`
	Status     quotav1alpha1.QuotaShareStatus `json:"t,omitzero"`
}

// usualFinalizers are those of a share that is as the hub makes it. They are not packed.
var usualFinalizers = []string{quotav1alpha1.Finalizer}

// lists are the quantities of a share, and numbers its other numbers, in the order in which they are packed.
func lists(
	s *quotav1alpha1.QuotaShareSpec, t *quotav1alpha1.QuotaShareStatus,
) []*map[corev1.ResourceName]resource.Quantity {
	return []*map[corev1.ResourceName]resource.Quantity{
		&s.Hard, &s.MostAllocatable, &s.Fleet.Budget, &s.Fleet.Used, &t.Hard, &t.Used, &t.Demand,
	}
}

func numbers(s *quotav1alpha1.QuotaShareSpec, t *quotav1alpha1.QuotaShareStatus) []*int64 {
	return []*int64{&s.Revision, &s.Pong, &t.ObservedGeneration, &t.Revision, &t.Ping}
}

// packer appends values to bytes.
type packer struct{ bytes []byte }

func (p *packer) share(share *quotav1alpha1.QuotaShare) error {
	left := remainder{
		Prefix: share.GenerateName, Labels: share.Labels, Owners: share.OwnerReferences,
		Spec: share.Spec, Status: share.Status,
	}
	p.flag(slices.Equal(share.Finalizers, usualFinalizers))
	if !slices.Equal(share.Finalizers, usualFinalizers) {
		left.Finalizers = share.Finalizers
	}
	p.texts(share.Annotations)
	for _, number := range numbers(&left.Spec, &left.Status) {
		p.number(*number)
		*number = 0
	}
	p.quantities(&left.Spec, &left.Status)
	p.conditions(left.Status.Conditions)
	left.Status.Conditions = nil
	admission := &left.Spec.Admission
	p.text(string(admission.Mode))
	p.text(string(admission.Poke))
	p.number(int64(ptr.Deref(admission.WaitMilliseconds, -1)))
	left.Spec.Admission = quotav1alpha1.Admission{}
	data, err := json.Marshal(left)
	if err == nil && string(data) != "{}" {
		p.bytes = append(p.bytes, data...)
	}
	return err
}

func (p *packer) number(n int64) { p.bytes = binary.AppendVarint(p.bytes, n) }

func (p *packer) flag(set bool) { p.bytes = append(p.bytes, map[bool]byte{true: 1}[set]) }

func (p *packer) text(s string) {
	p.number(int64(len(s)))
	p.bytes = append(p.bytes, s...)
}

// texts packs a map of texts.
func (p *packer) texts(list map[string]string) {
	p.number(int64(len(list)))
	for _, key := range slices.Sorted(maps.Keys(list)) {
		p.text(key)
		p.text(list[key])
	}
}

// quantities packs all lists: first the names that they have, and then each with the places of its names. It clears
// them.
func (p *packer) quantities(spec *quotav1alpha1.QuotaShareSpec, status *quotav1alpha1.QuotaShareStatus) {
	places := map[corev1.ResourceName]int64{}
	for _, list := range lists(spec, status) {
		for name := range *list {
			places[name] = 0
		}
	}
	names := slices.Sorted(maps.Keys(places))
	p.number(int64(len(names)))
	for place, name := range names {
		p.text(string(name))
		places[name] = int64(place)
	}
	for _, list := range lists(spec, status) {
		length := int64(len(*list))
		if *list == nil {
			length = -1
		}
		p.number(length)
		for _, name := range slices.Sorted(maps.Keys(*list)) {
			quantity := (*list)[name]
			p.number(places[name])
			p.text(quantity.String())
		}
		*list = nil
	}
}

func (p *packer) conditions(list []metav1.Condition) {
	p.number(int64(len(list)))
	for i := range list {
		c := &list[i]
		for _, text := range []string{c.Type, string(c.Status), c.Reason, c.Message} {
			p.text(text)
		}
		p.number(c.ObservedGeneration)
		p.flag(!c.LastTransitionTime.IsZero())
		p.number(c.LastTransitionTime.Unix())
	}
}

// unpacker takes values off what is packed. After an error it gives zero values.
type unpacker struct {
	rest string
	err  error
}

var errCut = errors.New("it is cut off")

func (u *unpacker) share(share *quotav1alpha1.QuotaShare) {
	usual := u.flag()
	annotations, spec, status := u.texts(), &quotav1alpha1.QuotaShareSpec{}, &quotav1alpha1.QuotaShareStatus{}
	for _, number := range numbers(spec, status) {
		*number = u.number()
	}
	u.quantities(spec, status)
	status.Conditions = u.conditions()
	spec.Admission.Mode = quotav1alpha1.AdmissionMode(u.text())
	spec.Admission.Poke = quotav1alpha1.PokeMode(u.text())
	if wait := u.number(); wait >= 0 {
		spec.Admission.WaitMilliseconds = new(int32(wait))
	}
	left := remainder{Spec: *spec, Status: *status}
	if u.err == nil && u.rest != "" {
		u.err = json.Unmarshal([]byte(u.rest), &left) // it has no field that was packed before
	}
	share.GenerateName, share.Annotations, share.Labels = left.Prefix, annotations, left.Labels
	share.OwnerReferences, share.Finalizers = left.Owners, left.Finalizers
	share.Spec, share.Status = left.Spec, left.Status
	if usual {
		share.Finalizers = slices.Clone(usualFinalizers)
	}
}

func (u *unpacker) number() int64 {
	var length int
	var n int64
	if u.err == nil {
		n, length = binary.Varint([]byte(u.rest[:min(len(u.rest), binary.MaxVarintLen64)]))
	}
	if length <= 0 {
		u.err = errors.Join(u.err, errCut)
		return 0
	}
	u.rest = u.rest[length:]
	return n
}

// length returns a number of bytes or items, each of which takes a byte at least.
func (u *unpacker) length() int {
	n := u.number()
	if n > int64(len(u.rest)) {
		u.err, n = errCut, 0
	}
	return int(n)
}

func (u *unpacker) flag() bool {
	if u.err != nil || u.rest == "" {
		u.err = errors.Join(u.err, errCut)
		return false
	}
	set := u.rest[0] == 1
	u.rest = u.rest[1:]
	return set
}

func (u *unpacker) text() string {
	length := max(0, u.length())
	s := u.rest[:length]
	u.rest = u.rest[length:]
	return s
}

func (u *unpacker) texts() map[string]string {
	length := u.length()
	if length <= 0 {
		return nil
	}
	list := make(map[string]string, length)
	for range length {
		key := u.text()
		list[key] = u.text()
	}
	return list
}

func (u *unpacker) quantities(spec *quotav1alpha1.QuotaShareSpec, status *quotav1alpha1.QuotaShareStatus) {
	names := make([]corev1.ResourceName, max(0, u.length()))
	for i := range names {
		names[i] = corev1.ResourceName(u.text())
	}
	for _, list := range lists(spec, status) {
		length := u.length()
		if length < 0 {
			continue
		}
		*list = make(map[corev1.ResourceName]resource.Quantity, length)
		for range length {
			place, text := u.number(), u.text()
			if place < 0 || place >= int64(len(names)) || u.err != nil {
				u.err = errors.Join(u.err, errCut)
				return
			}
			quantity, err := resource.ParseQuantity(text)
			u.err = errors.Join(u.err, err)
			(*list)[names[place]] = quantity
		}
	}
}

func (u *unpacker) conditions() []metav1.Condition {
	length := u.length()
	if length <= 0 {
		return nil
	}
	list := make([]metav1.Condition, length)
	for i := range list {
		c := &list[i]
		c.Type, c.Status, c.Reason, c.Message = u.text(), metav1.ConditionStatus(u.text()), u.text(), u.text()
		c.ObservedGeneration = u.number()
		known, seconds := u.flag(), u.number()
		if known {
			c.LastTransitionTime = metav1.Unix(seconds, 0)
		}
	}
	return list
}
