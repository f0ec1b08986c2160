import { z } from "zod";
import manifest from "../../deno.json" with { type: "json" };
import { CHAT_PROVIDERS } from "../../src/codecs/dialects/chat_providers.ts";
import type {
  ChatProvider,
  ChatRules,
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
  return CHAT_PROVIDERS.map((provider) => [
    provider.services.map(code).join(", "),
    ...[
      chatCell(provider, "maxStops", countText),
      chatCell(provider, "maxTools", countText),
      chatCell(provider, "schemas", (is) => is ? "enforced" : "in words"),
      chatCell(provider, "formatsWithTools", (is) => is ? "yes" : "in words"),
      chatCell(provider, "mixedStrict", (is) => is ? "each tool" : "all tools"),
      chatCell(provider, "reasoning", (one) => one),
      chatCell(
        provider,
        "reasoningField",
        (field) => field === undefined ? "none" : code(field),
      ),
    ],
  ]);
}

/** Returns the text of a rule, and "by model" where models of the provider differ in it. */
function chatCell<Name extends keyof ChatRules>(
  { rules, models = [], otherModels }: ChatProvider,
  name: Name,
  textOf: (value: ChatRules[Name]) => string,
): string {
  const text = textOf(rules[name]);
  const differs = [...models.map((row) => row.rules), otherModels ?? {}]
    .some((other) => name in other && other[name] !== rules[name]);
  return differs ? `${text}; by model` : text;
}

const countText = (most: number) => most === Infinity ? "any" : String(most);
