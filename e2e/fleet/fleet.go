package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

// startsPerCPU is how many control planes start at a time: a start is half work and half waiting.
const startsPerCPU = 2

// Fleet is a hub and its members.
type Fleet struct {
	// Dir is the fleet's folder.
	Dir string
	// Hub is the control plane with the Cluster API objects.
	Hub *ControlPlane
	// Members are the other control planes, in the order of the options.
	Members []*ControlPlane

	options Options

	mu       sync.Mutex
	programs []*Process
}

// Start starts a fleet and returns when all of it is ready. The context bounds the start alone. When it fails nothing
// is left running.
func Start(ctx context.Context, options Options) (*Fleet, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	if options.Dir, err = filepath.Abs(options.Dir); err != nil {
		return nil, err
	}
	if options.Assets, err = filepath.Abs(options.Assets); err != nil {
		return nil, err
	}
	if err := prepareFolder(ctx, options.Dir); err != nil {
		return nil, fmt.Errorf("prepare the fleet's folder: %w", err)
	}
	f := newFleet(options)
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fleet: %w", err), f.Stop())
	}
	return f, nil
}

// newFleet describes a fleet, not started yet.
func newFleet(options Options) *Fleet {
	f := &Fleet{Dir: options.Dir, options: options}
	f.Hub = f.newControlPlane(options.Hub)
	for _, member := range options.Members {
		if member.Controllers == nil {
			member.Controllers = MemberControllers()
		}
		f.Members = append(f.Members, f.newControlPlane(member))
	}
	return f
}

func (f *Fleet) newControlPlane(options ControlPlaneOptions) *ControlPlane {
	return &ControlPlane{
		Name:    options.Name,
		Dir:     filepath.Join(f.Dir, options.Name),
		options: options,
		assets:  cmp.Or(options.Assets, f.options.Assets),
		address: f.options.Address,
		detach:  f.options.Detach,
	}
}

// start brings up all control planes, a few at a time, and tells the hub of its members.
func (f *Fleet) start(ctx context.Context) error {
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, startsPerCPU*runtime.NumCPU())
	err := f.forEach(func(c *ControlPlane) error {
		slots <- struct{}{}
		defer func() { <-slots }()
		err := f.startControlPlane(starting, c)
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			return nil // Another one has failed, and says why.
		}
		if err != nil {
			cancel()
		}
		return err
	})
	if err != nil || len(f.options.CRDPaths) == 0 {
		return err
	}
	return f.register(ctx)
}

// startControlPlane brings up one control plane; on the hub it installs the CRDs.
func (f *Fleet) startControlPlane(ctx context.Context, c *ControlPlane) error {
	f.progress("%s: starting", c.Name)
	if err := c.start(ctx); err != nil {
		return err
	}
	f.progress("%s: ready", c.Name)
	if c != f.Hub {
		return nil
	}
	return f.installCRDs()
}

// Member returns the member of the given name, or nil.
func (f *Fleet) Member(name string) *ControlPlane {
	for _, m := range f.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Program is a program to run beside the control planes.
type Program struct {
	// Name is the name of the process and of its log.
	Name string
	// Path is the file to run; Args and Env are its arguments and what its environment has beyond this process's own.
	Path string
	Args []string
	Env  []string
	// Ready tells whether the program is ready. Without it, one that was started counts as ready.
	Ready func(context.Context) error
	// Revive says whether the program is started again after it has ended by itself, as a Deployment does.
	Revive bool
}

// Run starts a program that lives no longer than the fleet, and waits until it is ready. Its log and its working
// folder are in the fleet's folder. Its name is its own among all that the fleet has run. A program that does not get
// ready is ended and returned with the error, to be restarted or not.
func (f *Fleet) Run(ctx context.Context, program Program) (*Process, error) {
	path, err := filepath.Abs(program.Path)
	if err != nil {
		return nil, err
	}
	p := newProcess(command{
		name:   program.Name,
		path:   path,
		args:   program.Args,
		env:    program.Env,
		dir:    f.Dir,
		ready:  program.Ready,
		revive: program.Revive,
	}, filepath.Join(f.Dir, programsName), f.options.Detach)
	if err := f.addProgram(p); err != nil {
		return nil, err
	}
	f.progress("%s: starting", p.Name)
	return p, p.start(ctx)
}

// addProgram puts a program under its name, which also names its files.
func (f *Fleet) addProgram(p *Process) error {
	if problems := validation.IsDNS1123Subdomain(p.Name); len(problems) > 0 {
		return fmt.Errorf("program %q: %s", p.Name, strings.Join(problems, ", "))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range f.programs {
		if other.Name == p.Name {
			return fmt.Errorf("program %q: the name is taken", p.Name)
		}
	}
	f.programs = append(f.programs, p)
	return nil
}

// Stop ends all processes of the fleet: the programs first, then the control planes. Its files stay.
func (f *Fleet) Stop() error {
	f.mu.Lock()
	programs := f.programs
	f.mu.Unlock()
	return errors.Join(stopAll(programs), f.forEach((*ControlPlane).kill))
}

// forEach does something with all control planes at once.
func (f *Fleet) forEach(do func(*ControlPlane) error) error {
	planes := append([]*ControlPlane{f.Hub}, f.Members...)
	return inParallel(planes, do)
}

// stopAll stops processes at once.
func stopAll(processes []*Process) error { return inParallel(processes, (*Process).Stop) }

// inParallel does something with all items at once and joins the errors.
func inParallel[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	var group sync.WaitGroup
	for i, item := range items {
		group.Go(func() { errs[i] = do(item) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// progress tells of a step.
func (f *Fleet) progress(format string, args ...any) {
	if f.options.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options.Progress(fmt.Sprintf(format, args...))
}
