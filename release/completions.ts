import type { CommandSpec, OptionSpec } from "../src/tools/command.ts";

const PROGRAM = "model-gateway";

/** The option of every command. */
const HELP = "help";

/** Completion for bash: for `/etc/bash_completion.d` or `source`. */
export function bashCompletion(commands: readonly CommandSpec[]): string {
  const names = commands.map(({ name }) => name);
  const cases = commands.map((spec) => {
    const values = spec.options.flatMap(bashValue);
    const words = [...optionNames(spec), ...spec.words ?? []].join(" ");
    const files = spec.takesFiles === true ? "-f " : "";
    return `    ${spec.name})
      case "$previous" in
${
      values.join("")
    }        *) COMPREPLY=($(compgen ${files}-W "${words}" -- "$current")) ;;
      esac
      ;;
`;
  });
  return `# Completion of ${PROGRAM} for bash.
_model_gateway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${
    names.join(" ")
  } ${HELP} --${HELP} --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
    ${HELP}) COMPREPLY=($(compgen -W "${names.join(" ")}" -- "$current")) ;;
${cases.join("")}  esac
}
complete -F _model_gateway ${PROGRAM}
`;
}

function bashValue({ name, value, choices }: OptionSpec): string[] {
  if (choices !== undefined) {
    const words = choices.join(" ");
    return [
      `        --${name}) COMPREPLY=($(compgen -W "${words}" -- "$current")) ;;\n`,
    ];
  }
  if (value === undefined) return [];
  return [
    value === "FILE"
      ? `        --${name}) COMPREPLY=($(compgen -f -- "$current")) ;;\n`
      : `        --${name}) ;;\n`,
  ];
}

/** Completion for zsh: the file `_model-gateway` of a folder in `fpath`. */
export function zshCompletion(commands: readonly CommandSpec[]): string {
  const list = commands.map(({ name, summary }) =>
    `    ${quote(`${name}:${summary}`)}\n`
  );
  const cases = commands.map((spec) => {
    const parts = [
      ...spec.options.map((option) => quote(zshOption(option))),
      quote(`--${HELP}[show the usage]`),
      ...(spec.words === undefined
        ? []
        : [quote(`*: :(${spec.words.join(" ")})`)]),
      ...(spec.takesFiles === true ? [quote("*: :_files")] : []),
    ];
    return `    ${spec.name}) _arguments ${parts.join(" ")} ;;\n`;
  });
  return `#compdef ${PROGRAM}
_model_gateway() {
  local -a commands
  commands=(
${list.join("")}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
    ${HELP}) _describe command commands ;;
${cases.join("")}  esac
}
_model_gateway "$@"
`;
}

function zshOption({ name, value, choices, summary }: OptionSpec): string {
  const escaped = summary.replace(/[[\]:]/g, " ");
  const flag = `--${name}[${escaped}]`;
  if (choices !== undefined) return `${flag}:${name}:(${choices.join(" ")})`;
  if (value === undefined) return flag;
  return `${flag}:${value}:${value === "FILE" ? "_files" : ""}`;
}

/** Completion for fish: for `~/.config/fish/completions`. */
export function fishCompletion(commands: readonly CommandSpec[]): string {
  const lines = commands.flatMap((spec) => {
    const within = `-n ${quote(`__fish_seen_subcommand_from ${spec.name}`)}`;
    return [
      `-n __fish_use_subcommand -a ${spec.name} -d ${quote(spec.summary)}`,
      ...spec.options.map((option) => `${within} ${fishOption(option)}`),
      ...(spec.words === undefined
        ? []
        : [`${within} -a ${quote(spec.words.join(" "))}`]),
      ...(spec.takesFiles === true ? [`${within} -F`] : []),
    ];
  });
  const all = ["-f", "-l help -d 'show the usage'", ...lines];
  return [
    `# Completion of ${PROGRAM} for fish.`,
    ...all.map((line) => `complete -c ${PROGRAM} ${line}`),
    "",
  ].join("\n");
}

function fishOption({ name, value, choices, summary }: OptionSpec): string {
  const parts = [`-l ${name}`, `-d ${quote(summary)}`];
  if (choices !== undefined) parts.push(`-x -a ${quote(choices.join(" "))}`);
  else if (value !== undefined) parts.push(value === "FILE" ? "-r -F" : "-x");
  return parts.join(" ");
}

function optionNames({ options }: CommandSpec): readonly string[] {
  return [...options.map(({ name }) => `--${name}`), `--${HELP}`];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
