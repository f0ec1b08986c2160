import { z } from "zod";
import manifest from "../../deno.json" with { type: "json" };
import { CHAT_PROVIDERS } from "../../src/codecs/dialects/chat_providers.ts";
import { withRows } from "../../src/codecs/canonical/request/ability.ts";
import {
  CHAT,
  type ChatRow,
  OPENAI_SPELLING,
} from "../../src/codecs/dialects/chat_rules.ts";
import {
  type HeaderGroup,
  WITHHELD_FROM_CALLER,
  WITHHELD_FROM_UPSTREAM,
} from "../../src/gateway/upstream/header_names.ts";
import { parseYaml } from "../support/yaml.ts";

/** The rows of a table in Markdown. */
export type Rows = readonly (readonly string[])[];

const code = (text: string) => `\`${text}\``;

const RULES = new URL(
  "../../packaging/prometheus-rules.yaml",
  import.meta.url,
);

const rulesSchema = z.object({
  groups: z.tuple([z.object({
    rules: z.array(z.object({
      alert: z.string(),
      expr: z.string(),
      for: z.string().optional(),
      labels: z.object({ severity: z.string() }),
      annotations: z.object({ description: z.string(), action: z.string() }),
    })),
  })]),
});

/** Returns a row for each alert of packaging/prometheus-rules.yaml. */
export async function alertRows(): Promise<Rows> {
  const text = await Deno.readTextFile(RULES);
  const { groups: [{ rules }] } = rulesSchema.parse(parseYaml(text));
  return rules.map(({ alert, expr, labels, annotations, ...rule }) => {
    const condition = code(expr.trim().replace(/\s+/g, " "));
    return [
      code(alert),
      labels.severity,
      rule.for === undefined ? condition : `${condition}, for ${rule.for}`,
      annotations.description,
      annotations.action,
    ];
  });
}

/** Returns a row for each group of headers that a caller's request loses. */
export const withheldFromUpstream = (): Rows =>
  headerRows(WITHHELD_FROM_UPSTREAM);

/** Returns a row for each group of headers that a provider's response loses. */
export const withheldFromCaller = (): Rows => headerRows(WITHHELD_FROM_CALLER);

function headerRows(groups: readonly HeaderGroup[]): Rows {
  return groups.map(({ reason, names, prefixes, words }) => [
    reason,
    [
      ...names.map(code),
      ...prefixes.map((prefix) => code(`${prefix}*`)),
      ...(words === undefined ? [] : [wordsIn(words)]),
    ].join(", "),
  ]);
}

/** Returns examples of the words that a pattern finds in names. */
function wordsIn(pattern: RegExp): string {
  const found = EXAMPLES.filter((word) => pattern.test(`x-${word}`));
  return `names with a word such as ${found.map(code).join(", ")}`;
}

const EXAMPLES: readonly string[] = [
  ...["user", "email", "userinfo", "identity"],
  ...["consumer", "token", "jwt", "session-key"],
];

/** Returns a row for each task of deno.json except the given ones. */
export function taskRows(except: ReadonlySet<string>): Rows {
  return Object.entries(manifest.tasks)
    .filter(([task]) => !except.has(task))
    .map(([task, { description }]) => [code(task), description]);
}

/** The columns of chatRows, after the services. */
export const CHAT_COLUMNS: readonly string[] = [
  ...["stop strings", "tools", "a schema", "a schema beside tools"],
  ...["`strict`", "thinking is set by", "earlier reasoning goes to"],
];

/** Returns a row for each provider of Chat Completions: the services, and what they accept of a translation. */
export function chatRows(): Rows {
  return CHAT_PROVIDERS.map(({ services, rows, otherModels, models = [] }) => {
    const all = [
      rows,
      ...(otherModels === undefined ? [] : [otherModels]),
      ...models.map((one) => [...rows, one.rules]),
    ].map(chatCells);
    return [
      services.map(code).join(", "),
      ...(all[0] ?? []).map((text, at) =>
        all.some((cells) => cells[at] !== text) ? `${text}; by model` : text
      ),
    ];
  });
}

/** Returns what the rows accept, in the order of CHAT_COLUMNS. */
function chatCells(rows: readonly ChatRow[]): readonly string[] {
  const { limits, schemas, tools } = withRows(
    CHAT,
    ...rows.map(({ ability }) => ability),
  );
  const { reasoning, reasoningField } = rows.reduce(
    (before, { spelling }) => ({ ...before, ...spelling }),
    OPENAI_SPELLING,
  );
  return [
    countText(limits.mostStops),
    countText(limits.mostTools),
    schemas.formatSchemas ? "enforced" : "in words",
    schemas.formatsWithTools ? "yes" : "in words",
    tools.mixedStrict ? "each tool" : "all tools",
    reasoning,
    reasoningField === undefined ? "none" : code(reasoningField),
  ];
}

const countText = (most: number) => most === Infinity ? "any" : String(most);
