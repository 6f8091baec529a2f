import type { OutputItem } from '@ku0/agent-runtime'
import { toJson } from './screen/json.ts'
import type { Printer } from './screen/printer.ts'

/** Writes what a task emits: texts one after the other, other values as lines. With `--json` each item is a line. */
export async function writeOutput(items: AsyncIterable<OutputItem>, print: Printer): Promise<void> {
  let isMidLine = false
  const endLine = () => {
    if (isMidLine) print.text('\n')
    isMidLine = false
  }
  for await (const item of items) {
    if (print.isJson) print.item(item, () => '')
    else if (item.type === 'attempt.restarted') {
      endLine()
      print.note(`attempt ${item.attempt} began from the start`)
    } else if (typeof item.data === 'string') {
      print.text(item.data)
      isMidLine = item.data === '' ? isMidLine : !item.data.endsWith('\n')
    } else {
      endLine()
      print.lines([toJson(item.data)])
    }
  }
  endLine()
}
