import { GatewayError } from "../../core/error.ts";

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

/**
 * State that the gateway does not keep (docs/design.md#native-and-translated).
 *
 * @param options Further facts that an SDK acts on.
 */
export function unsupportedState(
  param: string,
  options: {
    readonly code?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  } = {},
): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot use \`${param}\`: the gateway keeps no state between requests. Send the whole history instead`,
    { param, ...options },
  );
}
