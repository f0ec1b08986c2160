/** `deno task compile`: one executable for this machine, `dist/model-gateway`. */
import { compileExecutable } from "./executable.ts";

const { outcome, report } = await compileExecutable({
  output: "dist/model-gateway",
});
console.error(report.trimEnd());
if (outcome !== "made") Deno.exit(1);
