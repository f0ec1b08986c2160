import type { Sums } from "../../usage/sums.ts";
import type { Batch, RemoteReservation } from "./remote_ledger.ts";
import type { LedgerAnswer, LedgerQuestion } from "./ledger_question.ts";

/** Answers what threads ask of the sums of their process; never rejects. */
export interface LedgerDesk {
  answer(question: LedgerQuestion): Promise<LedgerAnswer>;
}

/** Answers by sums that are in memory here, or beside a store. */
export function createLedgerDesk(sums: Sums): LedgerDesk {
  return {
    async answer(question) {
      switch (question.kind) {
        case "apply":
          return { kind: "apply", values: apply(question.batch, sums) };
        case "reserve":
          return { kind: "reserve", told: await reserve(question.list, sums) };
        case "table":
          return { kind: "table", table: await sums.table(question.name) };
      }
    },
  };
}

/** A process loses nothing: there is nothing to restore. */
function apply({ operations }: Batch, sums: Sums): readonly number[] {
  for (const { kind, sum, amount } of operations) {
    if (kind === "add") sums.add([{ sum, amount }]);
    if (kind === "begin") sums.begin([{ sum, amount }]);
  }
  return sums.read(operations.map(({ sum }) => sum));
}

async function reserve(
  list: Extract<LedgerQuestion, { kind: "reserve" }>["list"],
  sums: Sums,
): Promise<RemoteReservation> {
  const refused = await sums.reserve(list);
  if (refused === undefined) {
    return { values: sums.read(list.map(({ sum }) => sum)) };
  }
  const index = list.indexOf(refused.reservation);
  return { refused: index, used: refused.used };
}
