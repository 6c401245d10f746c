package cli

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// PrintFlags returns the flags of a command that lists: -o json, yaml, name and the like, and wide.
func PrintFlags() *genericclioptions.PrintFlags {
	return genericclioptions.NewPrintFlags("").WithTypeSetter(scheme)
}

// CompleteOutput completes -o.
func CompleteOutput(command *cobra.Command) {
	flag := command.Flags().Lookup("output")
	flag.Usage = "Output format: wide, json, yaml, name, go-template, jsonpath and the like."
	CompleteWords(command, "output", "wide", "json", "yaml", "name")
}

// CompleteWords completes a flag with fixed words.
func CompleteWords(command *cobra.Command, flag string, words ...string) {
	utilruntime.Must(command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// Encode prints a value as JSON or YAML.
func Encode(out io.Writer, format string, value any) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "    ")
		return encoder.Encode(value)
	case "yaml":
		content, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(append([]byte("---\n"), content...))
		return err
	}
	return errors.New("must be json or yaml")
}

// IsTable says whether people are to read the output.
func IsTable(flags *genericclioptions.PrintFlags) bool {
	return *flags.OutputFormat == "" || *flags.OutputFormat == "wide"
}

// PrintList prints objects as kubectl get does: a List, or the name of each.
func PrintList(flags *genericclioptions.PrintFlags, objects []client.Object, out io.Writer) error {
	printer, err := flags.ToPrinter()
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}}
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: content})
	}
	return printer.PrintObj(list, out)
}
