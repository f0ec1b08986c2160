export { type ByteEdit, type ByteRun, type ByteSpan, matchKey } from "./key.ts";
export {
  type FoundValue,
  JsonObjectScan,
  type StructureSink,
  type ValueSink,
} from "./scan.ts";
export { JsonScanError } from "./scan_error.ts";
export { type FoundString, type Place, StringFinder } from "./string_finder.ts";
export { JsonEnd, type JsonEvent, JsonWalker } from "./walker.ts";
