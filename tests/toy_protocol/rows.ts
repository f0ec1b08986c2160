/** A row to write into one of the tables of the source. */
export interface Row {
  /** The path of the file below `src/`. */
  readonly file: string;
  /** The text before the row, which the file has once. */
  readonly behind: string;
  readonly text: string;
}

const TABLES = "base/protocol_tables.ts";

/** The rows that name the toy protocol. The compiler then demands all others. */
export const NAMING_ROWS: readonly Row[] = [
  {
    file: TABLES,
    behind: "export const ENDPOINT_NAMES = {",
    text: 'toy: "Toy",',
  },
  {
    file: TABLES,
    behind: "export const MAIN_OPERATIONS = {",
    text: 'toy: "toy_ask",',
  },
  // The model stands in the path, and so does the wish for a stream, as with Gemini and Bedrock.
  {
    file: TABLES,
    behind: "export const OPERATIONS = {",
    text: `toy_ask: {
      endpoint: "toy",
      protocol: "toy",
      path: "/toy/:model/ask",
      streamPath: "/toy/:model/ask-live",
      modelField: undefined,
      streamField: undefined,
      conversationField: "said",
      tracedAs: "chat",
    },`,
  },
  {
    file: TABLES,
    behind: "export const FAMILIES = {",
    text: `D: {
      protocol: "toy",
      serves: {
        chat_completions: "translated",
        completions: "none",
        messages: "translated",
        count_tokens: "none",
        responses: "translated",
        compact: "none",
        toy_ask: "native",
      },
    },`,
  },
];

/** The rows that the compiler then demands. */
export const ASKED_ROWS: readonly Row[] = [
  ...["A", "B", "C"].map((family) => ({
    file: TABLES,
    behind: `  ${family}: {\n    protocol: "${
      { A: "chat", B: "messages", C: "responses" }[family]
    }",\n    serves: {`,
    text: 'toy_ask: "translated",',
  })),
  {
    file: "codecs/codecs.ts",
    behind: "export const CODECS: Readonly<Record<Protocol, Codec>> = {",
    text: 'toy: createToyCodec("toy"),',
  },
  {
    file: "codecs/codecs.ts",
    behind: `import type { Protocol } from "@gateway/base/protocol";`,
    text: 'import { createToyCodec } from "../../tests/toy_protocol/codec.ts";',
  },
  {
    file: "gateway/http/routes.ts",
    behind: "const RELAY_ROWS: Readonly<Record<Operation, RelayRow>> = {",
    text:
      'toy_ask: { credential: "bearer", maxBodyBytes: MAX_BODY_BYTES.small, legacyPaths: [] },',
  },
  {
    file: "page/wording/probes.js",
    behind: "export const PROBES = {",
    text:
      'toy: { path: "/toy", body: (_, text) => ({ said: [{ by: "you", text }] }), tool: {}, streamEnd: /"why"/, callsTool: () => false },',
  },
  {
    file: "page/wording/settings_agents.js",
    behind: "const AI_SDK = {",
    text: 'toy: "toy",',
  },
  {
    file: "page/wording/settings_editors.js",
    behind: "const VSCODE_APIS = {",
    text: 'toy: { apiType: "toy", path: "/toy" },',
  },
  {
    file: "tools/try/trials.ts",
    behind: "Readonly<Record<string, unknown>>\n  >\n> = {",
    text: "toy: () => ({}),",
  },
  {
    file: "page/wording/protocols.js",
    behind: "export const PROTOCOL_NAMES = {",
    text: 'toy: "Toy",',
  },
];
