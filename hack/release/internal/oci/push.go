package oci

import (
	"context"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push pushes an image of all its platforms to its registry, with the credentials of the user's Docker configuration.
func Push(ctx context.Context, index v1.ImageIndex, repository, tag string) error {
	reference, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return err
	}
	return remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
