package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPack reads both kinds of archives back, and makes them twice: the same files give the same bytes.
func TestPack(t *testing.T) {
	files := []file{{"LICENSE", 0o644, []byte("free")}, {"kubectl-fedquota", 0o755, []byte("program")}}
	want := map[string]string{"LICENSE": "free -rw-r--r--", "kubectl-fedquota": "program -rwxr-xr-x"}
	for name, read := range map[string]func([]byte) (map[string]string, error){"tar": readTar, "zip": readZip} {
		t.Run(name, func(t *testing.T) {
			var first, second bytes.Buffer
			for _, out := range []*bytes.Buffer{&first, &second} {
				if err := pack(out, name == "zip", time.Unix(1700000000, 0).UTC(), files); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Error("the same files give other bytes")
			}
			got, err := read(first.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlatforms names all six, or one.
func TestPlatforms(t *testing.T) {
	if n := len(platforms("")); n != 6 {
		t.Errorf("there are %d platforms", n)
	}
	if one := platforms("linux/arm64"); len(one) != 1 || one[0].Architecture != "arm64" {
		t.Errorf("got %v", one)
	}
}

func readTar(content []byte) (map[string]string, error) {
	plain, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for in := tar.NewReader(plain); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		files[header.Name] = string(text) + " " + header.FileInfo().Mode().String()
	}
}

func readZip(content []byte) (map[string]string, error) {
	in, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range in.File {
		opened, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(opened)
		if err != nil {
			return nil, err
		}
		files[f.Name] = string(text) + " " + f.Mode().String()
	}
	return files, nil
}
