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
  /** Whether answers and tool arguments can be held to a schema. */
  readonly schemas: boolean;
  /** Whether earlier thinking may go back without a signature. */
  readonly unsignedThinking: boolean;
  /** Whether service tiers exist. */
  readonly serviceTiers: boolean;
  /** The longest tool name, in characters. */
  readonly maxNameLength: number;
}
