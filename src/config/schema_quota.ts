import { z } from "zod";
import { QUOTA_KINDS } from "./quota_kinds.ts";
import { text } from "./schema_fields.ts";

/** `quota` of a connection: how its quota is read. */
export const quotaSchema = z.strictObject({
  /** Default: the service's own. `none` turns the reading off. */
  kind: z.enum(QUOTA_KINDS).optional(),
  plan: z.enum(["personal", "team"]).default("personal"),
  /** Of a team plan. */
  organization: text().optional(),
  /** Of a team plan. */
  project: text().optional(),
  /** Overrides the endpoint of the kind. */
  url: text().optional(),
});
