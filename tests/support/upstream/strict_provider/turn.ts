import type { Turn } from "./ask.ts";

/** Creates a turn that is empty except for `fields`. */
export function createTurn(
  role: Turn["role"],
  fields: Partial<Omit<Turn, "role">>,
): Turn {
  return {
    role,
    texts: [],
    attachmentCount: 0,
    calls: [],
    callId: undefined,
    ...fields,
  };
}
