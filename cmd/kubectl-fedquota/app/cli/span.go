package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"
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
