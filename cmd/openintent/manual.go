package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// manualCommand prints the manual page, which packages for Linux install.
type manualCommand struct{}

// Help says how to read the page without installing it.
func (manualCommand) Help() string {
	return `Where the package has not installed it:

  openintent man >openintent.1 && man ./openintent.1`
}

// Run prints the page.
func (manualCommand) Run(parsed *kong.Context, to terminal) error {
	_, err := io.WriteString(to.stdout, manual(parsed.Model.Node, thisBuild()))
	return err
}

// manual writes what the program's help says as one manual page, in the language of man(7). The page changes with the program and with
// nothing else.
func manual(program *kong.Node, from build) string {
	day := ""
	if from.date != unknown {
		day, _, _ = strings.Cut(from.date, "T")
	}
	p := &manualPage{shared: make(map[string][]*kong.Flag)}
	p.line(`.TH OPENINTENT 1 "%s" "openintent %s" "User Commands"`, day, version)
	p.line(".nh\n.ad l") // names are not broken, and lines are not stretched
	p.section("Name")
	p.line(`openintent \- %s`, roff("server and command line for channels and messages between agents"))
	p.section("Synopsis")
	p.line(`.B openintent`)
	p.line(`.I command`)
	p.line(`[flags]`)
	p.section("Description")
	p.paragraphs(program.Help)
	p.section("Options")
	p.flags(program.Flags)
	p.section("Commands")
	p.commands(program)
	for _, group := range p.groups {
		p.section(group + " flags")
		p.flags(p.shared[group])
	}
	p.section("Exit status")
	p.paragraphs(strings.TrimPrefix(commands{}.Help(), "Exit codes:\n\n"))
	return p.text.String()
}

// manualPage is a manual page that is being written.
type manualPage struct {
	text strings.Builder
	// shared are the flags of the groups that several commands have. Each is described once, behind the commands.
	shared map[string][]*kong.Flag
	// groups are their titles, in the order in which commands mention them.
	groups []string
}

func (p *manualPage) line(format string, arguments ...any) {
	_, _ = fmt.Fprintf(&p.text, format+"\n", arguments...)
}

func (p *manualPage) section(title string) { p.line(`.SH "%s"`, roff(strings.ToUpper(title))) }

// commands describes all commands, under the titles that the help has for them.
func (p *manualPage) commands(program *kong.Node) {
	var titles []string
	under := make(map[string][]*kong.Node)
	for _, leaf := range program.Leaves(true) {
		title := leaf.ClosestGroup().Title
		if under[title] == nil {
			titles = append(titles, title)
		}
		under[title] = append(under[title], leaf)
	}
	for _, title := range titles {
		p.line(`.SS "%s"`, roff(title))
		for _, leaf := range under[title] {
			p.command(leaf)
		}
	}
}

// command describes one command with the arguments and flags that it does not share with others.
func (p *manualPage) command(leaf *kong.Node) {
	p.line(`.TP`)
	p.line(`\fB%s\fR`, roff(leaf.Summary()))
	p.line(`%s`, roff(leaf.Help))
	p.line(`.RS`)
	p.paragraphs(leaf.Detail)
	for _, positional := range leaf.Positional {
		if positional.Help != "" {
			p.item(positional.Summary(), positional.Help)
		}
	}
	var own []*kong.Flag
	var titles []string
	for _, flag := range leaf.Flags {
		if flag.Hidden {
			continue
		}
		if flag.Group == nil {
			own = append(own, flag)
			continue
		}
		if n := len(titles); n == 0 || titles[n-1] != flag.Group.Title {
			titles = append(titles, flag.Group.Title)
		}
		p.share(flag)
	}
	p.flags(own)
	if len(titles) > 0 {
		p.line(`.PP`)
		p.line(`Flags that are described below: %s.`, roff(strings.Join(titles, ", ")))
	}
	p.line(`.RE`)
}

// share notes a flag of a group, unless another command has one of the same name there.
func (p *manualPage) share(flag *kong.Flag) {
	group := flag.Group.Title
	if p.shared[group] == nil {
		p.groups = append(p.groups, group)
	}
	for _, known := range p.shared[group] {
		if known.Name == flag.Name {
			return
		}
	}
	p.shared[group] = append(p.shared[group], flag)
}

// flags describes flags, as the help does.
func (p *manualPage) flags(flags []*kong.Flag) {
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		name := flag.Summary()
		if flag.Short != 0 {
			name = fmt.Sprintf("-%c, %s", flag.Short, name)
		}
		p.item(name, cmp.Or(kong.DefaultHelpValueFormatter(flag.Value), flag.Help))
	}
}

func (p *manualPage) item(name, help string) {
	p.line(`.TP`)
	p.line(`\fB%s\fR`, roff(name))
	p.line(`%s`, roff(help))
}

// paragraphs writes a text of the help. What is indented there, such as a command or a table, keeps its lines.
func (p *manualPage) paragraphs(text string) {
	exact := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if indented != exact && line != "" {
			p.line("%s", map[bool]string{true: ".PP\n.nf", false: ".fi\n.PP"}[indented])
			exact = indented
		} else if line == "" && !exact {
			p.line(`.PP`)
			continue
		}
		p.line(`%s`, roff(line))
	}
	if exact {
		p.line(`.fi`)
	}
}

// roff writes a text so that man shows it as it is: nothing in it is a request or an escape, and a dash is the one that people type.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`, `'`, `\(aq`, "`", "\\`", `^`, `\(ha`, `~`, `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
