import type { JsonObject } from "../../../src/base/json.ts";
import type { Random } from "../fakes/random.ts";

/** A complete tool call. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** A way in which a provider splits the tool calls of one answer into chunks. */
export interface CallScheme {
  readonly name: string;
  /** The provider or page that shows it. */
  readonly source: string;
  /**
   * Returns the `tool_calls` of each chunk. An entry without arguments has no `arguments` field.
   */
  cut(calls: readonly ModelCall[], random: Random): readonly JsonObject[][];
  /** The reason why callers may read ids other than the model's. */
  readonly losesIds?: string;
  /**
   * Returns false for calls that the scheme cannot keep apart. Absent when it can keep all apart.
   */
  readonly suits?: (calls: readonly ModelCall[]) => boolean;
}

const SCHEMES: Readonly<Record<string, Omit<CallScheme, "name">>> = {
  "head first, then chunks with its index": {
    source: "OpenAI: platform.openai.com/docs/api-reference/chat-streaming",
    cut: headFirst(""),
  },
  "head with the first chunk, then empty ids": {
    source:
      "DashScope: github.com/ThinkInAIXYZ/deepchat/issues/355; llama.cpp: github.com/agentjido/req_llm/pull/801",
    cut: inRow((call, index, random) =>
      piecesOf(call, random).map((piece, position) =>
        position === 0
          ? {
            index,
            id: call.id,
            type: "function",
            function: head(call, piece),
          }
          : { index, id: "", function: { arguments: piece } }
      )
    ),
  },
  "heads first, then chunks of all calls mixed": {
    source:
      "aggregators: github.com/bigduu/Bamboo-agent/pull/377; OpenAI allows it",
    cut(calls, random) {
      const heads = calls.map((call, index) => ({
        index,
        id: call.id,
        type: "function",
        function: head(call, ""),
      }));
      return [heads, ...mixed(piecesAtIndex(calls, random), random)];
    },
  },
  "one head per chunk, from the last call to the first, then chunks mixed": {
    source: "the same, where the calls fill in another order",
    cut: (calls, random) => [
      ...calls.map((call, index) => [
        { index, id: call.id, type: "function", function: head(call, "") },
      ]).reverse(),
      ...mixed(piecesAtIndex(calls, random), random),
    ],
  },
  "heads first, then the calls from the last to the first": {
    source: "the same, where the calls fill in another order",
    cut: (calls, random) => [
      calls.map((call, index) => (
        { index, id: call.id, type: "function", function: head(call, "{}") }
      )),
      ...piecesAtIndex(calls, random).reverse().flat().map((entry) => [entry]),
    ],
  },
  "ids first, then each name with its first arguments, all calls mixed": {
    source: "the same, where the calls fill in another order",
    cut(calls, random) {
      const rows = calls.map((call, index) =>
        piecesOf(call, random).map((piece, position) => ({
          index,
          function: position === 0 ? head(call, piece) : { arguments: piece },
        }))
      );
      const ids = calls.map(({ id }, index) => ({ index, id }));
      return [ids, ...mixed(rows, random)];
    },
  },
  "heads first without an index, then chunks with their ids, mixed": {
    source: "the same, where the calls fill in another order",
    cut: (calls, random) => [
      ...calls.map((call) => [{ id: call.id, function: head(call, "") }]),
      ...mixed(
        calls.map((call) =>
          piecesOf(call, random).map((piece) => ({
            id: call.id,
            function: { arguments: piece },
          }))
        ),
        random,
      ),
    ],
  },
  "every call complete, all in one chunk": {
    source: "xAI, Groq, Mistral: recordings of this project",
    cut: (calls) => [
      calls.map((call, index) => ({
        index,
        id: call.id,
        type: "function",
        function: head(call, call.arguments),
      })),
    ],
  },
  "every call complete, no index": {
    source: "Gemini: github.com/noho/dayu-agent/issues/45",
    cut: inRow((call) => [{
      id: call.id,
      type: "function",
      function: head(call, call.arguments),
    }]),
  },
  "every call complete, no index, no id": {
    source: "Ollama before 0.5: github.com/ollama/ollama/issues/7881",
    losesIds: "the provider sends none",
    cut: inRow((call) => [{ function: head(call, call.arguments) }]),
  },
  "every call complete at index 0, each with its id": {
    source: "Ollama: github.com/ollama/ollama/issues/15457",
    cut: inRow((call) => [{
      index: 0,
      id: call.id,
      type: "function",
      function: head(call, call.arguments),
    }]),
  },
  "every call in chunks at index 0, each with its id": {
    source:
      "Dynamo: github.com/ai-dynamo/dynamo/issues/4723; Ollama behind proxies: github.com/LibreChat-AI/agents/pull/260",
    cut: inRow((call, _index, random) => [
      { index: 0, id: call.id, type: "function", function: head(call, "") },
      ...chunksOf(call, 0, random),
    ]),
  },
  "every call complete at index 0, no ids": {
    source: "github.com/vercel/ai/issues/18333; unslothai/unsloth/pull/9983",
    losesIds: "the provider sends none",
    suits: areDifferent,
    cut: inRow((call) => [{ index: 0, function: head(call, call.arguments) }]),
  },
  "every call in chunks at index 0, no ids": {
    source: "github.com/vercel/ai/issues/18333; unslothai/unsloth/pull/9983",
    losesIds: "the provider sends none",
    suits: areDifferent,
    cut: inRow((call, _index, random) => [
      { index: 0, type: "function", function: head(call, "") },
      ...chunksOf(call, 0, random),
    ]),
  },
  "id and name in every chunk": {
    source:
      "vLLM: github.com/spring-projects/spring-ai/pull/5973; mlx: cubist38/mlx-openai-server/pull/216",
    cut: inRow((call, index, random) =>
      piecesOf(call, random).map((piece) => ({
        index,
        id: call.id,
        type: "function",
        function: head(call, piece),
      }))
    ),
  },
  "the name again in the last chunk, without an id": {
    source: "github.com/agentscope-ai/agentscope-java/pull/1223",
    cut: inRow((call, index, random) => {
      const pieces = piecesOf(call, random);
      return pieces.map((piece, position) =>
        position === 0
          ? {
            index,
            id: call.id,
            type: "function",
            function: head(call, piece),
          }
          : {
            index,
            id: null,
            function: position === pieces.length - 1
              ? head(call, piece)
              : { arguments: piece },
          }
      );
    }),
  },
  "the head again after the arguments, without arguments": {
    source: "vLLM with GLM: github.com/vllm-project/vllm/issues/44098",
    cut: inRow((call, index, random) => [
      { index, id: call.id, type: "function", function: head(call, "") },
      ...chunksOf(call, index, random),
      { index, id: call.id, type: "function", function: head(call, "") },
    ]),
  },
  "another id after the first chunk": {
    source: "Poolside: github.com/poolsideai/pool/issues/9",
    cut: inRow((call, index, random) => [
      { index, id: call.id, type: "function", function: head(call, "") },
      ...piecesOf(call, random).map((piece) => ({
        index,
        id: `chatcmpl-tool-${call.id}`,
        function: { arguments: piece },
      })),
    ]),
  },
  "another id and the name in every chunk": {
    source: "vLLM with gpt-oss: github.com/vllm-project/vllm/pull/23522",
    cut: inRow((call, index, random) =>
      piecesOf(call, random).map((piece, position) => ({
        index,
        id: position === 0 ? call.id : `${call.id}-${position}`,
        type: "function",
        function: head(call, piece),
      }))
    ),
  },
  "an index that counts the chunks": {
    source:
      "Nebius, Cerebras: github.com/dirac-run/dirac/pull/215 (pieces without id or name)",
    cut(calls, random) {
      let index = 0;
      return calls.flatMap((call) => [
        [{
          index: index++,
          id: call.id,
          type: "function",
          function: head(call, ""),
        }],
        ...piecesOf(call, random).map((piece) => [{
          index: index++,
          function: { arguments: piece },
        }]),
      ]);
    },
  },
  "an empty object as text before the arguments": {
    source:
      "vLLM behind Llama Stack: github.com/ogx-ai/ogx/pull/5462; bridges from Anthropic, whose `input` begins as {}",
    cut: headFirst("{}"),
  },
  "an empty object as an object before the arguments": {
    source: "bridges from Anthropic, whose `input` begins as {}",
    cut: headFirst({}),
  },
  "arguments as an object": {
    source: "MiniMax: github.com/can1357/oh-my-pi/pull/1779; Ollama",
    cut: inRow((call, index) => [{
      index,
      id: call.id,
      type: "function",
      function: head(call, JSON.parse(call.arguments)),
    }]),
  },
  "the complete call again at the end": {
    source: "bridges: github.com/mudler/cogito/pull/66",
    cut(calls, random) {
      const [standard] = CALL_SCHEMES;
      if (standard === undefined) throw new Error("There is no first scheme");
      return [
        ...standard.cut(calls, random),
        calls.map((call, index) => ({
          index,
          id: call.id,
          type: "function",
          function: head(call, call.arguments),
        })),
      ];
    },
  },
  "the arguments again at the end of each call": {
    source: "bridges: github.com/mudler/cogito/pull/66",
    cut: inRow((call, index, random) => [
      { index, id: call.id, type: "function", function: head(call, "") },
      ...chunksOf(call, index, random),
      { index, function: { arguments: call.arguments } },
    ]),
  },
  "one id at two indexes": {
    source:
      "Foundry Local counts from 1 in some chunks: github.com/microsoft/foundry-local/issues/372",
    cut: inRow((call, index, random) => [
      {
        index: 2 * index,
        id: call.id,
        type: "function",
        function: head(call, ""),
      },
      ...piecesOf(call, random).map((piece) => ({
        index: 2 * index + 1,
        id: call.id,
        function: { arguments: piece },
      })),
    ]),
  },
  "one id for all calls": {
    source: "proxies that take the function's name for an id",
    losesIds: "callers could not match the results to the calls",
    cut: inRow((call, index, random) => [
      { index, id: "call_0", type: "function", function: head(call, "") },
      ...chunksOf(call, index, random),
    ]),
    // Two chunks with the same function and id may begin two calls or one.
    suits: (calls) =>
      new Set(calls.map(({ name }) => name)).size === calls.length,
  },
  "the id after the name": {
    source:
      "Mistral, Azure behind LiteLLM: github.com/pipecat-ai/pipecat/pull/5023",
    cut: inRow((call, index, random) => [
      { index, function: head(call, "") },
      { index, id: call.id, type: "function", function: { arguments: "" } },
      ...chunksOf(call, index, random),
    ]),
  },
  "the name in two chunks": {
    source: "servers that stream the model's own text, such as vLLM's parsers",
    cut: inRow((call, index, random) => [
      {
        index,
        id: call.id,
        type: "function",
        function: { name: call.name.slice(0, 3), arguments: "" },
      },
      { index, function: { name: call.name.slice(3) } },
      ...chunksOf(call, index, random),
    ]),
  },
  "an index that begins at 1": {
    source: "Foundry Local: github.com/microsoft/foundry-local/issues/372",
    cut: inRow((call, index, random) => [
      {
        index: index + 1,
        id: call.id,
        type: "function",
        function: head(call, ""),
      },
      ...piecesOf(call, random).map((piece) => ({
        index: index + 1,
        function: { arguments: piece },
      })),
    ]),
  },
};

/** Every scheme of a Chat Completions provider that we know. */
export const CALL_SCHEMES: readonly CallScheme[] = Object.entries(SCHEMES).map((
  [name, scheme],
) => ({ name, ...scheme }));

/**
 * Builds a scheme that finishes each call before it begins the next, with one entry in each chunk.
 */
function inRow(
  entriesOf: (call: ModelCall, index: number, random: Random) => JsonObject[],
): CallScheme["cut"] {
  return (calls, random) =>
    calls.flatMap((call, index) =>
      entriesOf(call, index, random).map((entry) => [entry])
    );
}

/** Sends the head of a call with these arguments, then the call's own in chunks. */
function headFirst(given: string | JsonObject): CallScheme["cut"] {
  return inRow((call, index, random) => [
    { index, id: call.id, type: "function", function: head(call, given) },
    ...chunksOf(call, index, random),
  ]);
}

function head(call: ModelCall, given: string | JsonObject): JsonObject {
  return { name: call.name, arguments: given };
}

/** Returns the arguments of a call in chunks at this index, without an id. */
function chunksOf(
  call: ModelCall,
  index: number,
  random: Random,
): JsonObject[] {
  return piecesOf(call, random).map((piece) => ({
    index,
    function: { arguments: piece },
  }));
}

/** Splits the arguments into strings of 1 to 12 characters. */
function piecesOf(call: ModelCall, random: Random): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < call.arguments.length;) {
    const to = from + 1 + random.below(12);
    pieces.push(call.arguments.slice(from, to));
    from = to;
  }
  return pieces;
}

/** Returns the argument chunks of each call, which name the call by its index only. */
function piecesAtIndex(
  calls: readonly ModelCall[],
  random: Random,
): JsonObject[][] {
  return calls.map((call, index) =>
    piecesOf(call, random).map((piece) => ({
      index,
      function: { arguments: piece },
    }))
  );
}

/** Merges the rows in random order, and keeps the order within each row. */
function mixed(rows: JsonObject[][], random: Random): JsonObject[][] {
  const chunks: JsonObject[][] = [];
  for (;;) {
    const left = rows.filter((row) => row.length > 0);
    if (left.length === 0) return chunks;
    const entry = random.pick(left).shift();
    if (entry !== undefined) chunks.push([entry]);
  }
}

/**
 * Returns true when no two calls are equal: without ids, an equal call at the same index reads as a repeat
 * of the first.
 */
function areDifferent(calls: readonly ModelCall[]): boolean {
  const said = calls.map((call) => `${call.name} ${call.arguments}`);
  return new Set(said).size === calls.length;
}
