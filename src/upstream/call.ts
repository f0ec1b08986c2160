import type { Deadlines } from "../core/time/deadlines.ts";
import { discard } from "../streams/discard.ts";
import { type UpstreamAnswer, withReadHeaders } from "./answer.ts";
import type { ConnectWatch } from "./connect_watch.ts";
import {
  brokenUpstream,
  callErrorOf,
  silentUpstream,
  unconnected,
  unreachable,
} from "./failure.ts";
import { undoEncoding } from "./undo_encoding.ts";

/** The web's `fetch`, or anything of its shape: the network, the demo provider or a test's script. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The caller went away; nobody is left to answer. */
export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

/** One HTTP exchange with an upstream. */
export interface UpstreamCall {
  readonly url: string;
  readonly headers: [string, string][];
  readonly body: BodyInit;
  readonly deadlines: Deadlines;
  readonly connects: ConnectWatch;
  /** Until there is a connection, in milliseconds; 0 means forever. */
  readonly connectMs: number;
  /** Until the response headers, in milliseconds; 0 means forever. Does not bound the body. */
  readonly firstByteMs: number;
  /** Aborts the exchange, its body included; its reason tells why and is what is thrown then. */
  readonly controller: AbortController;
}

/** A lower status is no final answer (RFC 9110, section 15.2): nobody asked for a 101. */
const MIN_STATUS = 200;

/** Statuses above this exist on some servers, but no `Response` can be made with one. */
export const MAX_STATUS = 599;

/**
 * Sends a request and waits for the response headers. Redirects are not followed; a content encoding that
 * was not asked for is undone.
 *
 * @throws {GatewayError} `upstream` when there is no answer that can be read or its status is not from 200 to 599,
 * `timeout` when it does not come in time.
 * @throws {CallerLeft} When the caller left meanwhile.
 */
export async function callUpstream(
  fetch: Fetch,
  call: UpstreamCall,
): Promise<UpstreamAnswer> {
  const { url, controller, connects, deadlines } = call;
  const sinceMs = deadlines.elapsedMs();
  // The shorter deadline comes first, so that the timer of all is set once for both.
  const stopWatching = connects.start({
    url,
    withinMs: call.connectMs,
    sinceMs,
    onUnreachable: () => controller.abort(unconnected()),
  });
  const takeBack = deadlines.start(
    call.firstByteMs,
    () => controller.abort(silentUpstream()),
    sinceMs,
  );
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: "POST",
      headers: call.headers,
      body: call.body,
      redirect: "manual",
      signal: controller.signal,
    });
    connects.noteReached(url);
  } catch (cause) {
    throw callErrorOf(cause, controller.signal, unreachable);
  } finally {
    takeBack();
    stopWatching();
  }
  const { status } = answer;
  if (status >= MIN_STATUS && status <= MAX_STATUS) {
    return undoEncoding(withReadHeaders(answer));
  }
  discard(answer);
  throw brokenUpstream(`it has the status ${status}`);
}
