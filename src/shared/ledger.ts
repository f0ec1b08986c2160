import {
  type Change,
  type Claim,
  type Decision,
  HOLD_MS,
  type Sums,
} from "../usage/sums.ts";

/** Changes that are made together, and once however often they are sent. */
export interface Batch extends Required<Change> {
  /** Names the batch; unguessable. */
  readonly id: string;
}

/** Since when a ledger counts everything, in milliseconds since 1970; `undefined`: it counts nothing yet. */
interface Since {
  readonly sinceMs: number | undefined;
}

/**
 * The keeper of the sums that several processes or threads share. What is sent first is done first. Each function
 * rejects when the keeper cannot be asked, or when it is not known what became of the call.
 */
export interface Ledger {
  /** Whether it is out of reach; nobody waits for it then. */
  readonly isAway: boolean;
  /** Makes the changes of a batch; a batch that fails has to be sent again. */
  apply(batch: Batch): Promise<void>;
  /** Grants all claims or none, as {@linkcode Sums.reserve}; for the id `""` it only returns how far they are used. */
  reserve(id: string, claims: readonly Claim[]): Promise<Decision & Since>;
  /** Reads a table. */
  table(
    name: string,
  ): Promise<Since & { readonly values: ReadonlyMap<string, number> }>;
  /** Returns whether this is the first call with the name. */
  once(name: string, endsAtMs: number): Promise<boolean>;
}

/** A call of the ledger in the main thread: data alone. */
export type LedgerCall = {
  readonly [Kind in CallKind]: {
    readonly kind: Kind;
    readonly args: Parameters<Ledger[Kind]>;
  };
}[CallKind];

/** What a call returned. */
export type LedgerReply = {
  readonly [Kind in CallKind]: {
    readonly kind: Kind;
    readonly value: Awaited<ReturnType<Ledger[Kind]>>;
  };
}[CallKind];

type CallKind = Exclude<keyof Ledger, "isAway">;

/** Answers the calls of threads by the sums of their process; never rejects. */
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

/** The ledger of a process, as one of its threads reaches it. */
interface ThreadLedger {
  readonly ledger: Ledger;
  /** Takes the reply to the call `id`; replies to calls of another thread are passed over. */
  take(id: string, reply: LedgerReply): void;
}

/**
 * Calls the ledger of the main thread, which is always there and loses nothing.
 *
 * @param thread Names this thread, in contrast to those that were in its place before.
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
