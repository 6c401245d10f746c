package cli

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PrintFlags returns the flags of a command that lists: -o json, yaml, name and the like, and wide.
func PrintFlags() *genericclioptions.PrintFlags {
	return genericclioptions.NewPrintFlags("").WithTypeSetter(scheme)
}

// CompleteOutput completes -o.
func CompleteOutput(command *cobra.Command) {
	flag := command.Flags().Lookup("output")
	flag.Usage = "Output format: wide, json, yaml, name, go-template, jsonpath and the like."
	utilruntime.Must(command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp)))
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
