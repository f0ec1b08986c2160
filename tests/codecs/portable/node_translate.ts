// Node 20 lacks functions of the language that the codecs use, such as `Map.groupBy`.
import "npm:core-js@3.51.0/actual/index.js";
import { translateOnce } from "./translate_once.ts";

console.log(await translateOnce());
