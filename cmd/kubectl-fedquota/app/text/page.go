// Package text lays out what commands print: no line is wider than a page, and colours are for terminals alone.
package text

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Width is that of a page.
const Width = 120

// Style is how a piece of text looks on a terminal.
type Style string

// Styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// IsTerminal says whether a person reads a stream who may want colours.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Page is what a command prints to.
type Page struct {
	Out   io.Writer
	Color bool
	err   error
}

// Printf prints, unless that has failed before.
func (p *Page) Printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, format, args...)
	}
}

// Err returns why printing has failed.
func (p *Page) Err() error { return p.err }

// Paint returns text in a style.
func (p *Page) Paint(style Style, text string) string {
	if !p.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Paragraph prints words behind an indent, in as many lines as they need.
func (p *Page) Paragraph(indent int, style Style, words string) {
	for _, line := range Wrap(words, Width-indent) {
		p.Printf("%s%s\n", strings.Repeat(" ", indent), p.Paint(style, line))
	}
}

// Field prints a name and what it is, as kubectl describe does.
func (p *Page) Field(name, value string) {
	const column = 12
	lines := Wrap(value, Width-column)
	for i, line := range lines {
		if i == 0 {
			p.Printf("%-*s%s\n", column, name+":", line)
		} else {
			p.Printf("%*s%s\n", column, "", line)
		}
	}
}

// Wrap breaks words into lines of at most so many columns. A word that is longer is broken, too.
func Wrap(words string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(words) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
