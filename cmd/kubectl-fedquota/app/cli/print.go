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
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	utilruntime.Must(command.RegisterFlagCompletionFunc(flag, complete))
}

// Output is the flag -o of a command whose answer is one value: json, yaml, or text if it is empty.
type Output string

// Bind adds the flag.
func (o *Output) Bind(command *cobra.Command) {
	command.Flags().VarP(o, "output", "o", "Output format: json or yaml.")
	CompleteWords(command, "output", "json", "yaml")
}

// String returns the format.
func (o *Output) String() string { return string(*o) }

// Type returns what the value of the flag is.
func (o *Output) Type() string { return "string" }

// Set takes a format.
func (o *Output) Set(format string) error {
	if format != "json" && format != "yaml" {
		return errors.New("must be json or yaml")
	}
	*o = Output(format)
	return nil
}

// Print prints a value as JSON or YAML, or has it printed as text.
func (o Output) Print(out io.Writer, value any, text func() error) error {
	switch o {
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
	return text()
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
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""},
	}}
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: content})
	}
	return printer.PrintObj(list, out)
}
