export { claudeModels, opencodeConfig } from "./wording/settings_agents.js";
export type { Model } from "./wording/models.js";
export { TOKEN_VARIABLE } from "./wording/settings_text.js";
