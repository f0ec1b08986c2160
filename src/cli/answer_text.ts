import { createByteReader } from "../streams/byte_reader.ts";
import { readAll } from "../streams/read_all.ts";

/** Many times what any gateway answers, in bytes: a list of 10,000 models has some 8 MB. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * The text of an answer.
 *
 * @returns `undefined` for one that is longer than any gateway's: whatever answers there, it is none.
 * @throws Whatever reading it throws.
 */
export async function answerText(
  { body }: Response,
): Promise<string | undefined> {
  if (body === null) return "";
  const bytes = await readAll(createByteReader(body), MAX_ANSWER_BYTES);
  return bytes && new TextDecoder().decode(bytes);
}
