"""`pmemsim completion`: a file that completes commands in a shell, without starting Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer

from pmemsim import _core
from pmemsim.cli.command import argument, declared
from pmemsim.cli.help import is_option, name_of
from pmemsim.declared_statistics import statistics
from pmemsim.errors import Error, did_you_mean
from pmemsim.installation import examples, version
from pmemsim.presets import preset_names
from pmemsim.reproduction.papers import load_paper, paper_names
from pmemsim.workload_runs import HINTS, MIXES, OPTIMISATIONS, workloads


@declared
def completion_command(
    context: typer.Context,
    shell: Annotated[str, argument("bash|zsh", "The shell for which the file is written.")],
) -> None:
    """Print a file that completes pmemsim's commands, options and names in a shell.

    For bash, save the file in the folder that the package bash-completion searches:

        mkdir -p ~/.local/share/bash-completion/completions
        pmemsim completion bash > ~/.local/share/bash-completion/completions/pmemsim

    Without that package, load the file in ~/.bashrc with `source FILE`. For zsh, save it in a
    folder of fpath before ~/.zshrc calls compinit:

        mkdir -p ~/.zfunc
        pmemsim completion zsh > ~/.zfunc/_pmemsim
        echo 'fpath=(~/.zfunc $fpath); autoload -U compinit; compinit' >> ~/.zshrc

    The file contains all names and values, so completion does not start Python. Write the file
    again after an update of pmemsim.
    """
    drivers = {"bash": _BASH, "zsh": _ZSH}
    if shell not in drivers:
        raise Error(
            f"{shell}: completion does not support this shell{did_you_mean(shell, drivers)}"
        )
    print(script(context.find_root().command, drivers[shell]), end="")


Command = Any  # Typer's own, of no public type


# ---- Words to complete -------------------------------------------------------------------


def _papers() -> list[str]:
    papers = [load_paper(name) for name in paper_names()]
    return [*(paper.name for paper in papers), *(e for paper in papers for e in paper.experiments)]


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "DESIGN": lambda: preset_names("design"),
    "BACKEND": lambda: ["none", *preset_names("backend")],
    "MACHINE": lambda: preset_names("machine"),
    "TARGET": lambda: [*workloads(), *(f"example:{name}" for name in examples())],
    "WORKLOAD": workloads,
    "KEY": lambda: [f"{each.key}=" for each in _core.parameters()],
    "STATISTIC": statistics,
    "GLOB": statistics,
    "PAPER": _papers,
    "LEVEL": lambda: OPTIMISATIONS,
    "MIX": lambda: MIXES,
    "HINTS": lambda: HINTS,
}
"""The words that complete a value, by the first word of its name in the help.

Other values are completed by file names.
"""


def kind_of(value: str) -> str:
    """Return the kind of a value: the first word of its name in the help; a list adds a comma."""
    if value == value.lower():
        return value  # undo|redo
    word = "".join(letter if letter.isupper() else " " for letter in value).split()[0]
    return f"{word}," if value.endswith(",...") else word


def _words_of(kind: str) -> list[str]:
    if "|" in kind:
        return kind.split("|")
    return list(_NAMES[kind.rstrip(",")]()) if kind.rstrip(",") in _NAMES else []


def _choices() -> dict[str, str]:
    """Return the values of each parameter that has a list of them."""
    faults = " ".join(each.name for each in _core.faults())
    return {
        each.key: "true false" if each.type == "flag" else " ".join(each.choices)
        for each in _core.parameters()
    } | {"pmemsim.faults": faults}


def _commands(command: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Command]]:
    yield " ".join(path), command
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(each, (*path, name))


# ---- The file ------------------------------------------------------------------------------------


def script(root: Command, driver: str) -> str:
    """Return the file: four tables as shell functions, and the function that uses them."""
    words: dict[str, str] = {}
    values: dict[str, str] = {}
    for path, command in _commands(root):
        options = [each for each in command.params if is_option(each)]
        arguments = [each for each in command.params if not is_option(each)]
        names = [name for each in options for name in each.opts]
        below = getattr(command, "commands", {})
        words[path] = " ".join([*below, *names, "--help", "--plugin"])
        values[f"{path} --plugin".strip()] = "FILE"
        for each in options:
            kind = "" if each.is_flag else kind_of(each.metavar)
            values |= {f"{path} {name}".strip(): kind or "-" for name in each.opts}
        if arguments:
            values[path] = kind_of(name_of(arguments[0]))
    kinds = {kind: " ".join(_words_of(kind)) for kind in sorted({*values.values(), "BACKEND"})}
    tables = {"words": words, "value": values, "names": kinds, "choices": _choices()}
    text = "\n".join(_function(name, table) for name, table in tables.items())
    return driver.replace("VERSION", version()).replace("TABLES\n", text)


def _function(name: str, table: dict[str, str]) -> str:
    """Return a shell function that prints the table's entry for its argument."""
    by_text: dict[str, list[str]] = {}
    for key, text in table.items():
        if text:
            by_text.setdefault(text, []).append(f"'{key}'")
    cases = [f"  {'|'.join(keys)}) echo '{text}' ;;" for text, keys in by_text.items()]
    return "\n".join([f'_pmemsim_{name}() {{ case "$1" in', *cases, "esac; }", ""])


_BASH = """\
# Completion of pmemsim VERSION for bash, by `pmemsim completion bash`.
TABLES
_pmemsim() {
  local line="${COMP_LINE:0:COMP_POINT}" path= kind= word rest cut names
  local -a words
  read -r -a words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current="${words[-1]}"
  for word in "${words[@]:1:${#words[@]}-2}"; do
    if [[ -n $kind && $kind != - ]]; then kind=; continue; fi
    kind=
    if [[ $word == -* ]]; then
      kind="$(_pmemsim_value "${path:+$path }$word")"
    elif [[ -n $(_pmemsim_words "${path:+$path }$word") ]]; then
      path="${path:+$path }$word"
    fi
  done
  COMPREPLY=()
  if [[ -z $kind || $kind == - ]]; then
    if [[ $current == -* ]] || [[ -z $(_pmemsim_value "$path") ]]; then
      COMPREPLY=($(compgen -W "$(_pmemsim_words "$path")" -- "$current"))
      return
    fi
    kind="$(_pmemsim_value "$path")"
  fi
  rest="$current"
  if [[ $kind == *, ]]; then rest="${rest##*,}"; fi
  if [[ $kind == DESIGN* && $rest == *@* ]]; then kind=BACKEND rest="${rest##*@}"; fi
  names="$(_pmemsim_names "$kind")"
  if [[ $kind == KEY && $rest == *=* ]]; then
    names="$(_pmemsim_choices "${rest%%=*}")" rest="${rest##*[=,]}"
  fi
  COMPREPLY=($(compgen -W "$names" -P "${current%"$rest"}" -- "$rest"))
  if [[ $kind == TARGET || $kind == TARGET, || $kind == TRACE ]]; then
    COMPREPLY+=($(compgen -f -X '!*.pmt' -- "$current"))
  fi
  # The shell takes a word for several at these characters, and wants the last one.
  cut="${current%"${current##*[=:@]}"}"
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
  if [[ ${COMPREPLY[*]} == *= ]]; then compopt -o nospace 2> /dev/null; fi
}
complete -o default -F _pmemsim pmemsim
"""

_ZSH = """\
#compdef pmemsim
# Completion of pmemsim VERSION for zsh, by `pmemsim completion zsh`.
TABLES
_pmemsim() {
  local current="$PREFIX" path_= kind= word rest
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ -n $kind && $kind != - ]]; then kind=; continue; fi
    kind=
    if [[ $word == -* ]]; then
      kind="$(_pmemsim_value "${path_:+$path_ }$word")"
    elif [[ -n $(_pmemsim_words "${path_:+$path_ }$word") ]]; then
      path_="${path_:+$path_ }$word"
    fi
  done
  if [[ -z $kind || $kind == - ]]; then
    if [[ $current == -* || -z $(_pmemsim_value "$path_") ]]; then
      compadd -- ${=$(_pmemsim_words "$path_")}
      return
    fi
    kind="$(_pmemsim_value "$path_")"
  fi
  rest="$current"
  if [[ $kind == *, ]]; then rest="${rest##*,}"; fi
  if [[ $kind == DESIGN* && $rest == *@* ]]; then kind=BACKEND; rest="${rest##*@}"; fi
  local -a names=(${=$(_pmemsim_names "$kind")})
  local -a space=()
  [[ $kind == KEY || $kind == *, ]] && space=(-S '')
  if [[ $kind == KEY && $rest == *=* ]]; then
    names=(${=$(_pmemsim_choices "${rest%%=*}")}) space=()
    rest="${rest##*[=,]}"
  fi
  compset -P "${(b)current%$rest}"
  (( $#names )) && compadd "${space[@]}" -- "${names[@]}"
  case "$kind" in
    TARGET|TARGET,|TRACE) _files -g '*.pmt' ;;
    N|SECONDS|TIME|SHARE|ADDRESS|FUNCTION|GLOB,|KEY|STATISTIC|PAPER) ;;
    *) _files ;;
  esac
}
if [[ $funcstack[1] == _pmemsim ]]; then _pmemsim "$@"; else compdef _pmemsim pmemsim; fi
"""
