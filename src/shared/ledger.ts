import {
  type Change,
  type Claim,
  type Decision,
  HOLD_MS,
  type Sums,
} from "../usage/sums.ts";

/** Changes that are made together, and only once even when they are sent again. */
export interface Batch extends Required<Change> {
  /** The unguessable id of the batch. */
  readonly id: string;
}

/** The time since which a ledger counts everything, in milliseconds since 1970; `undefined` before it counts. */
interface Since {
  readonly sinceMs: number | undefined;
}

/**
 * The sums that several processes or threads share: those of the main thread, or of a store. It handles calls in the
 * order in which they were sent. Each function rejects when the ledger is unreachable or the outcome of the call is
 * unknown.
 */
export interface Ledger {
  /** True while the ledger is unreachable; then no request waits for it. */
  readonly isAway: boolean;
  /** Makes the changes of a batch; a failed batch must be sent again. */
  apply(batch: Batch): Promise<void>;
  /**
   * Grants all claims or none, as {@linkcode Sums.reserve} does. For the id `""` it only returns the use of the limits.
   */
  reserve(id: string, claims: readonly Claim[]): Promise<Decision & Since>;
  /** Returns the values of a table. */
  table(
    name: string,
  ): Promise<Since & { readonly values: ReadonlyMap<string, number> }>;
  /** Returns true for the first call with the name. */
  once(name: string, endsAtMs: number): Promise<boolean>;
}

/** A call of the ledger in the main thread, as plain data. */
export type LedgerCall = {
  readonly [Kind in CallKind]: {
    readonly kind: Kind;
    readonly args: Parameters<Ledger[Kind]>;
  };
}[CallKind];

/** The reply to a call. */
export type LedgerReply = {
  readonly [Kind in CallKind]: {
    readonly kind: Kind;
    readonly value: Awaited<ReturnType<Ledger[Kind]>>;
  };
}[CallKind];

type CallKind = Exclude<keyof Ledger, "isAway">;

/** Answers a thread's call with the sums of the process; never rejects. */
export async function answerLedgerCall(
  call: LedgerCall,
  sums: Sums,
): Promise<LedgerReply> {
  const { kind } = call;
  switch (kind) {
    case "apply":
      return { kind, value: sums.apply(...call.args) };
    case "reserve": {
      const [id, claims] = call.args;
      const decision = id === ""
        ? { isGranted: false, uses: await sums.uses(claims) }
        : await sums.reserve(id, claims, HOLD_MS);
      return { kind, value: { ...decision, sinceMs: sums.sinceMs } };
    }
    case "table": {
      const values = await sums.table(...call.args);
      return { kind, value: { values, sinceMs: sums.sinceMs } };
    }
    case "once":
      return { kind, value: await sums.once(...call.args) };
  }
}

/** A thread's access to the ledger of its process. */
interface ThreadLedger {
  readonly ledger: Ledger;
  /** Handles the reply to the call `id`; replies to calls of another thread are ignored. */
  take(id: string, reply: LedgerReply): void;
}

/**
 * Creates a ledger that calls the main thread, which is always reachable and loses nothing.
 *
 * @param thread The unique name of this thread, different from those of earlier threads in its place.
 */
export function createThreadLedger(
  thread: string,
  send: (id: string, call: LedgerCall) => void,
): ThreadLedger {
  const waiting = new Map<string, (reply: LedgerReply) => void>();
  let calls = 0;

  function ask(call: LedgerCall): Promise<LedgerReply> {
    const id = `${thread} ${++calls}`;
    const { promise, resolve } = Promise.withResolvers<LedgerReply>();
    waiting.set(id, resolve);
    send(id, call);
    return promise;
  }

  return {
    ledger: {
      isAway: false,
      async apply(...args) {
        await ask({ kind: "apply", args });
      },
      async reserve(...args) {
        const reply = await ask({ kind: "reserve", args });
        return reply.kind === "reserve" ? reply.value : otherKind();
      },
      async table(...args) {
        const reply = await ask({ kind: "table", args });
        return reply.kind === "table" ? reply.value : otherKind();
      },
      async once(...args) {
        const reply = await ask({ kind: "once", args });
        return reply.kind === "once" ? reply.value : otherKind();
      },
    },
    take(id, reply) {
      waiting.get(id)?.(reply);
      waiting.delete(id);
    },
  };
}

function otherKind(): never {
  throw new Error("The reply belongs to another call");
}
