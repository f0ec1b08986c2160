import { lookup } from "@gateway/base/collections";
import type { JsonObject } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { Target } from "../canonical/codec.ts";
import {
  isWrapped,
  maySend,
  unwrapSealed,
} from "../canonical/content/sealed.ts";
import { dialectOf } from "../messages/dialect.ts";
import { summaryIn } from "../responses/request/opaque_item.ts";

/** The seals of the gateway's own in the native requests of a protocol, for one target. */
interface OwnSeals {
  /** The lists on the way to the objects that may have a seal. */
  readonly path: readonly [outer: string, inner?: string];
  /** The members of such an object that matter. */
  readonly keys: readonly string[];
  /** Returns the field of the seal in an object with a `type`; `undefined` when it has none. */
  fieldOf(type: string): string | undefined;
  /**
   * Returns what the target gets in place of a seal, which may be any text.
   *
   * - `kept`: the seal is not the gateway's own, so the object stays.
   * - `cut`: the target can read nothing of it, so the object must be left out.
   * - `item`: another object in place of the whole one.
   * - `value`: the target's own seal, with the `id` of the object if it has one.
   */
  open(type: string, envelope: string): OpenedSeal;
}

type OpenedSeal =
  | "kept"
  | "cut"
  | { readonly item: JsonObject }
  | { readonly value: string; readonly id: string | undefined };

/** The lists on the way to sealed reasoning, and the field of the seal by the type of the object. */
interface SealPlaces extends Pick<OwnSeals, "path"> {
  readonly seals: Readonly<Record<string, keyof typeof FORMS>>;
}

const PLACES: Readonly<Partial<Record<Protocol, SealPlaces>>> = {
  chat: {
    path: ["messages", "reasoning_details"],
    seals: { "reasoning.encrypted": "data" },
  },
  messages: {
    path: ["messages", "content"],
    seals: { thinking: "signature", redacted_thinking: "data" },
  },
  responses: {
    path: ["input"],
    seals: { reasoning: "encrypted_content", compaction: "encrypted_content" },
  },
};

/** The `form` of what an issuer has in the field of its seal. */
const FORMS = {
  signature: "signature",
  data: "redacted",
  encrypted_content: "encrypted_content",
};

const KEYS = ["type", "id", ...Object.keys(FORMS)];

/** The longest seal that is decoded, in characters. That takes some 30 ms. */
const MAX_LENGTH = 1024 * 1024;

/**
 * Returns the seals of the gateway's own that a native request may have for a target. What this target sealed is
 * unwrapped. `undefined` when the protocol has none, and for another gateway, which reads such seals itself.
 */
export function ownSeals(
  protocol: Protocol,
  target: Target,
): OwnSeals | undefined {
  const places = PLACES[protocol];
  if (places === undefined || target.service === "gateway") return undefined;
  const { path, seals } = places;
  const fieldOf = (type: string) => lookup(seals, type);
  return {
    path,
    keys: KEYS,
    fieldOf,
    open(type, envelope) {
      if (!isWrapped(envelope)) return "kept";
      if (envelope.length > MAX_LENGTH) return "cut";
      const summary = type === "compaction"
        ? summaryIn({ encrypted_content: envelope })
        : undefined;
      if (summary !== undefined) {
        const content = [{ type: "input_text", text: summary }];
        return { item: { type: "message", role: "user", content } };
      }
      const sealed = unwrapSealed(envelope);
      const { connectionId } = target;
      const field = fieldOf(type);
      if (
        sealed === undefined || field === undefined ||
        sealed.form !== FORMS[field] ||
        !maySend(sealed, { protocol, connectionId }) ||
        // What it is bound to can be compared only as translated.
        sealed.bound && dialectOf(target).thinkingBinding === "checked"
      ) return "cut";
      return { value: sealed.value, id: sealed.id };
    },
  };
}
