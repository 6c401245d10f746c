package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var committed = time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)

// TestTar archives the same files, made at other times and with other rights, to the same bytes.
func TestTar(t *testing.T) {
	pack := func(mode os.FileMode, made time.Time) []byte {
		t.Helper()
		var out bytes.Buffer
		folder := fstest.MapFS{
			"b":   {Data: []byte("second"), Mode: mode, ModTime: made},
			"a/c": {Data: []byte("first"), Mode: mode, ModTime: made},
		}
		err := Gzip(&out, func(w io.Writer) error { return Tar(w, folder, "chart", committed) })
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if !bytes.Equal(pack(0o600, committed), pack(0o755, committed.Add(time.Hour))) {
		t.Error("other bytes")
	}
}

// TestTarOrder lists what is in an archive.
func TestTarOrder(t *testing.T) {
	var out bytes.Buffer
	folder := fstest.MapFS{"b": {Data: []byte("second")}, "a/c": {Data: []byte("first")}}
	if err := Tar(&out, folder, "chart", committed); err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(&out); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !file.ModTime.Equal(committed) || file.Mode != 0o644 {
			t.Errorf("%s is of %s, mode %o", file.Name, file.ModTime, file.Mode)
		}
		names = append(names, file.Name)
	}
	if diff := cmp.Diff([]string{"chart/a/c", "chart/b"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestWrite leaves an older file as it is when the new one cannot be made, and nothing beside it.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := Write(path, func(w io.Writer) error { _, err := w.Write([]byte("old")); return err }); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Write(path, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "old" {
		t.Errorf("%s, %v", content, err)
	}
}
