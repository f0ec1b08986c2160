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

/** Opens the gateway's own seals in the native requests of a protocol, for one target. */
interface OwnSeals {
  /** The path to the objects with seals. Each field of the path holds a list. */
  readonly path: readonly [outer: string, inner?: string];
  /** The fields that are read from an object with a seal. */
  readonly keys: readonly string[];
  /** Returns the field that holds the seal in objects of this `type`, or `undefined` if such objects have no seal. */
  fieldOf(type: string): string | undefined;
  /**
   * Returns what the target gets in place of `envelope`, which may be any text.
   *
   * - `kept`: the text is not the gateway's seal, so the object stays.
   * - `cut`: the target cannot read the seal, so the object is left out.
   * - `item`: an object that replaces the whole object.
   * - `value`: the target's own seal, with the `id` of the object if it has one.
   */
  open(type: string, envelope: string): OpenedSeal;
}

type OpenedSeal =
  | "kept"
  | "cut"
  | { readonly item: JsonObject }
  | { readonly value: string; readonly id: string | undefined };

/** The path to sealed reasoning, and the field of the seal by the type of the object. */
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

/** The `form` of a sealed part, by the field that holds it. */
const FORMS = {
  signature: "signature",
  data: "redacted",
  encrypted_content: "encrypted_content",
};

const KEYS = ["type", "id", ...Object.keys(FORMS)];

/** The longest seal that is decoded, in characters. Decoding a seal of this length takes some 30 ms. */
const MAX_LENGTH = 1024 * 1024;

/**
 * Returns the opener of the gateway's own seals in native requests for a target. The opener unwraps the seals of this
 * target. Returns `undefined` for a protocol without seals. Also returns `undefined` if the target is another gateway,
 * because that gateway opens the seals itself.
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
        // The binding can be checked only in a translated request.
        sealed.bound && dialectOf(target).thinkingBinding === "checked"
      ) return "cut";
      return { value: sealed.value, id: sealed.id };
    },
  };
}
