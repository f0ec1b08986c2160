import { reportBareVariable } from "./bare_variable.ts";
import type { Config } from "./config.ts";
import { type Environment, expandVariables } from "./environment.ts";
import { deepFreeze } from "./freeze.ts";
import type { ReadFile } from "./named_file.ts";
import { createFindings, oncePerPlace, type Problem } from "./problems.ts";
import { resolve } from "./resolve/resolve_config.ts";
import { copyTree } from "./tree.ts";
import { readYaml } from "./yaml.ts";

/** What a configuration takes from outside its text. */
export interface LoadContext {
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** Milliseconds since 1970, to warn of tokens that have expired. */
  readonly nowMs: number;
}

/** A configuration, or everything that is wrong with it. */
export type LoadResult =
  | { readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly problems: readonly Problem[] };

const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Makes a configuration of the text of a `gateway.yaml` (docs/configuration.md), deeply frozen.
 *
 * Never rejects because of the text: whatever is wrong comes back as problems, all of them at once.
 */
export async function loadConfig(
  text: string,
  context: LoadContext,
): Promise<LoadResult> {
  if (text.length > MAX_CHARACTERS) {
    const message = `is longer than ${MAX_CHARACTERS} characters`;
    return { problems: [{ path: "", message }] };
  }
  const yaml = readYaml(text);
  if ("problem" in yaml) return { problems: [yaml.problem] };
  const outermost = outermostFault(yaml.value);
  if (outermost !== undefined) {
    return { problems: [{ path: "", message: outermost }] };
  }
  const findings = createFindings();
  const copied = copyTree(
    yaml.value,
    (written, path) => {
      reportBareVariable(written, { path, findings });
      return expandVariables(written, {
        env: context.env,
        report: (message) => findings.problem(path, message),
      });
    },
  );
  if ("problem" in copied) return { problems: [copied.problem] };
  const config = await resolve(copied.value, {
    readFile: context.readFile,
    nowMs: context.nowMs,
    findings: oncePerPlace(findings),
  });
  const { problems, warnings } = findings;
  if (problems.length > 0 || config === undefined) return { problems };
  return { config: deepFreeze(config), warnings };
}

function outermostFault(value: unknown): string | undefined {
  if (value === null || value === undefined) {
    return "is empty; it needs at least `connections` and `tokens`";
  }
  if (typeof value === "object" && !Array.isArray(value)) return undefined;
  const word = Array.isArray(value) ? "a list" : "a single value";
  return `must be a mapping with \`connections\` and \`tokens\`, not ${word}`;
}
