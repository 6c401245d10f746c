package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Span is a flag of a time that may be long: a duration, or days such as 30d.
type Span time.Duration

const day = 24 * time.Hour

// String returns the time as it is written.
func (s *Span) String() string {
	if d := time.Duration(*s); d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return time.Duration(*s).String()
}

// Type returns what the value of the flag is.
func (s *Span) Type() string { return "duration" }

// Set takes a time.
func (s *Span) Set(text string) error {
	duration, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var count int
		count, err = strconv.Atoi(days)
		duration = time.Duration(count) * day
	}
	if err != nil || duration <= 0 || duration > 100*366*day {
		return errors.New("must be a time such as 90m, 12h or 30d")
	}
	*s = Span(duration)
	return nil
}

// Patience is a flag of how long to wait, 0 for not at all.
type Patience time.Duration

// Bind adds the flag.
func (p *Patience) Bind(flags *pflag.FlagSet, by time.Duration, usage string) {
	*p = Patience(by)
	flags.Var(p, "timeout", usage)
}

// Poll looks twice a second whether something is done, for as long as it waits. The error is wait.Interrupted after that.
func (p *Patience) Poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, time.Second/2, time.Duration(*p), true, done)
}

// String returns the time as it is written.
func (p *Patience) String() string { return time.Duration(*p).String() }

// Type returns what the value of the flag is.
func (p *Patience) Type() string { return "duration" }

// Set takes a time.
func (p *Patience) Set(text string) error {
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 {
		return errors.New("must be a time such as 30s or 5m, or 0")
	}
	*p = Patience(duration)
	return nil
}
