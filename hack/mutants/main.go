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
	only := flag.String(
		"run", "", "take out only the protections whose name, place or test matches this regular expression",
	)
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

// run takes out what is selected, and writes the table if that was all there is.
func run(ctx context.Context, root, only, write string) error {
	if only != "" && write != "" {
		return errors.New("the table is of all protections: -write goes without -run")
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	chosen := selected(all(), pattern)
	if len(chosen) == 0 {
		return errors.New("no protection matches")
	}
	if err := attack(ctx, root, chosen); err != nil || write == "" {
		return err
	}
	return os.WriteFile(filepath.Join(root, write), []byte(document(all())), 0o600)
}

// attack takes the protections out, one after another, in a copy of the tree. Neither that nor what its tests leave
// behind stays.
func attack(ctx context.Context, root string, list []mutant) (err error) {
	folder, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endChildren(), os.RemoveAll(folder)) }()
	if err := adoptOrphans(); err != nil {
		return err
	}
	copied := filepath.Join(folder, "tree")
	if err := copyTree(root, copied); err != nil {
		return err
	}
	if err := allPass(ctx, copied, list); err != nil {
		return err
	}
	functions, err := readFunctions(copied)
	if err != nil {
		return err
	}
	survivors := 0
	for i, m := range list {
		start, result := time.Now(), "fails, as it should"
		if err := m.judge(ctx, copied, functions); err != nil {
			result = err.Error()
			survivors++
		}
		if err := errors.Join(ctx.Err(), endChildren()); err != nil {
			return err
		}
		fmt.Printf(
			"%d of %d  %3.0f s  %s  %-95s  %s\n", i+1, len(list), time.Since(start).Seconds(), result, m.protection,
			m.testName(),
		)
	}
	if survivors > 0 {
		return fmt.Errorf("%d of %d protections could go without the test named for them failing", survivors, len(list))
	}
	fmt.Printf("%d protections taken out, and each time the test named for it failed\n", len(list))
	return nil
}

func selected(list []mutant, pattern *regexp.Regexp) []mutant {
	var chosen []mutant
	for _, m := range list {
		if pattern.MatchString(m.protection) || pattern.MatchString(m.place()) || pattern.MatchString(m.test) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}
