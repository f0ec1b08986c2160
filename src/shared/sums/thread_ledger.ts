import type { LedgerAnswer, LedgerQuestion } from "./ledger_question.ts";
import type { RemoteLedger } from "./remote_ledger.ts";

/** The sums of the process, as one of its threads reaches them. */
export interface ThreadLedger {
  readonly ledger: RemoteLedger;
  /** Takes the answer to what was asked under `id`; what this thread did not ask is passed over. */
  take(id: string, answer: LedgerAnswer): void;
}

/**
 * Asks the thread that keeps the sums, which is always there and loses nothing.
 *
 * @param thread Tells this thread from those that were in its place before.
 */
export function createThreadLedger(
  thread: string,
  send: (id: string, question: LedgerQuestion) => void,
): ThreadLedger {
  const asked = new Map<string, (answer: LedgerAnswer) => void>();
  let questions = 0;

  function ask(question: LedgerQuestion): Promise<LedgerAnswer> {
    const id = `${thread} ${++questions}`;
    const { promise, resolve } = Promise.withResolvers<LedgerAnswer>();
    asked.set(id, resolve);
    send(id, question);
    return promise;
  }

  return {
    ledger: {
      isAway: false,
      async apply(batch) {
        const answer = await ask({ kind: "apply", batch: plain(batch) });
        if (answer.kind !== "apply") throw otherKind();
        return answer.values;
      },
      async reserve(list) {
        const answer = await ask({ kind: "reserve", list });
        if (answer.kind !== "reserve") throw otherKind();
        return answer.told;
      },
      async table(name) {
        const answer = await ask({ kind: "table", name });
        if (answer.kind !== "table") throw otherKind();
        return answer.table;
      },
    },
    take(id, answer) {
      asked.get(id)?.(answer);
      asked.delete(id);
    },
  };
}

/** Without what the sender remembers with it. */
function plain(
  { number, losses, operations }: Parameters<RemoteLedger["apply"]>[0],
) {
  return { number, losses, operations };
}

function otherKind(): Error {
  return new Error("The answer is to another question");
}
