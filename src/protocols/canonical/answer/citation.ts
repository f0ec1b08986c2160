import type { JsonObject } from "../../../core/json.ts";
import type { Raw } from "../request/extras.ts";

/** What backs a piece of text. */
export interface Citation {
  /** The page, where it is one: only these cross to another protocol. */
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** The words of the source. */
  readonly quote?: string | undefined;
  /** Where the backed text begins in its block, in UTF-16 code units, where the protocol says so. */
  readonly startIndex?: number | undefined;
  /** One past its end. */
  readonly endIndex?: number | undefined;
  /** The whole citation in its own protocol's spelling. */
  readonly raw?: Raw<JsonObject> | undefined;
}
