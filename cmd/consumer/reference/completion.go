package reference

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are those that [Completion] knows.
var Shells = []string{"bash", "zsh", "fish"}

// Completion returns a script that a shell sources, "" for a shell that is not one of
// [Shells]. It completes commands, flags and, where nothing fits, file names.
func Completion(app *kong.Application, shell string) string {
	commands := commandsOf(app)
	switch shell {
	case "bash":
		return bash(app.Name, commands)
	case "zsh":
		return zsh(app.Name, commands)
	case "fish":
		return fish(app.Name, commands)
	}
	return ""
}

// paths returns the case pattern of all commands. After help the same words may come
// as at the beginning, so it is not one of them.
func paths(commands []command) string {
	out := make([]string, 0, len(commands))
	for _, c := range commands[1:] { // without the program itself
		if c.Name != "help" {
			out = append(out, `"`+c.Path+`"`)
		}
	}
	return strings.Join(out, "|")
}

func bash(name string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for bash: source <(%[1]s completion bash)
_%[1]s() {
    local at=%[1]s word words=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$at $word" in %[2]s) at="$at $word" ;; esac
    done
    case "$at" in
`, name, paths(commands))
	for _, c := range commands {
		fmt.Fprintf(&b, "    %q) words=%q ;;\n", c.Path, words(c.items()))
	}
	fmt.Fprintf(&b, `    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _%[1]s %[1]s
`, name)
	return b.String()
}

func zsh(name string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef %[1]s
# Completion of %[1]s for zsh: source <(%[1]s completion zsh), or a file _%[1]s in $fpath
_%[1]s() {
    local at=%[1]s word
    local -a items
    for word in "${(@)words[2,CURRENT-1]}"; do
        case "$at $word" in (%[2]s) at="$at $word" ;; esac
    done
    case "$at" in
`, name, paths(commands))
	for _, c := range commands {
		fmt.Fprintf(&b, "    (%q) items=(", c.Path)
		for _, it := range c.items() {
			b.WriteString("\n        " + quote(strings.ReplaceAll(it.Word, ":", `\:`)+":"+it.Help))
		}
		b.WriteString(" ) ;;\n")
	}
	fmt.Fprintf(&b, `    esac
    _describe %[1]s items || _files
}
if [ "$funcstack[1]" = "_%[1]s" ]; then _%[1]s "$@"; else compdef _%[1]s %[1]s; fi
`, name)
	return b.String()
}

func fish(name string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for fish: %[1]s completion fish | source
function __%[1]s_at
    set -l at %[1]s
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case %[2]s
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
`, name, strings.ReplaceAll(paths(commands), "|", " "))
	for _, c := range commands {
		for _, it := range c.items() {
			word := "-f -a " + quote(it.Word)
			if flag, ok := strings.CutPrefix(it.Word, "--"); ok {
				word = "-l " + flag
			}
			fmt.Fprintf(&b, "complete -c %s -n %s %s -d %s\n", name, quote("__"+name+"_at "+c.Path), word, quote(it.Help))
		}
	}
	return b.String()
}

// quote makes a word of any of the shells.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'" }
