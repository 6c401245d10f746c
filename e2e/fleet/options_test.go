package fleet

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestProgramsOfMembers(t *testing.T) {
	t.Setenv(MemberAssetsVariable, strings.Join([]string{"/old", "/older"}, string(os.PathListSeparator)))
	options, err := Options{
		Dir: "/fleet", Assets: "/new", Members: []ControlPlaneOptions{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", Assets: "/mine"}},
	}.complete()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(options)
	var folders []string
	for _, c := range append([]*ControlPlane{f.Hub}, f.Members...) {
		folders = append(folders, c.assets)
	}
	if want := []string{"/new", "/old", "/older", "/old", "/mine"}; !slices.Equal(folders, want) {
		t.Errorf("programs of hub and members are taken from %v, want %v", folders, want)
	}
}
