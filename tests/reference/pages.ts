import manifest from "../../deno.json" with { type: "json" };
import {
  CACHE_MISSES,
  FAILURES,
  MOVES,
  WAITS,
} from "../../src/gateway/observe/facts.ts";
import { LOG_EVENTS } from "../../src/gateway/observe/log_events.ts";
import { LOG_FIELDS } from "../../src/gateway/observe/log_fields.ts";
import {
  commandHelp,
  type CommandSpec,
  EXIT,
} from "../../src/tools/command.ts";
import { COMMANDS } from "../../src/tools/mod.ts";
import {
  cellOf,
  COLUMN_NAMES,
  formOf,
  TABLE,
} from "../support/dialects/failure_table.ts";
import { configOptions } from "../support/gateway/config_options.ts";
import { everyMetric } from "../support/gateway/every_metric.ts";
import {
  alertRows,
  CHAT_COLUMNS,
  chatRows,
  taskRows,
  withheldFromCaller,
  withheldFromUpstream,
} from "./lists.ts";
import { serviceEntries, serviceRows } from "./services.ts";
import { translationRows } from "./translation_rows.ts";

type EventRow = (typeof LOG_EVENTS)[keyof typeof LOG_EVENTS];

type LogField = (typeof LOG_FIELDS)[keyof typeof LOG_FIELDS];

/** The last line of the introduction of each page. */
const NOTICE =
  "`deno task reference` writes this page from the program. Do not edit it.";

/** Returns the Markdown of the pages that the program's tables generate, by path in the repository. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const pages = Object.entries({
    alerts: await alertsPage(),
    commands: commandsPage(),
    configuration: configurationPage(),
    headers: headersPage(),
    log: logPage(),
    metrics: await metricsPage(),
    refusals: refusalsPage(),
    services: servicesPage(),
    tasks: tasksPage(),
    translation: translationPage(),
  });
  return new Map(
    pages.map(([name, text]) => [`docs/reference/${name}.md`, text]),
  );
}

/** Joins the parts of a page, with an empty line between two. */
function page(title: string, about: string, ...parts: string[]): string {
  return [`# ${title}`, `${about}\n${NOTICE}`, ...parts].join("\n\n") + "\n";
}

/** Returns a table, without the spaces that align columns. */
function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  return [head, head.map(() => "---"), ...rows].map((cells) =>
    `| ${cells.map((cell) => cell.replace(BAR_REGEXP, "\\|")).join(" | ")} |`
  ).join("\n");
}

/** Matches a bar, which would end a table's cell. */
const BAR_REGEXP = /(?<!\\)\|/g;

const code = (text: string) => `\`${text}\``;

function configurationPage(): string {
  const rows = configOptions().map(({ path, preset, description }) => [
    code(path),
    preset === undefined || preset === "" ? "" : code(String(preset)),
    description,
  ]);
  return page(
    "Every option",
    `For administrators: every option of \`gateway.yaml\`, in the words of its JSON Schema.
\`[]\` means each entry of a list. An option without a default is optional, unless
\`check\` demands it. \`check --print\` prints the resolved value of every option,
without secrets. [Configuration](../configuration.md) has an example and the rules,
[Quotas](../quotas.md#what-each-service-needs) explains the options of \`quota\`.`,
    table(["option", "default", "meaning"], rows),
  );
}

function logPage(): string {
  const words = (list: Readonly<Record<string, string>>) =>
    table(
      ["word", "meaning"],
      Object.entries(list).map(([word, meaning]) => [code(word), meaning]),
    );
  return page(
    "The log: events, fields and words",
    `For administrators and for programs that read the log: what each line may have.
[Observing](../observing.md#the-log) explains how to read and keep it. Every line
begins with \`time\`, \`level\` and \`event\`. A field means the same in every event.
Milliseconds (\`_ms\`) of a request count from its beginning.`,
    "## Events",
    table(
      ["event", "level", "what happened"],
      Object.entries(LOG_EVENTS).map(eventCells),
    ),
    "## Fields",
    table(
      ["field", "type", "meaning", "events"],
      Object.entries(LOG_FIELDS).flatMap(fieldCells),
    ),
    "## Failures",
    "`failure` is one of these words. They describe failures of providers and of the\n[store](../scaling.md#replicas-with-a-store).",
    words(FAILURES),
    "## Moves",
    "`moved_for` is a failure, or one of these if the connection was not tried.",
    words(MOVES),
    "## Waits",
    "`waited_for` is one of these.",
    words(WAITS),
    "## Cache misses",
    "`cache_miss` says [why a turn was dear](../usage.md#dear-turns).",
    words(CACHE_MISSES),
  );
}

function eventCells([name, { level, meaning }]: [string, EventRow]): string[] {
  return [code(name), level.replaceAll("_", " "), meaning];
}

/** Returns the row of a field, and those of the fields inside it. */
function fieldCells([name, field]: [string, LogField]): string[][] {
  const { type, meaning, parts = {} } = field;
  const inside = type === "objects" ? `${name}[]` : name;
  return [
    [code(name), type, meaning, eventsWith(name)],
    ...Object.entries(parts).map(([part, { type, meaning }]) => [
      code(`${inside}.${part}`),
      ...[type, meaning, ""],
    ]),
  ];
}

/** Returns the events that have a field, first those that always have it. */
function eventsWith(field: string): string {
  const rows: [string, EventRow][] = Object.entries(LOG_EVENTS);
  const list = (kind: "fields" | "optional") =>
    rows.filter(([, row]) => row[kind].some((one) => one === field))
      .map(([event]) => code(event)).join(", ");
  const maybe = list("optional");
  return [list("fields"), maybe && `maybe ${maybe}`].filter(Boolean)
    .join("; ");
}

async function metricsPage(): Promise<string> {
  const text = await everyMetric();
  const rows = [
    ...text.matchAll(/^# HELP (\S+) (.+)\n# TYPE \S+ (\w+)\n(.*)/gm),
  ]
    .map(([, name = "", help = "", type = "", sample = ""]) => [
      code(name),
      type,
      labelsIn(sample).map(code).join(", "),
      help,
    ]);
  return page(
    "Metrics",
    `For administrators: every metric of \`/metrics\`, with its type, its labels and the
program's description. [Observing](../observing.md#metrics) explains how to scrape
them, and what some of them count.`,
    table(["metric", "type", "labels", "meaning"], rows),
  );
}

async function alertsPage(): Promise<string> {
  return page(
    "Alerts for Prometheus",
    `For administrators: the alerts of \`packaging/prometheus-rules.yaml\`, with what each
means and what to do. [Observing](../observing.md#alerts-for-prometheus) explains
how to load them.`,
    table(
      ["alert", "severity", "fires when", "meaning", "what to do"],
      await alertRows(),
    ),
  );
}

function headersPage(): string {
  return page(
    "Headers that do not pass",
    `For people who miss a header: the names that the gateway keeps to itself, each group
with its reason. All other headers pass ([Headers](../http.md#headers)).`,
    "## Of a request",
    table(["the header", "names"], withheldFromUpstream()),
    "## Of a response",
    table(["the header", "names"], withheldFromCaller()),
  );
}

function tasksPage(): string {
  const commands = new Set(COMMAND_TASKS.map(({ task }) => task));
  return page(
    "Tasks",
    `For people who change the source: the tasks of a clone, as \`deno task\` lists them,
without [the commands](commands.md) of the program. [The tests](../../tests/README.md)
explains them.`,
    table(["task", "effect"], taskRows(commands)),
  );
}

/** Returns the names of the labels of a sample, without the bound of a histogram's bucket. */
function labelsIn(sample: string): readonly string[] {
  const [, labels = ""] = /^\S+?\{(.*)\} /.exec(sample) ?? [];
  return [...labels.matchAll(/(\w+)="/g)].map(([, name = ""]) => name)
    .filter((name) => name !== "le");
}

/** The meaning of each exit code. */
const EXIT_WORDS: Readonly<Record<keyof typeof EXIT, string>> = {
  good: "success",
  failed: "a failure at run time, or of `check --live`",
  badUsage: "wrong usage, or a configuration with problems",
};

function commandsPage(): string {
  const exits: [keyof typeof EXIT, string][] = [
    ["good", EXIT_WORDS.good],
    ["failed", EXIT_WORDS.failed],
    ["badUsage", EXIT_WORDS.badUsage],
  ];
  return page(
    "Commands",
    `For everyone who runs \`model-gateway\`: its commands and their options, as \`--help\`
prints them, and its exit codes. [Running](../running.md#commands) explains them. In
a clone, \`npx -y deno@2.9.6 task start\` and its like run a command without an
executable; options follow the task.`,
    ...COMMANDS.flatMap(({ spec }) => commandParts(spec)),
    "## Exit codes",
    table(
      ["exit code", "meaning"],
      exits.map(([name, meaning]) => [String(EXIT[name]), meaning]),
    ),
  );
}

/** The tasks of a clone that run a command of the program, with their arguments. */
export const COMMAND_TASKS: readonly {
  readonly task: string;
  readonly args: string;
}[] = Object.entries(manifest.tasks).flatMap(([task, { command }]) => {
  const [, args] = command.match(/ src\/tools\/main\.ts (.+)$/) ??
    command.match(/ src\/tools\/(login)\/main\.ts$/) ?? [];
  return args === undefined ? [] : [{ task, args }];
});

/** Returns the heading, the effect and the options of a command. */
function commandParts(spec: CommandSpec): string[] {
  const { name, operands, summary } = spec;
  const tasks = COMMAND_TASKS
    .filter(({ args }) => args.split(" ")[0] === name)
    .map(({ task }) => code(`task ${task}`)).join(", ");
  const rows = [...commandHelp(spec).matchAll(/^ {2}(--.+?) {2,}(.+)$/gm)]
    .map(([, option = "", effect = ""]) => [code(option), effect]);
  return [
    `## ${name}`,
    `${
      code(["model-gateway", name, operands].filter(Boolean).join(" "))
    }: ${summary}. In a clone: ${tasks}.`,
    ...(rows.length === 0 ? [] : [table(["option", "effect"], rows)]),
  ];
}

function refusalsPage(): string {
  const names = new Map<string, string[]>();
  for (const [service, row] of Object.entries(TABLE)) {
    const first = typeof row === "string" ? row : service;
    names.set(first, [...names.get(first) ?? [], code(service)]);
  }
  return page(
    "How each service refuses",
    `For administrators: the status of each kind of refusal, and the code or type that
its error has. [What a refusal means](../failover.md#what-a-refusal-means) explains
the kinds. [The whole errors with their sources](../../tests/fixtures/failures.yaml)
are in one file.`,
    table(
      ["service", ...COLUMN_NAMES.map((name) => name.replaceAll("_", " "))],
      [...names].map(([service, all]) => [
        all.join(", "),
        ...COLUMN_NAMES.map((column) => cellOf(formOf(service, column))),
      ]),
    ),
  );
}

function servicesPage(): string {
  const head = ["service", "provider", "family", "speaks", "key", "needs"];
  return page(
    "Services",
    `For administrators: every service with a preset, and an entry of \`connections:\` to
paste into \`gateway.yaml\`. [Providers](../providers.md) explains the columns, and
what is particular about a provider. The price of a model is in
[List prices](prices.md).`,
    table([...head, "quota is read from"], serviceRows()),
    ...[...serviceEntries()].flatMap(([service, entry]) => [
      `## ${service}`,
      `\`\`\`yaml\n${entry}\n\`\`\``,
    ]),
  );
}

function translationPage(): string {
  const [head = [], ...rows] = translationRows();
  return page(
    "What a translation keeps",
    `For people who serve a model to clients of another protocol: what becomes of each
feature. [Translation](../translation.md) explains the words and the details. The
models are one of Anthropic, one of OpenAI (\`gpt-5.2\`) and one of a provider that
imitates Chat Completions. Other providers accept more or less.`,
    table(head, rows),
    "## Chat Completions, by service",
    "What each service accepts. [Translation](../translation.md) says what happens beyond that.",
    table(["services", ...CHAT_COLUMNS], chatRows()),
  );
}
