/**
 * One request of a log. The test sets some fields, and defaults fill the model, connection and
 * caller.
 */
export interface LoggedLine {
  readonly [field: string]: unknown;
}

/** Returns a request line of the gateway's JSON log, with its line feed. */
export function loggedLine(fields: LoggedLine = {}): string {
  const line = {
    time: "2026-11-21T12:00:00.000Z",
    level: "info",
    event: "request",
    request_id: "req_1",
    token: "alice",
    model: "glm-fast",
    connection: "GLM team",
    status: 200,
    usage: { input_tokens: 100, output_tokens: 10 },
    ended: "complete",
    ...fields,
  };
  return `${JSON.stringify(line)}\n`;
}
