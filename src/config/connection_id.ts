import { uuidV5 } from "../core/std.ts";

/** Under which names become ids (RFC 9562, section 5.5); made for this program. */
const ID_NAMESPACE = "ab7c63bb-b5c4-4b72-94ed-987782655fdf";

/** The id of a connection in lower case: its own, else the UUIDv5 of its name. */
export async function connectionId(
  { id, name }: { readonly id?: string | undefined; readonly name: string },
): Promise<string> {
  if (id !== undefined) return id.toLowerCase();
  return await uuidV5(ID_NAMESPACE, new TextEncoder().encode(name));
}
