import { GatewayError } from "../../../core/error.ts";

/** A request field that is missing or wrong. */
export function invalidField(param: string, fault: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot read the request: \`${param}\` ${fault}`,
    {
      param,
    },
  );
}

/** What a schema library reports of one fault. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The first of a schema's complaints as the error that the caller is told. */
export function invalidIssue(issues: readonly Issue[]): GatewayError {
  const issue = issues[0];
  const param = issue === undefined ? "" : paramOf(issue.path);
  if (issue === undefined || param === "") {
    return new GatewayError(
      "invalid_request",
      "Cannot read the request: send one JSON object",
    );
  }
  return invalidField(param, `is wrong: ${issue.message}`);
}

/** A path as callers spell it: `messages[0].content`. */
export function paramOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((param, key) => {
    if (typeof key === "number") return `${param}[${key}]`;
    return param === "" ? String(key) : `${param}.${String(key)}`;
  }, "");
}

/** What a refusal of state says beside the field that asks for it. */
export interface UnsupportedStateOptions {
  /** What is refused, where it is not the field itself: a kind of item. */
  readonly what?: string;
  /** What to do, as a sentence without its full stop; default: to send the whole history. */
  readonly advice?: string;
  /** Further facts that an SDK acts on. */
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** State that the gateway does not keep (docs/design.md#native-and-translated). */
export function unsupportedState(
  param: string,
  {
    what,
    advice = "Send the whole history instead",
    ...options
  }: UnsupportedStateOptions = {},
): GatewayError {
  const place = what === undefined
    ? `\`${param}\``
    : `\`${what}\` in \`${param}\``;
  return new GatewayError(
    "invalid_request",
    `Cannot use ${place}: the gateway keeps no state between requests. ${advice}`,
    { param, ...options },
  );
}
