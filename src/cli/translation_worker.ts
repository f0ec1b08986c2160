import { randomIds } from "../core/ids.ts";
import {
  type RecalledReasoning,
  translateBody,
  translateWhole,
} from "../relay/translation_jobs.ts";
import {
  sentError,
  type ThreadOrder,
  type ThreadReport,
} from "../relay/translation_thread.ts";

/** The module of a thread that translates: it does one job after the other, and may do nothing else. */
globalThis.addEventListener("message", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) obey(port);
}, { once: true });

function obey(port: MessagePort): void {
  let onRecalled = (_reasoning: RecalledReasoning) => {};

  function recall(callIds: readonly string[]): Promise<RecalledReasoning> {
    const { promise, resolve } = Promise.withResolvers<RecalledReasoning>();
    onRecalled = resolve;
    report({ kind: "recall", callIds });
    return promise;
  }

  function report(one: ThreadReport): void {
    const isBytes = one.kind === "answer_done";
    port.postMessage(one, isBytes ? [one.result.bytes.buffer] : []);
  }

  async function follow(order: ThreadOrder): Promise<void> {
    switch (order.kind) {
      case "recalled":
        return onRecalled(order.reasoning);
      case "request": {
        const result = await translateBody(order.job, recall);
        // With the platform it is at hand there, too, without another copy.
        const body = new Blob([result.body]);
        return report({ kind: "request_done", result: { ...result, body } });
      }
      case "answer": {
        const result = translateWhole(order.job, randomIds);
        return report({ kind: "answer_done", result });
      }
    }
  }

  port.onmessage = ({ data }) => {
    follow(data).catch((error) =>
      report({ kind: "failed", error: sentError(error) })
    );
  };
}
