import type { JsonObject } from "../../../src/base/json.ts";
import { createLog, type Log } from "../../../src/gateway/observe/log.ts";
import { createInbox, type Inbox } from "../fakes/inbox.ts";
import { until } from "../within.ts";

/** The log of a gateway. */
export interface LogLines {
  readonly log: Log;
  /** Returns the whole log as text. */
  text(): string;
  /** The lines about requests. */
  readonly requests: Inbox<JsonObject>;
  /** Returns the line about the request of a response; waits for it, with a timeout. */
  of(response: Pick<Response, "headers">): Promise<JsonObject>;
  /** All other lines. */
  readonly others: Inbox<JsonObject>;
}

/** Creates a log in the format of `serve`, in memory. */
export function createLogLines(): LogLines {
  const requests = createInbox<JsonObject>("a log line about a request");
  const others = createInbox<JsonObject>("a log line");
  let text = "";
  const log = createLog({
    format: "json",
    now: Date.now,
    sink(line) {
      text += line;
      const fields = JSON.parse(line);
      (fields.event === "request" ? requests : others).put(fields);
    },
  });
  async function of(
    { headers }: Pick<Response, "headers">,
  ): Promise<JsonObject> {
    const id = headers.get("x-request-id");
    let line: JsonObject | undefined;
    await until(() => {
      line = requests.items.find(({ request_id }) => request_id === id);
      return line !== undefined;
    }, `the log line about ${id}`);
    return line ?? {};
  }

  return { log, text: () => text, requests, of, others };
}
