// Package archive writes folders as tar files whose bytes depend on nothing but the names, the modes and the content of
// the files: not on when, by whom and where they were made.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Tar writes the files below a folder to w in the order of their names, each under the prefix and with the time given.
func Tar(w io.Writer, folder fs.FS, prefix string, modified time.Time) error {
	out := tar.NewWriter(w)
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		return File(out, path.Join(prefix, name), 0o644, modified, content)
	})
	return errors.Join(err, out.Close())
}

// File adds a file of root's to a tar file.
func File(out *tar.Writer, name string, mode int64, modified time.Time, content []byte) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: modified, Format: tar.FormatPAX}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err := out.Write(content)
	return err
}

// Write makes a file of what write writes. The file appears when it is complete.
func Write(path string, write func(io.Writer) error) error {
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return os.Rename(path+".new", path)
}

// Gzip compresses what write writes.
func Gzip(w io.Writer, write func(io.Writer) error) error {
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}
