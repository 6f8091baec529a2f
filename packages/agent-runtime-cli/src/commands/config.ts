import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { type InForce, inForceFor, inForceLines } from '../screen/in-force.ts'
import { toJson } from '../screen/json.ts'
import { table } from '../screen/table.ts'
import type { Settings } from '../settings/settings.ts'
import { shownUrl } from '../store-argument.ts'

export const run: Run = async ({ print, settings, options, system }) => {
  const given = await settings()
  const { file, values: read } = given
  const asked = options['inForce'] === true ? { inForce: (await inForceOf(given)) ?? null } : {}
  const values = read.map((it) => (it.name === 'store' ? { ...it, value: shownUrl(String(it.value)) } : it))
  print.answer({ file: file ?? null, values, ...asked }, () => [
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
    ...(asked.inForce === undefined ? [] : ['', ...inForceLines(asked.inForce ?? undefined, system.now())]),
  ])
  return 0
}

async function inForceOf(settings: Settings): Promise<InForce | undefined> {
  await using client = await connect(settings)
  const { configurations = [] } = await client.stats()
  return inForceFor(configurations, settings.config)
}
