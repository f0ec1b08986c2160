import { z } from "zod";

/** Names of models are no longer. */
const MAX_TEXT_LENGTH = 256;

/** A name of the provider's, for programs. */
export const text = loose(
  z.string().min(1).max(MAX_TEXT_LENGTH).regex(/^[^\p{Cc}\u2028\u2029]+$/u),
);
const size = loose(z.number().int().positive().max(1e12));
/** A truth value. */
export const flag = loose(z.boolean());
/**
 * For people, and for settings of clients, where braces and dollars stand for something else: opencode puts the file
 * into its configuration that `{file:…}` names (https://opencode.ai/docs/config/#variables).
 */
export const title = loose(
  z.string().min(1).max(MAX_TEXT_LENGTH)
    .regex(/^[^\p{Cc}\p{Cf}\u2028\u2029{}$`]+$/u),
);
const texts = loose(z.array(z.string().max(MAX_TEXT_LENGTH)).max(1000));

/** A field that is not as expected tells nothing, and takes nothing else with it. */
export function loose<Schema extends z.ZodType>(
  schema: Schema,
): z.ZodCatch<z.ZodOptional<Schema>> {
  return schema.optional().catch(undefined);
}

/**
 * What providers say of a model in their lists, each in fields of its own:
 *
 * - Anthropic (https://platform.claude.com/docs/en/api/models/list): `display_name`, `created_at`,
 *   `max_input_tokens`, `max_tokens`, `capabilities` with `{"supported": …}` below each name
 * - OpenRouter (https://openrouter.ai/docs/models): `name`, `created`, `context_length`, `top_provider`,
 *   `architecture`, `supported_parameters`, `reasoning`
 * - Mistral (https://docs.mistral.ai/api/endpoint/models): `name`, `max_context_length`, `capabilities` with a truth
 *   value below each name
 * - Groq (https://console.groq.com/docs/models): `context_window`, `max_completion_tokens`
 * - Moonshot and Kimi (https://platform.kimi.ai/docs/api/list-models): `context_length`, `supports_image_in`,
 *   `supports_reasoning`
 * - Google (https://ai.google.dev/api/models): `name` behind `models/`, `displayName`, `inputTokenLimit`,
 *   `outputTokenLimit`, `thinking`
 * - vLLM: `max_model_len`
 * - Codex (https://github.com/openai/codex, `ModelInfo`): `slug`, `display_name`, `context_window`,
 *   `input_modalities`, `supported_reasoning_levels`
 * - another instance of this program: what it tells itself
 */
export const entrySchema = z.object({
  id: text,
  slug: text,
  display_name: title,
  name: text,
  displayName: title,
  created: size,
  created_at: loose(z.iso.datetime({ offset: true })),
  context_length: size,
  context_window: size,
  max_input_tokens: size,
  max_context_length: size,
  max_model_len: size,
  inputTokenLimit: size,
  max_tokens: size,
  max_output_tokens: size,
  max_completion_tokens: size,
  outputTokenLimit: size,
  top_provider: loose(
    z.object({ context_length: size, max_completion_tokens: size }),
  ),
  architecture: loose(z.object({ input_modalities: texts })),
  input_modalities: texts,
  supports_image_in: flag,
  supports_reasoning: flag,
  thinking: flag,
  supported_parameters: texts,
  reasoning: loose(z.object({ supported_efforts: texts })),
  supported_reasoning_levels: loose(
    z.array(z.object({ effort: z.string().max(MAX_TEXT_LENGTH) })).max(100),
  ),
  capabilities: loose(z.record(z.string(), z.unknown())),
});

/** One entry of a list, as far as it is understood. */
export type Entry = z.output<typeof entrySchema>;
