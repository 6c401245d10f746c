package main

import (
	"io"
)

func printTables(out io.Writer, folder string, results map[string]result) error { return nil }
