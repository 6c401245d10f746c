package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// Table is what a test has measured, for a page of docs.
type Table struct {
	rows []string
}

// Row adds a row.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = fmt.Sprint(cell)
	}
	t.rows = append(t.rows, strings.Join(texts, "\t"))
}

// Write writes the rows in columns to where make tables finds them, in the folder of the project.
func (t *Table) Write(root, name string) error {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(columns, strings.Join(t.rows, "\n"))
	folder := filepath.Join(root, "bin", "e2e", "tables")
	if err := errors.Join(err, columns.Flush(), os.MkdirAll(folder, 0o750)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text.String()), 0o600)
}
