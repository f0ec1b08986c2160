import { suggestion } from "@gateway/base/problems";
import { wrapWords } from "@gateway/base/text";
import {
  SERVICE_NAMES,
  type ServiceName,
  SERVICES_BY_KIND,
  starterFile,
} from "@gateway/services";
import { BadArguments, command, type Run } from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";

/** The width of a line of help, in characters. */
const HELP_COLUMNS = 88;

/** The arguments and the help of `init`. */
export const INIT: CommandSpec = {
  name: "init",
  operands: "SERVICE...",
  words: SERVICE_NAMES,
  summary: "print a first gateway.yaml, with comments, for the named services",
  options: [],
  details: [servicesText()],
};

/**
 * `init SERVICE...`: prints a first configuration for the named services.
 *
 * @returns The exit code.
 */
export const runInit: Run<CliIo> = command(INIT, ({ operands }, io) => {
  const services: ServiceName[] = [];
  for (const operand of operands) {
    const name = SERVICE_NAMES.find((one) => one === operand);
    if (name === undefined) {
      const hint = suggestion(operand, SERVICE_NAMES);
      throw new BadArguments(`there is no service ${operand}${hint}`);
    }
    if (services.includes(name)) {
      throw new BadArguments(
        `${name} is named twice. Name it once and copy its connection in the file`,
      );
    }
    services.push(name);
  }
  if (services.length === 0) {
    throw new BadArguments(`no service is named.\n${servicesText()}`);
  }
  io.write(starterFile(services));
  return EXIT.good;
});

/** Returns the names of all services by kind, in lines of the help's width. */
function servicesText(): string {
  const lines = Object.entries(SERVICES_BY_KIND).flatMap(([kind, names]) => [
    `  ${kind}:`,
    ...wrapWords(`    ${names.join(", ")}`, HELP_COLUMNS),
  ]);
  return ["The services are:", ...lines].join("\n");
}
