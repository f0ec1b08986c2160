import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { entrySchema, flag, loose, text } from "./listed_entry.ts";
import { factsOf } from "./listed_facts.ts";
import type { ModelFacts } from "./model_facts.ts";

/** A page of a provider's list. */
export interface ModelPage {
  /** Its entries by the provider's name of the model. */
  readonly models: ReadonlyMap<string, ModelFacts>;
  /** How many entries it has. */
  readonly count: number;
  /** What asks for the page after it; `undefined` when this is the last. */
  readonly next: PageQuery | undefined;
}

/** The query of a further page. */
export type PageQuery =
  | { readonly after_id: string }
  | { readonly pageToken: string }
  /** The page after as many entries as were read by then. */
  | { readonly offset: "read" };

/** Each is looked at by itself, and there may be very many. */
const entriesSchema = z.custom<readonly unknown[]>(Array.isArray);

/** A list is an array, or stands under one of two names. */
const pageSchema = z.union([
  entriesSchema.transform((data) => ({ data })),
  z.object({
    data: entriesSchema,
    has_more: flag,
    last_id: text,
    links: loose(z.object({ next: text })),
  }),
  z.object({ models: entriesSchema, nextPageToken: text })
    .transform(({ models, ...page }) => ({ ...page, data: models })),
]);

/**
 * Reads a page of a provider's list of models, in the shape of any provider.
 *
 * @param wanted The provider's names of the models that matter. Nothing else of other entries is looked at: a list
 * may be as long as it likes.
 * @returns `undefined` when it is no such list.
 */
export function readModelPage(
  body: JsonValue,
  wanted: ReadonlySet<string>,
): ModelPage | undefined {
  const { success, data: page } = pageSchema.safeParse(body);
  if (!success) return undefined;
  const models = new Map<string, ModelFacts>();
  for (const value of page.data) {
    const id = isJsonObject(value) ? idOf(value) : undefined;
    if (id === undefined || !wanted.has(id) || models.has(id)) continue;
    const { data: entry } = entrySchema.safeParse(value);
    if (entry !== undefined) models.set(id, factsOf(id, entry, value));
  }
  return { models, count: page.data.length, next: nextOf(page) };
}

/** Google's name of a model is the end of the path at which it is told. */
function idOf({ id, slug, name }: JsonObject): string | undefined {
  if (typeof id === "string") return id;
  if (typeof slug === "string") return slug;
  return typeof name === "string" ? name.replace(/^models\//, "") : undefined;
}

/** A page, whichever of the shapes it has. */
interface Page {
  readonly data: readonly unknown[];
  readonly has_more?: boolean | undefined;
  readonly last_id?: string | undefined;
  readonly links?: { readonly next?: string | undefined } | undefined;
  readonly nextPageToken?: string | undefined;
}

function nextOf(
  { has_more, last_id, links, nextPageToken }: Page,
): PageQuery | undefined {
  if (has_more === true && last_id !== undefined) return { after_id: last_id };
  if (nextPageToken !== undefined) return { pageToken: nextPageToken };
  return links?.next === undefined ? undefined : { offset: "read" };
}
