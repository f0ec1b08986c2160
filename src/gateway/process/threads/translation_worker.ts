import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { randomIds } from "@gateway/base/ids";
import { translateBody, translateWhole } from "@gateway/codecs";
import {
  type RecalledReasoning,
  sentError,
  type ThreadOrder,
  type ThreadReport,
} from "../../relay/translated/translation_thread.ts";
import { LongBytes } from "@gateway/base/streams/bytes";
import { reportUncaught } from "../signals.ts";

/** The module of a translation thread: it runs one job after the other, without permissions. */
globalThis.addEventListener("message", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) handleOrders(port);
}, { once: true });

/**
 * The total length of bodies after which garbage is collected, in bytes. It is large, because a collection takes longer
 * than the translation of a megabyte: V8 also drops the code that it has compiled.
 */
const COLLECT_BYTES = 8 * 1024 * 1024;

/** The length of a body from which garbage is collected as soon as the body was read, in bytes. */
const LONG_BYTES = 2 * 1024 * 1024;

const collectGarbage = findCollector();

/** Returns V8's garbage collector, or a function that does nothing if the platform hides it. */
function findCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("globalThis.gc");
  return typeof found === "function" ? () => void found() : () => {};
}

function handleOrders(port: MessagePort): void {
  reportUncaught(() => report({ kind: "died" }));
  /** The total length of the bodies since the last collection. */
  let bytes = 0;

  /** Frees a body after it was read. Also collects the garbage of a long body at once. */
  function free(body: Uint8Array<ArrayBuffer>): void {
    const { length } = body;
    new LongBytes([body]).free();
    bytes += length;
    if (length >= LONG_BYTES) collectGarbage();
  }

  /**
   * Collects the garbage of many bodies. V8 alone would let this garbage grow to several times their length. The report
   * of the last body is already sent, so no request waits for the collection.
   */
  function collect(): void {
    if (bytes < COLLECT_BYTES) return;
    bytes = 0;
    collectGarbage();
  }

  let onRecalled = (_reasoning: RecalledReasoning) => {};

  function recall(callIds: readonly string[]): Promise<RecalledReasoning> {
    const { promise, resolve } = Promise.withResolvers<RecalledReasoning>();
    onRecalled = resolve;
    report({ kind: "recall", callIds });
    return promise;
  }

  function report(one: ThreadReport): void {
    port.postMessage(one, transfersOf(one));
  }

  async function handle(order: ThreadOrder): Promise<void> {
    switch (order.kind) {
      case "recalled":
        return onRecalled(order.reasoning);
      case "request": {
        const { body } = order.job;
        const translating = translateBody(order.job, recall, () => free(body));
        // A body that was not read is freed here; freeing twice does nothing.
        const result = await translating.finally(() => free(body));
        return report({ kind: "request_done", result });
      }
      case "answer": {
        const { answer } = order.job;
        const result = translateWhole(order.job, randomIds);
        if (answer instanceof Uint8Array) free(answer);
        return report({ kind: "answer_done", result });
      }
    }
  }

  port.onmessage = ({ data }) => {
    handle(data).catch((error) =>
      report({ kind: "failed", error: sentError(error) })
    ).finally(collect);
  };
}

function transfersOf(report: ThreadReport): Transferable[] {
  switch (report.kind) {
    case "request_done":
      return [report.result.body.buffer];
    case "answer_done":
      return [report.result.bytes.buffer];
    default:
      return [];
  }
}
