import { createFindings, formatProblem } from "../../config/problems.ts";
import { tokenSchema } from "../../config/schema/token.ts";
import { validate } from "../../config/schema/problems.ts";
import { sha256Hex } from "../../core/sha256.ts";
import { stringifyYaml } from "../../core/std.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";

/** The arguments and the help of `token`. */
export const TOKEN: CommandSpec = {
  name: "token",
  operands: "new NAME",
  words: ["new"],
  summary: "create a token and print its entry for gateway.yaml",
  options: [],
  details: [
    "The token is printed only once. gateway.yaml holds only its SHA-256.",
  ],
};

const TOKEN_BYTES = 32;

/**
 * `token new NAME`: creates a token, and prints it with its entry for the configuration. The entry holds only the
 * hash of the token.
 *
 * @returns The exit code.
 */
export function runToken(args: readonly string[], io: CliIo): number {
  const read = readArguments(TOKEN, args);
  if ("fault" in read) return badUsage(read.fault, TOKEN, io);
  const [action, name, ...rest] = read.operands;
  if (action !== "new" || name === undefined || rest.length > 0) {
    return badUsage("it needs the word new and one name", TOKEN, io);
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
    `The token, shown only once:\n\n  ${token}\n\n` +
      "Put this below `tokens:` in gateway.yaml, in place of an entry with the same name:\n\n" +
      stringifyYaml([entry]).replaceAll(/^(?=.)/gm, "  "),
  );
  return EXIT.good;
}

/** Makes a token of random bytes: `mg_` and their base64url. */
export function createToken(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return `mg_${
    base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  }`;
}
