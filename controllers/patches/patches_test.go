package patches

import "testing"

func TestPointer(t *testing.T) {
	if got, want := Pointer("metadata", "labels", "a.io/b~c"), "/metadata/labels/a.io~1b~0c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
