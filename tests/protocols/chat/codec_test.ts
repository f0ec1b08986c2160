import { chatCodec } from "../../../src/protocols/chat/mod.ts";
import { codecContract } from "../../contract/codec_contract.ts";
import { framesOf, loadRecordings } from "../../support/recordings.ts";

/** Services with a dialect of their own. */
const SERVICES = ["openai", "openrouter", "zai", "deepseek", "moonshot"];

codecContract({
  codec: chatCodec,
  request: {
    model: "m",
    messages: [{ role: "user", content: "hi" }],
    stream_options: { include_usage: true },
  },
  cases: loadRecordings("chat")
    .filter(({ tags }) => !tags.has("endpoint:models"))
    .map(({ name, request, answer, stream }) => ({
      name,
      service: SERVICES.find((service) => name.startsWith(service)) ?? "custom",
      ...(request === undefined ? {} : { request }),
      ...(answer === undefined ? {} : { answer }),
      ...(stream === undefined ? {} : { frames: framesOf(stream) }),
    })),
  differences: [],
  respellings: [],
});
