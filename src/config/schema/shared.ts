import { z } from "zod";
import { text } from "./fields.ts";

const EXAMPLE = "rediss://gateway@valkey.example:6379/0";

const PREFIX_REGEXP = /^[\x21-\x7e]{1,64}$/;

/** `shared`. */
export const sharedSchema = z.strictObject({
  url: text().refine(isStoreUrl, {
    error: `must be the URL of a Valkey or Redis server, such as ${EXAMPLE}`,
  }).describe(
    "The store: redis: or rediss: (TLS), with a user, a password and the number of a database where there are any.",
  ),
  password: text().optional().describe(
    "The store's password as it is, where it does not stand in url.",
  ),
  password_file: text().optional().describe(
    "A file that holds the password: path, relative to this file.",
  ),
  ca: text().optional().describe(
    "The certificates that the store's is checked against in place of the system's: path of a PEM file, relative to this file.",
  ),
  prefix: z.string().regex(PREFIX_REGEXP, {
    error: "must be 1 to 64 printable ASCII characters without spaces",
  }).default("model-gateway:").describe(
    "What the name of every key in the store begins with.",
  ),
});

function isStoreUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(value);
  return /^rediss?:$/.test(protocol) && hostname !== "" &&
    /^\/?$|^\/\d{1,5}$/.test(pathname) && search === "" && hash === "";
}
