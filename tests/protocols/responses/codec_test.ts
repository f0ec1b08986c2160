import { responsesCodec } from "../../../src/protocols/responses/mod.ts";
import { codecContract } from "../../contract/codec_contract.ts";
import { framesOf, loadRecordings } from "../../support/recordings.ts";

/** Services with a dialect of their own. */
const SERVICES: readonly (readonly [prefix: string, service: string])[] = [
  ["chatgpt-codex", "codex"],
  ["openai", "openai"],
  ["azure", "openai"],
];

codecContract({
  codec: responsesCodec,
  request: { model: "m", input: "hi" },
  cases: loadRecordings("responses")
    .map(({ name, request, answer, stream }) => ({
      name,
      service: SERVICES.find(([prefix]) => name.startsWith(prefix))?.[1] ??
        "custom",
      ...(request === undefined ? {} : { request }),
      ...(answer === undefined ? {} : { answer }),
      ...(stream === undefined ? {} : { frames: framesOf(stream) }),
    })),
  differences: [],
  respellings: [],
});
