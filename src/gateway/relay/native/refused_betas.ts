import type { Connection } from "../../config/config.ts";
import type { Failure } from "@gateway/codecs";

const HEADER = "anthropic-beta";

const MAX_BETAS = 32;

/**
 * Returns the reason for the log when a provider refuses a beta of a native request, or a field of a beta. The reason
 * contains the line to add to the connection.
 *
 * - Vertex names the beta: "Unexpected value(s) `x` for the `anthropic-beta` header".
 * - Bedrock does not name the beta: "invalid beta flag". The line then has all betas of the request.
 * - Some refuse a field: "context_management: Extra inputs are not permitted". Only the client can leave the field out.
 *   But `headers_drop` may be the cause, because a provider refuses the fields of a beta whose header was dropped.
 *
 * Sources: https://github.com/anthropics/claude-code/issues/34802,
 * https://github.com/anthropics/claude-code/issues/49370, https://github.com/Wei-Shaw/sub2api/issues/2726
 *
 * @param sent The headers that the provider got.
 * @returns `undefined` for other failures, and for requests without betas.
 */
export function reasonOfRefusedBetas(
  { kind, message }: Failure,
  sent: readonly (readonly [name: string, value: string])[],
  { headersDrop }: Pick<Connection, "headersDrop">,
): string | undefined {
  if (kind !== "invalid_request") return undefined;
  const header = sent.find(([name]) => name.toLowerCase() === HEADER)?.[1];
  const betas = (header ?? "").split(",").map((one) => one.trim())
    .filter((one) => /^[a-z\d-]{1,64}$/.test(one)).slice(0, MAX_BETAS);
  const dropped = headersDrop[HEADER] ?? [];
  const lineWith = (refused: readonly string[]) =>
    `headers_drop: { ${HEADER}: [${[...dropped, ...refused].join(", ")}] }`;
  const named = betas.filter((beta) => message.includes(beta));
  if (named.length > 0) {
    return `the provider refuses a beta; add to its connection ${
      lineWith(named)
    }`;
  }
  if (/\bbeta (?:flag|header)|anthropic[-_]beta/i.test(message)) {
    return betas.length === 0
      ? undefined
      : "the provider refuses a beta without naming it; add to its connection " +
        `${lineWith(betas)}, without the betas that it knows`;
  }
  if (!/extra inputs are not permitted/i.test(message)) return undefined;
  const undone = dropped.find((beta) => hasField(beta, message));
  if (undone !== undefined) {
    return `the provider refuses a field of the beta ${undone}; remove this beta from headers_drop of its connection`;
  }
  const owner = betas.find((beta) => hasField(beta, message));
  return owner && `the provider refuses a field of the beta ${owner}; ` +
      `${
        lineWith([owner])
      } drops the beta, but only the client can drop the field`;
}

/** Returns true when the field at the start of a message has the words of a beta's name. */
function hasField(beta: string, message: string): boolean {
  const [feature = ""] = beta.split(/-\d{4}-/);
  const [field = ""] = message.split(": ");
  return field.replaceAll("_", "-").split(".").some((word) =>
    word.length > 4 && (feature === word || feature.endsWith(`-${word}`))
  );
}
