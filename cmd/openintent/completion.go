package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a script that teaches a shell to complete command lines.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help explains where the script goes.
func (completionCommand) Help() string {
	return `For the running shell only:

  bash   source <(openintent completion bash)
  zsh    source <(openintent completion zsh)
  fish   openintent completion fish | source

To keep it, put that line into ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.`
}

// The scripts ask the program itself for the candidates, so they stay right when the program changes. Where the
// program has no candidates, the shell completes file names.
var completionScripts = map[string]string{
	"bash": `_openintent() {
    local IFS=$'\n'
    COMPREPLY=($(openintent complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _openintent openintent
`,
	"zsh": `#compdef openintent
_openintent() {
    local -a candidates
    candidates=(${(f)"$(openintent complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#candidates )); then
        _describe -V openintent candidates
    else
        _files
    fi
}
if [[ $funcstack[1] == _openintent ]]; then # loaded by zsh from a folder of fpath, at the first completion
    _openintent "$@"
else
    compdef _openintent openintent
fi
`,
	"fish": `function __openintent
    set -l words (commandline -opc) (commandline -ct)
    openintent complete fish -- $words[2..-1] 2>/dev/null
end
complete -c openintent -a '(__openintent)'
`,
}

// Run prints the script.
func (c completionCommand) Run(to terminal) error {
	_, err := io.WriteString(to.stdout, strings.ReplaceAll(completionScripts[c.Shell], "openintent", calledAs(os.Args[0])))
	return err
}

// completeCommand prints the candidates for the last word of a command line, for the scripts above.
type completeCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish"`
	Words []string `arg:"" optional:""`
}

// Run prints one candidate per line, in the form that the shell expects.
func (c completeCommand) Run(ctx context.Context, parsed *kong.Context, to terminal) error {
	for _, found := range candidates(ctx, parsed.Model.Node, c.Words, c.Shell == "bash") {
		line := found.text
		if c.Shell == "zsh" {
			line = strings.ReplaceAll(line, ":", `\:`)
		}
		switch {
		case c.Shell == "zsh" && found.help != "":
			line += ":" + found.help
		case c.Shell == "fish" && found.help != "":
			line += "\t" + found.help
		}
		if _, err := fmt.Fprintln(to.stdout, line); err != nil {
			return err
		}
	}
	return nil
}
