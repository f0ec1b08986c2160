import type { Effort } from "../canonical/request/request.ts";

/** What a model behind the Messages protocol takes. */
export interface MessagesRules {
  /** The most that it writes; `undefined` where that is not known. */
  readonly maxOutputTokens: number | undefined;
  /**
   * Which `thinking` it knows: `none`; `budget` (enabled); `either` (enabled and adaptive); `adaptive`;
   * `as_given` where that is not known.
   */
  readonly thinking: "none" | "budget" | "either" | "adaptive" | "as_given";
  /** What comes closest to no thinking; `undefined` where it always thinks. */
  readonly thinkingOff: "disabled" | "between_tools" | undefined;
  /** The efforts that it tells apart, from little to much. */
  readonly efforts: readonly Effort[];
  /** Whether `temperature`, `top_p` and `top_k` may be set; `one`: not temperature and `top_p` together. */
  readonly sampling: "all" | "one" | "none";
  /** When a tool may be forced on it. */
  readonly forcedTools: "always" | "without_thinking" | "never";
  /** Whether `role: "system"` may stand among the messages. */
  readonly systemAnywhere: boolean;
  /** Whether it goes on with an answer that stands at the end; else that is refused. */
  readonly prefill: boolean;
  /** Whether answers and tool arguments can be held to a schema. */
  readonly schemas: boolean;
  /** Whether earlier thinking may go back without a signature. */
  readonly unsignedThinking: boolean;
  /**
   * Whether earlier thinking is only taken back behind what it was made behind: `checked`; `noted` where a later model
   * of the same provider may check it; `none` where nobody does.
   */
  readonly thinkingBinding: "checked" | "noted" | "none";
  /** Whether service tiers exist. */
  readonly serviceTiers: boolean;
  /** The longest tool name, in characters. */
  readonly maxNameLength: number;
}

/** What a provider of Messages takes beside what its models do. */
export interface MessagesProvider {
  /** Of its own endpoint, whichever service a connection to it is called. */
  readonly host: string;
  readonly sources: readonly string[];
  /** Whether it can be asked to drop thinking that fails the check, with `block_binding` and its beta header. */
  readonly dropsMismatches: boolean;
}

/** The providers that take more than their models; every other endpoint is asked for nothing of it. */
export const MESSAGES_PROVIDERS: readonly MessagesProvider[] = [
  {
    host: "api.anthropic.com",
    sources: [
      "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation",
      "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#preserved-thinking-controls",
    ],
    dropsMismatches: true,
  },
];
