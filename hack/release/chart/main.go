// The program makes the Helm chart out of the manifests of config/default, and compares what Helm makes of the chart
// with them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/hack/release/internal/chart"
)

type options struct {
	source, to, version string
	rendered            string
	// more are files of manifests that are not in config/default: a value lets each kind in.
	more []string
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", "config/chart", "Folder with what of the chart is not made of manifests.")
	flag.StringVar(&o.to, "to", "", "Folder to write the chart into.")
	flag.StringVar(&o.version, "version", "latest", "Version of the image.")
	flag.StringVar(&o.rendered, "compare", "", "File with what Helm made of the chart: compare it, and write nothing.")
	flag.Parse()
	o.more = flag.Args()
	if err := run(o, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// run reads the manifests from in.
func run(o options, in io.Reader) error {
	manifests, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	objects, err := chart.Decode(manifests)
	if err != nil {
		return err
	}
	for _, file := range o.more {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		more, err := chart.Decode(content)
		if err != nil {
			return err
		}
		objects = append(objects, more...)
	}
	if o.rendered != "" {
		return o.compare(objects)
	}
	if err := os.RemoveAll(o.to); err != nil {
		return err
	}
	if err := os.CopyFS(o.to, os.DirFS(o.source)); err != nil {
		return err
	}
	return errors.Join(o.write(objects), o.setVersion())
}

func (o options) write(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		file, text, err := chart.Template(object)
		if err != nil {
			return err
		}
		path := filepath.Join(o.to, "templates", file)
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("two objects make %s", path)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// setVersion sets the versions of the chart and of the image. One that is none of Helm's, such as a commit, comes
// behind 0.0.0.
func (o options) setVersion() error {
	path := filepath.Join(o.to, "Chart.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	about := map[string]any{}
	if err := yaml.Unmarshal(content, &about); err != nil {
		return err
	}
	version, released := strings.CutPrefix(o.version, "v")
	if !released {
		version = "0.0.0-g" + o.version
	}
	about["version"], about["appVersion"] = version, o.version
	if content, err = yaml.Marshal(about); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// compare sees that Helm makes the same of the chart, but for what keeps the CRDs.
func (o options) compare(objects []*unstructured.Unstructured) error {
	content, err := os.ReadFile(o.rendered)
	if err != nil {
		return err
	}
	rendered, err := chart.Decode(content)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(byName(objects), byName(rendered)); diff != "" {
		return fmt.Errorf("the chart installs something else than config/all:\n%s", diff)
	}
	fmt.Printf("The chart installs the %d objects of config/all.\n", len(objects))
	return nil
}

func byName(objects []*unstructured.Unstructured) map[string]any {
	all := make(map[string]any, len(objects))
	for _, object := range objects {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		if len(object.GetAnnotations()) == 0 { // it was the only one
			object.SetAnnotations(nil)
		}
		all[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return all
}
