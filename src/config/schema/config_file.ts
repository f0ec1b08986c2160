import { z } from "zod";
import type { Findings } from "../problems.ts";
import { type ConnectionFields, connectionSchema } from "./connection.ts";
import { validate } from "./problems.ts";
import { limitsSchema, serverSchema, timeoutsSchema } from "./server.ts";
import { sharedSchema } from "./shared.ts";
import { listAt } from "../tree_access.ts";
import { defaultsSchema, groupsSchema } from "./usage_limit.ts";
import { type TokenFields, tokenSchema } from "./token.ts";
import { usageSchema } from "./usage.ts";

/**
 * The file but for what its lists hold: connections and tokens are validated one by one, so that what is
 * wrong with one hides nothing of the others.
 */
const fileSchema = z.strictObject({
  server: serverSchema.prefault({}).describe("Where and how to listen."),
  messages_vendor: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
    error: "must be lower-case letters, digits and hyphens, such as anthropic",
  }).default("anthropic").describe(
    "The segment of the legacy paths of Messages, and the prefix of the version header.",
  ),
  timeouts: timeoutsSchema.prefault({}).describe(
    "The deadlines of all connections.",
  ),
  limits: limitsSchema.prefault({}).describe("How quotas are read."),
  defaults: defaultsSchema.prefault({})
    .describe("What tokens have that do not say otherwise."),
  groups: groupsSchema.default({}).describe(
    "Groups of tokens by their names, each with `limits` as of a token, which bind its members together.",
  ),
  usage: usageSchema.prefault({}).describe("How usage is counted."),
  shared: sharedSchema.optional().describe(
    "A store that replicas share: quotas, cool-downs, counts and limits.",
  ),
  connections: z.array(z.unknown()).min(1, {
    error: "must list at least one connection",
  }),
  tokens: z.array(z.unknown()),
});

/** The file with all that it holds. */
export const wholeFileSchema = fileSchema.extend({
  connections: z.array(connectionSchema).min(1).describe(
    "The providers; a model may stand under several of them.",
  ),
  tokens: z.array(tokenSchema).describe("Who may call, and what they may use."),
});

/**
 * A file as it says it. What has problems is there as far as the rest of it makes sense; the findings
 * say whether there are any.
 */
export interface FileFields {
  /** Everything but connections and tokens. */
  readonly general:
    | Omit<z.output<typeof fileSchema>, "connections" | "tokens">
    | undefined;
  readonly connections: readonly (ConnectionFields | undefined)[];
  readonly tokens: readonly (TokenFields | undefined)[];
}

/** Validates the tree of a file; what is wrong goes to the findings. */
export function validateFile(tree: unknown, findings: Findings): FileFields {
  const general = validate(fileSchema, {
    value: tree,
    path: [],
    findings,
    standIns: { connections: [null], tokens: [] },
  });
  return {
    general,
    connections: listAt(tree, "connections").map((value, index) =>
      validate(connectionSchema, {
        value,
        path: ["connections", index],
        findings,
        standIns: { name: "?", models: [] },
      })
    ),
    tokens: listAt(tree, "tokens").map((value, index) =>
      validate(tokenSchema, {
        value,
        path: ["tokens", index],
        findings,
        standIns: { name: "?", sha256: "0".repeat(64), connections: [] },
      })
    ),
  };
}
