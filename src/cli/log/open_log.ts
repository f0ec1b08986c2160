import { createLog, type Log, type LogFormat } from "../../observe/log.ts";
import {
  type ByteSink,
  createLineWriter,
  type LineWriter,
} from "./line_writer.ts";

/** A log whose lines are gathered and written together. */
export interface OpenLog {
  readonly log: Log;
  readonly writer: LineWriter;
}

/** Opens the program's log over a sink. */
export function openLog(sink: ByteSink, format: LogFormat): OpenLog {
  const now = Date.now;
  const writer = createLineWriter(sink, {
    droppedLine(count) {
      let line = "";
      createLog({ format, now, sink: (text) => void (line = text) })
        .write("log_lines_dropped", { count });
      return line;
    },
  });
  return { log: createLog({ format, now, sink: writer.write }), writer };
}
