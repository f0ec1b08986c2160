import type { CommandSpec, OptionSpec } from "../src/tools/command.ts";

/** The source of the manual. */
export interface ManPageSource {
  readonly commands: readonly CommandSpec[];
  readonly version: string;
  readonly date: Date;
}

/** Returns the manual of the program, for `man`. */
export function manPage({ commands, version, date }: ManPageSource): string {
  const day = date.toISOString().slice(0, 10);
  return [
    `.TH MODEL-GATEWAY 1 "${day}" "model-gateway ${version}"`,
    ".SH NAME",
    "model\\-gateway \\- an HTTP gateway to model providers",
    ".SH SYNOPSIS",
    ...commands.flatMap(synopsis),
    ".SH COMMANDS",
    ...commands.flatMap(commandSection),
    ".SH FILES",
    ".TP",
    ".I gateway.yaml",
    plain(
      "The configuration in the working directory. --config or MODEL_GATEWAY_CONFIG names another file.",
    ),
    ".SH ENVIRONMENT",
    ...VARIABLES.flatMap(([name, meaning]) => [
      ".TP",
      `.B ${name}`,
      plain(meaning),
    ]),
    ".SH EXIT STATUS",
    plain(
      "0 on success, 1 for a failure at run time, 2 for invalid usage or an invalid configuration.",
    ),
    "",
  ].join("\n");
}

const VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  [
    "MODEL_GATEWAY_CONFIG",
    "The configuration file, unless --config names one.",
  ],
  ["MODEL_GATEWAY_URL", "The URL of the gateway, for limits and setup."],
  ["MODEL_GATEWAY_TOKEN", "The token for limits and setup."],
];

function synopsis({ name, operands, options }: CommandSpec): string[] {
  const parts = options.map((option) => `[${plain(optionWords(option))}]`);
  const words = [name, operands ?? "", ...parts].filter((word) => word !== "");
  return [".br", `.B model\\-gateway ${words.join(" ")}`];
}

function commandSection(
  { name, operands, summary, options, details = [] }: CommandSpec,
): string[] {
  return [
    `.SS ${operands === undefined ? name : plain(`${name} ${operands}`)}`,
    plain(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`),
    ...options.flatMap((option) => [
      ".TP",
      `.B ${plain(optionWords(option))}`,
      plain(option.summary),
    ]),
    ...details.flatMap((paragraph) => [
      ".PP",
      plain(paragraph.replaceAll("\n", " ")),
    ]),
  ];
}

function optionWords({ name, value, choices }: OptionSpec): string {
  const shown = choices?.join("|") ?? value;
  return shown === undefined ? `--${name}` : `--${name} ${shown}`;
}

/** Escapes a text for roff: no control line, no escape, and hyphens that a search finds. */
function plain(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-")
    .replaceAll(
      /[^\0-\x7f]/gu,
      (char) => `\\[u${hexDigits(char.codePointAt(0) ?? 0)}]`,
    );
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** At least four digits, as roff demands. */
function hexDigits(codePoint: number): string {
  return codePoint.toString(16).toUpperCase().padStart(4, "0");
}
