import type { Config } from "../../../src/gateway/config/config.ts";
import { describeConfig } from "../../../src/gateway/config/describe.ts";
import {
  loadConfig,
  type LoadResult,
} from "../../../src/gateway/config/load.ts";
import { formatProblem, type Problem } from "../../../src/base/problems.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";

type LoadContext = Parameters<typeof loadConfig>[1];

/** The token of the caller `alice` in {@linkcode minimalFile}. */
export const ALICE_TOKEN = "mg_alice";

/** The key of the one connection in {@linkcode minimalFile}. */
export const UPSTREAM_KEY = "upstream-key";

/** A moment for tests: 2026-01-01T00:00:00Z. */
export const NOW_MS = Date.UTC(2026, 0, 1);

/**
 * Returns the smallest valid configuration file: one connection of family A that serves `model-a`, and one caller.
 *
 * @param overrides Top-level keys to set, such as `connections`.
 */
export function minimalFile(
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    connections: [connectionFile()],
    tokens: [tokenFile()],
    ...overrides,
  };
}

/** Returns a valid entry of `connections`; an override of `undefined` removes a key. */
export function connectionFile(
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    name: "main",
    service: "custom",
    family: "A",
    endpoints: { chat: "http://127.0.0.1:9/v1" },
    auth: { scheme: "bearer", key: UPSTREAM_KEY },
    models: ["model-a"],
    ...overrides,
  };
}

/** Returns a valid entry of `tokens`; an override of `undefined` removes a key. */
export function tokenFile(
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    name: "alice",
    sha256: sha256Hex(ALICE_TOKEN),
    connections: ["*"],
    ...overrides,
  };
}

/** Loads a configuration file; the environment and other files are empty by default. */
export async function loadFile(
  file: unknown,
  context: Partial<LoadContext> = {},
): Promise<LoadResult> {
  return await loadText(JSON.stringify(file), context);
}

/** Loads the text of a configuration; the environment and other files are empty by default. */
export async function loadText(
  text: string,
  context: Partial<LoadContext> = {},
): Promise<LoadResult> {
  return await loadConfig(text, {
    env: () => undefined,
    readFile: (path) =>
      Promise.reject(
        new Error(`Cannot read ${path}: the test has no such file.`),
      ),
    listFiles: (pattern) =>
      Promise.resolve(pattern.includes("*") ? [] : [pattern]),
    nowMs: NOW_MS,
    ...context,
  });
}

/** Returns the configuration of a file that must be valid; see {@linkcode minimalFile}. */
export async function minimalConfig(
  overrides: Readonly<Record<string, unknown>> = {},
  context: Partial<LoadContext> = {},
): Promise<Config> {
  return configOf(await loadFile(minimalFile(overrides), context));
}

/** Returns what `check --print` shows of a file that must be valid; see {@linkcode minimalFile}. */
export async function describedFile(
  overrides: Readonly<Record<string, unknown>> = {},
  context: Partial<LoadContext> = {},
): Promise<string> {
  const result = await loadFile(minimalFile(overrides), context);
  if ("config" in result) return describeConfig(result);
  throw new Error(`The configuration has problems:\n${lines(result.problems)}`);
}

/** Returns the configuration of a result that must have one. */
export function configOf(result: LoadResult): Config {
  if ("config" in result) return result.config;
  throw new Error(`The configuration has problems:\n${lines(result.problems)}`);
}

/** Returns the problems of a result that must have some, a line each, by their paths. */
export function problemsOf(result: LoadResult): readonly string[] {
  if ("problems" in result) return result.problems.map(byPath);
  throw new Error("The configuration has no problems");
}

/** Returns the warnings of a result that must have a configuration, a line each, by their paths. */
export function warningsOf(result: LoadResult): readonly string[] {
  if ("config" in result) return result.warnings.map(byPath);
  throw new Error(`The configuration has problems:\n${lines(result.problems)}`);
}

function byPath({ path, message }: Problem): string {
  return formatProblem({ path, message });
}

function lines(problems: readonly Problem[]): string {
  return problems.map(formatProblem).join("\n");
}
