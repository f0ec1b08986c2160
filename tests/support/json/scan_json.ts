import type { ByteSpan } from "../../../src/json_scan/key.ts";
import { JsonObjectScan } from "../../../src/json_scan/scan.ts";

/**
 * Scans a complete document.
 *
 * @returns The span of each watched value.
 */
export function scanJsonObject(
  bytes: Uint8Array,
  keys: readonly string[],
): ReadonlyMap<string, ByteSpan> {
  const scan = new JsonObjectScan(keys);
  scan.push(bytes);
  return new Map([...scan.end()].map(([key, { span }]) => [key, span]));
}
