import { createFindings, formatProblem } from "../config/problems.ts";
import { tokenSchema } from "../config/schema_token.ts";
import { validate } from "../config/schema_problems.ts";
import { sha256Hex } from "../core/sha256.ts";
import { stringifyYaml } from "../core/std.ts";
import { type CliIo, EXIT } from "./io.ts";

const USAGE = "usage: model-gateway token new NAME\n";
const TOKEN_BYTES = 32;

/**
 * `token new NAME`: makes a token, prints it this once, and the YAML that lets its owner in. Only the
 * token's hash goes into the configuration.
 *
 * @returns The exit code.
 */
export function runToken(args: readonly string[], io: CliIo): number {
  const [action, name, ...rest] = args;
  if (action !== "new" || name === undefined || rest.length > 0) {
    io.writeError(USAGE);
    return EXIT.badUsage;
  }
  const token = createToken(
    crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)),
  );
  const entry = { name, sha256: sha256Hex(token), connections: ["*"] };
  const findings = createFindings();
  validate(tokenSchema, { value: entry, path: [], findings });
  if (findings.problems.length > 0) {
    io.writeError(`${findings.problems.map(formatProblem).join("\n")}\n`);
    return EXIT.badUsage;
  }
  io.write(
    `The token, shown only this once:\n\n  ${token}\n\n` +
      `Put this into gateway.yaml:\n\n${stringifyYaml({ tokens: [entry] })}`,
  );
  return EXIT.good;
}

/** The token of some random bytes: `mg_` and their base64url. */
export function createToken(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return `mg_${
    base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  }`;
}
