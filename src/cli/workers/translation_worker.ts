import { randomIds } from "../../core/ids.ts";
import { translateWhole } from "../../relay/translated/answer_job.ts";
import {
  type RecalledReasoning,
  translateBody,
} from "../../relay/translated/request_job.ts";
import {
  sentError,
  type ThreadOrder,
  type ThreadReport,
} from "../../relay/translated/translation_thread.ts";
import { reportUncaught } from "../server/signals.ts";

/** The module of a translation thread: it runs one job after the other, without permissions. */
globalThis.addEventListener("message", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) handleOrders(port);
}, { once: true });

function handleOrders(port: MessagePort): void {
  reportUncaught(() => report({ kind: "died" }));
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
        const result = await translateBody(order.job, recall);
        return report({ kind: "request_done", result });
      }
      case "answer": {
        const result = translateWhole(order.job, randomIds);
        return report({ kind: "answer_done", result });
      }
    }
  }

  port.onmessage = ({ data }) => {
    handle(data).catch((error) =>
      report({ kind: "failed", error: sentError(error) })
    );
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
