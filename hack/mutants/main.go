// The mutants program shows that every protection of the protocol is needed, and that a test knows it: it takes out one
// protection at a time, in a copy of the tree, and demands that the test named for it fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	root := flag.String("root", ".", "folder of the project")
	only := flag.String("run", "", "take out only the protections whose name, file or test matches this regular expression")
	write := flag.String("write", "", "file to write the table of protections to, if all tests failed as they should")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *only, *write)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run takes out what is selected, one after another, in a copy of the tree that goes when it ends.
func run(ctx context.Context, root, only, write string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	chosen := selected(all(), pattern)
	if len(chosen) == 0 {
		return errors.New("no protection matches")
	}
	copied, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied) //nolint:errcheck // it is a copy in the folder for what may go
	if err := copyTree(root, copied); err != nil {
		return err
	}
	if err := allPass(ctx, copied, chosen); err != nil {
		return err
	}
	survivors := 0
	for _, m := range chosen {
		start := time.Now()
		verdict := m.judge(ctx, copied)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result := "fails, as it should"
		if verdict != nil {
			result = verdict.Error()
			survivors++
		}
		fmt.Fprintf(os.Stdout, "%3.0f s  %-20s  %-95s  %s\n", time.Since(start).Seconds(), result, m.protection, m.testName())
	}
	if survivors > 0 {
		return fmt.Errorf("%d of %d protections could go without the test named for them failing", survivors, len(chosen))
	}
	fmt.Fprintf(os.Stdout, "%d protections taken out, and each time the test named for it failed\n", len(chosen))
	if write == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(root, write), []byte(document(all())), 0o600)
}

func selected(list []mutant, pattern *regexp.Regexp) []mutant {
	var chosen []mutant
	for _, m := range list {
		if pattern.MatchString(m.protection) || pattern.MatchString(m.file) || pattern.MatchString(m.test) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}
