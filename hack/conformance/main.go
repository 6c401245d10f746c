// The conformance program runs the Kubernetes project's own end-to-end tests of ResourceQuota in a member with the
// agent, its policies and CRDs installed, and fails unless all of them pass. With -shares each of their namespaces gets
// a share.
package main

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// wanted is how many specs of ResourceQuota Kubernetes v1.36 has.
const wanted = 28

const (
	passed = "passed"
	failed = "failed"
)

const focus = `\[sig-api-machinery\] ResourceQuota`

func main() {
	root := flag.String("root", ".", "folder of the project: of config/ and bin/")
	suite := flag.String("suite", "", "path of Kubernetes' e2e.test")
	dir := flag.String("dir", "bin/conformance", "folder of the fleet and of the report")
	shares := flag.Bool("shares", false, "give each namespace of the suite a share of a generous budget")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *suite, *dir, *shares)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run starts a hub and a member, runs the suite in the member, and ends both.
func run(ctx context.Context, root, suite, dir string, shares bool) (err error) {
	for _, path := range []*string{&root, &suite, &dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	s, err := system.Start(ctx, system.Options{Root: root, Fleet: fleet.Options{
		Dir:      filepath.Join(dir, "fleet"),
		Progress: func(step string) { fmt.Println(step) },
		Members: []fleet.ControlPlaneOptions{
			{
				Name: "member",
				Controllers: append(
					fleet.MemberControllers(), "persistentvolume-binder-controller", "persistentvolume-protection-controller",
				),
				ResourceQuotaSyncPeriod: 10 * time.Second,
			},
		},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()

	if shares {
		giving, stop := context.WithCancel(ctx)
		given := make(chan error, 1)
		go func() { given <- judgeShares(giving, s) }()
		defer func() {
			stop()
			err = errors.Join(err, <-given)
		}()
	}
	report := filepath.Join(dir, "report")
	fmt.Println("running Kubernetes' end-to-end tests of ResourceQuota, about 4 minutes")
	command := exec.CommandContext(ctx, suite, "--kubeconfig="+s.Members[0].Kubeconfig, "--provider=skeleton",
		"--num-nodes=1", "--allowed-not-ready-nodes=-1", "--ginkgo.focus="+focus, "--ginkgo.no-color", "--report-dir="+report)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	log, err := os.Create(filepath.Join(dir, "e2e.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the report counts, the log is for whoever reads it
	command.Stdout, command.Stderr = log, log
	suiteErr := command.Run()
	return errors.Join(judge(report), suiteErr)
}

// judgeShares gives namespaces shares until the context ends, and fails unless most had one in force: some specs end
// before that.
func judgeShares(ctx context.Context, s *system.System) error {
	g, err := newGiver(ctx, s)
	if err == nil {
		err = g.give(ctx)
	}
	if err != nil {
		return err
	}
	given, enforced := len(g.suite), len(g.enforced.Intersection(g.suite))
	fmt.Printf("a share was in force in %d of %d namespaces\n", enforced, given)
	if given < wanted || enforced < given/2 {
		return fmt.Errorf("want one in most of at least %d namespaces", wanted)
	}
	return nil
}

// result is the part of a JUnit report that counts.
type result struct {
	Suites []struct {
		Cases []struct {
			Name   string `xml:"name,attr"`
			Status string `xml:"status,attr"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// judge counts the specs that passed and failed, and fails unless all of them passed.
func judge(report string) error {
	files, err := filepath.Glob(filepath.Join(report, "junit*.xml"))
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, file := range files {
		if err := count(file, counts); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	fmt.Printf("%d passed, %d failed\n", counts[passed], counts[failed])
	if counts[passed] != wanted || counts[failed] != 0 {
		return fmt.Errorf("want %d passed and none failed", wanted)
	}
	return nil
}

// count adds up the specs of a report by what became of them, but for those that were not asked for.
func count(file string, counts map[string]int) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r result
	if err := xml.Unmarshal(content, &r); err != nil {
		return err
	}
	for _, suite := range r.Suites {
		for _, c := range suite.Cases {
			switch {
			case !strings.HasPrefix(c.Name, "[It]") || c.Status == "skipped":
			case c.Status == passed:
				counts[passed]++
			default:
				counts[failed]++
				fmt.Println("FAILED", c.Name)
			}
		}
	}
	return nil
}
