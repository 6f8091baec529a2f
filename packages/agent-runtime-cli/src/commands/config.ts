import type { Run } from '../call.ts'
import { toJson } from '../screen/json.ts'
import { table } from '../screen/table.ts'
import { shownUrl } from '../store-argument.ts'

export const run: Run = async ({ print, settings }) => {
  const { file, values: read } = await settings()
  const values = read.map((it) => (it.name === 'store' ? { ...it, value: shownUrl(String(it.value)) } : it))
  print.answer({ file: file ?? null, values }, () => [
    file === undefined ? 'no agent-runtime.config.ts from here upward' : file,
    ...table(
      ['SETTING', 'VALUE', 'FROM', ''],
      values.map(({ name, value, from, where }) => [
        name,
        value === undefined ? '-' : typeof value === 'string' ? value : toJson(value),
        { text: from, style: from === 'default' ? ('dim' as const) : ('green' as const) },
        from === 'file' ? '' : (where ?? ''),
      ]),
    ),
  ])
  return 0
}
