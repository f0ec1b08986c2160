/*
 * `deno task login`. Deno reads all files that `src/tools/main.ts` may import before it runs one of them, which takes longer
 * than the command.
 */

import { HERE } from "../here.ts";
import { login } from "./here.ts";

Deno.exit(await login(Deno.args, HERE));
