import { z } from "zod";
import {
  type Findings,
  isMapping,
  listAt,
  type Path,
} from "@gateway/base/problems";
import { type ConnectionFields, connectionSchema } from "./connection.ts";
import { secret, text, wholeNumber } from "./fields.ts";
import { type IdentityFields, identitySchema } from "./identity.ts";
import { validate } from "./problems.ts";
import { limitsSchema, serverSchema, timeoutsSchema } from "./server.ts";
import {
  defaultsSchema,
  type GroupFields,
  groupsSchema,
  type TokenFields,
  tokenSchema,
} from "./token.ts";

/** The most patterns in one list: `usage.replay` or `include`. */
const MAX_PATTERNS = 32;

const MAX_PATTERN_LENGTH = 4096;

/** `usage`. */
const usageSchema = z.strictObject({
  replay: z.array(z.string().min(1).max(MAX_PATTERN_LENGTH)).max(MAX_PATTERNS)
    .default([]).describe(
      "Paths of the gateway's own logs, with wildcards. The usage in them is counted at the start.",
    ),
});

const includeSchema = z.array(
  z.string().min(1).max(MAX_PATTERN_LENGTH).refine(isIncludePattern, {
    error: "must not hold **. Name each folder, such as tokens.d/*.yaml.",
  }),
).max(MAX_PATTERNS);

/** Returns true for a path or pattern within one folder: `*` is allowed, and `**` is not. */
export function isIncludePattern(pattern: string): boolean {
  return pattern !== "" && !pattern.includes("**");
}

const EXAMPLE = "rediss://gateway@valkey.example:6379/0";

const PREFIX_REGEXP = /^[\x21-\x7e]{1,64}$/;

/** `shared`. */
const sharedSchema = z.strictObject({
  url: text().refine(isStoreUrl, {
    error: `must be the URL of a Valkey or Redis server, such as ${EXAMPLE}.`,
  }).meta(secret(withoutPassword)).describe(
    "The store: redis: or rediss: (TLS), with an optional user, password and database number.",
  ),
  password: text().meta(secret()).optional().describe(
    "The store's password, unencoded, when url has none.",
  ),
  password_file: text().optional().describe(
    "Path of a file with the password, relative to this file.",
  ),
  ca: text().optional().describe(
    "Path of a PEM file with the authorities that the store's certificate may come from, relative to this file. Default: the system's.",
  ),
  prefix: z.string().regex(PREFIX_REGEXP, {
    error: "must be 1 to 64 printable ASCII characters without spaces.",
  }).default("model-gateway:").describe(
    "The prefix of every key in the store.",
  ),
});

function withoutPassword(url: string): string {
  return Object.assign(new URL(url), { password: "" }).href;
}

function isStoreUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(value);
  return /^rediss?:$/.test(protocol) && hostname !== "" &&
    /^\/?$|^\/\d{1,5}$/.test(pathname) && search === "" && hash === "";
}

const alertsSchema = z.strictObject({
  webhook: z.string().refine(isWebhook, {
    error: "must be a URL with https: or http:, and without a password.",
  }).meta(secret((url) => new URL(url).origin)).describe(
    "The URL that gets each warning as a POST with JSON. Slack, Teams and Mattermost show its `text`.",
  ),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), text().meta(secret()))
    .default({}).describe("Headers of each POST, such as a credential."),
  at: z.array(wholeNumber({ min: 1, max: 100 })).min(1, {
    error: "must not be empty. Leave out `alerts` to send none.",
  }).default([80, 90, 100])
    .describe("The used percentages at which a warning is sent."),
});

function isWebhook(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, password, username } = new URL(value);
  return /^https?:$/.test(protocol) && password === "" && username === "";
}

/**
 * The file without the contents of its lists. Connections and tokens are validated one by one, so that a problem in one
 * entry does not hide problems in the others.
 */
const fileSchema = z.strictObject({
  server: serverSchema.prefault({}).describe(
    "The listeners and the limits of the server.",
  ),
  messages_vendor: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, {
    error: "must be lower-case letters, digits and hyphens, such as anthropic.",
  }).default("anthropic").describe(
    "The segment of the legacy Messages paths, and the prefix of the version header.",
  ),
  timeouts: timeoutsSchema.prefault({}).describe(
    "The deadlines of all connections.",
  ),
  limits: limitsSchema.prefault({}).describe("Settings for reading quotas."),
  defaults: defaultsSchema.prefault({})
    .describe("Settings for tokens and connections without their own."),
  groups: groupsSchema.default({}).describe(
    "Groups of tokens by name. Each may have limits that its members share, and `connections`, `models` and `max_concurrent` for members without their own.",
  ),
  usage: usageSchema.prefault({}).describe("Settings for counting usage."),
  alerts: alertsSchema.optional().describe(
    "Warnings to people about limits and quotas that are nearly used up. Default: none.",
  ),
  shared: sharedSchema.optional().describe(
    "A store that replicas share: quotas, cool-downs, lessons, counts and limits.",
  ),
  include: includeSchema.default([]).describe(
    "Paths of further files with `tokens` and `groups` alone, with the wildcards * and ?, relative to this file.",
  ),
  connections: z.array(z.unknown()).min(1, {
    error: "must list at least one connection.",
  }),
  tokens: z.array(z.unknown()).optional(),
  identity: z.array(z.unknown()).default([]),
});

/** An included file. */
const includedSchema = z.strictObject({
  groups: groupsSchema.default({}),
  tokens: z.array(z.unknown()).default([]),
});

/** The tree of an included file. */
export interface IncludedTree {
  /** The path of the file itself. Every path into the file begins with this path. */
  readonly path: Path;
  readonly tree: unknown;
}

/** The file with all of its contents. */
export const wholeFileSchema = fileSchema.extend({
  connections: z.array(connectionSchema).min(1).describe(
    "The providers. Several may serve the same model.",
  ),
  tokens: z.array(tokenSchema).optional().describe(
    "The callers, and the connections and models that each may use. Needed without `include` or `identity`.",
  ),
  identity: z.array(identitySchema).default([]).describe(
    "Identity providers, whose tokens (JWT) identify callers.",
  ),
});

/** An included file with all of its contents. */
export const wholeIncludedSchema = includedSchema.extend({
  groups: groupsSchema.default({}).describe(
    "Groups of tokens by name, whose members may be in any file.",
  ),
  tokens: z.array(tokenSchema).default([]).describe(
    "The callers, and the connections and models that each may use.",
  ),
});

/** The fields of a file except connections, groups, tokens and identity providers. */
export type GeneralFields = Omit<
  z.output<typeof fileSchema>,
  "connections" | "groups" | "tokens" | "identity"
>;

/**
 * The fields of a file and of its included files. A part with problems keeps only its valid fields. The findings list
 * the problems.
 */
interface FileFields {
  readonly general: GeneralFields | undefined;
  readonly connections: readonly (ConnectionFields | undefined)[];
  readonly groups: readonly GroupEntry[];
  readonly tokens: readonly TokenEntry[];
  readonly identity: readonly (IdentityFields | undefined)[];
}

/** A group in a file. */
export interface GroupEntry {
  readonly path: Path;
  readonly name: string;
  readonly fields: GroupFields;
}

/** A token in a file. */
export interface TokenEntry {
  readonly path: Path;
  /** `undefined` when the token has problems. */
  readonly fields: TokenFields | undefined;
}

/** The keys under which a file lists callers. A file needs one of these keys. */
const CALLER_KEYS = ["tokens", "include", "identity"];

/** Validates the tree of a file and the trees of its included files. Reports problems to the findings. */
export function validateFile(
  tree: unknown,
  included: readonly IncludedTree[],
  findings: Findings,
): FileFields {
  const general = validate(fileSchema, {
    value: tree,
    path: [],
    findings,
    placeholders: { connections: [null], identity: [] },
  });
  if (isMapping(tree) && !CALLER_KEYS.some((key) => key in tree)) {
    findings.problem(["tokens"], "is missing.");
  }
  const main: IncludedTree = { path: [], tree };
  return {
    general,
    connections: listAt(tree, "connections").map((value, index) =>
      validate(connectionSchema, {
        value,
        path: ["connections", index],
        findings,
        placeholders: { name: "?", models: [] },
      })
    ),
    groups: [
      ...groupsIn(main, general?.groups),
      ...included.flatMap((file) =>
        groupsIn(
          file,
          validate(includedSchema, {
            value: file.tree,
            path: file.path,
            findings,
          })?.groups,
        )
      ),
    ],
    tokens: [main, ...included].flatMap((file) => tokensIn(file, findings)),
    identity: listAt(tree, "identity").map((value, index) =>
      validate(identitySchema, { value, path: ["identity", index], findings })
    ),
  };
}

function groupsIn(
  { path }: IncludedTree,
  groups: z.output<typeof groupsSchema> = {},
): readonly GroupEntry[] {
  return Object.entries(groups).map(([name, fields]) => ({
    path: [...path, "groups", name],
    name,
    fields,
  }));
}

function tokensIn(
  { path, tree }: IncludedTree,
  findings: Findings,
): readonly TokenEntry[] {
  return listAt(tree, "tokens").map((value, index) => {
    const place = [...path, "tokens", index];
    const placeholders = {
      name: "?",
      sha256: "0".repeat(64),
      connections: [],
    };
    const options = { value, path: place, findings, placeholders };
    return { path: place, fields: validate(tokenSchema, options) };
  });
}
