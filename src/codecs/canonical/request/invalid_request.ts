import { asSentence, GatewayError } from "@gateway/base/error";

/**
 * Returns the error for a missing or invalid field.
 *
 * @param fault The second half of a sentence about the field, with or without its period: "is missing".
 */
export function invalidField(param: string, fault: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot read the request: \`${param}\` ${asSentence(fault)}`,
    { param },
  );
}

/** One issue that a schema library reports. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Returns the error for the first issue of a schema check. */
export function invalidIssue(issues: readonly Issue[]): GatewayError {
  const issue = issues[0];
  const param = issue === undefined ? "" : paramOf(issue.path);
  if (issue === undefined || param === "") {
    return new GatewayError(
      "invalid_request",
      "Cannot read the request: it is not a JSON object. Send one JSON object.",
    );
  }
  return invalidField(param, `is wrong: ${issue.message}`);
}

/** Returns a path in the notation of API errors: `messages[0].content`. */
function paramOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((param, key) => {
    if (typeof key === "number") return `${param}[${key}]`;
    return param === "" ? String(key) : `${param}.${String(key)}`;
  }, "");
}

interface UnsupportedStateOptions {
  /** The rejected value inside the field, such as a kind of item; absent when the whole field is rejected. */
  readonly what?: string;
  /** The instruction, as a sentence with or without its period; default: send the whole history. */
  readonly advice?: string;
  /** The code of the error. SDKs act on the code and on the details. */
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Returns the error for a request that needs stored state (docs/design.md#native-and-translated). */
export function unsupportedState(
  param: string,
  {
    what,
    advice = "Send the whole history instead.",
    ...options
  }: UnsupportedStateOptions = {},
): GatewayError {
  const place = what === undefined
    ? `\`${param}\``
    : `\`${what}\` in \`${param}\``;
  return new GatewayError(
    "invalid_request",
    `Cannot use ${place}: the gateway keeps no state between requests. ${
      asSentence(advice)
    }`,
    { param, ...options },
  );
}
