// The program makes a static site of the Markdown pages of the repository, with search. It fails, and says where, if a
// link leads nowhere, or if no link leads to a page.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "Folder of the repository.")
	to := flag.String("to", "bin/site", "Folder to write the site into.")
	source := flag.String("source", "https://github.com/fedquota/fedquota/blob/main/", "Where files are shown that are no pages.")
	flag.Parse()
	if err := run(*root, *to, *source); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, to, source string) error {
	s, err := read(os.DirFS(root))
	if err != nil {
		return err
	}
	problems, err := s.check()
	if err := errors.Join(append(problems, err)...); err != nil {
		return err
	}
	return s.write(to, source)
}
