import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connectStore } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { many } from '../screen/words.ts'
import type { Settings } from '../settings/settings.ts'

const states = ['completed', 'failed', 'canceled'] as const

export const run: Run = async ({ options, print, settings }) => {
  const { yes = false } = options as { readonly yes?: boolean }
  const known = await settings()
  const config = rulesFrom(known.config, options)
  await using client = await connectStore({ ...known, config })
  if (config?.retention === undefined)
    throw new UsageError(
      'say for how long tasks are kept: --completed 7d, --failed 90d, --canceled 7d, or retention in the configuration file',
    )
  const pruned = await client.prune({ dryRun: !yes })
  const all = states.reduce((sum, state) => sum + pruned[state], 0)
  const each = states.map((state) => `${pruned[state]} ${state}`).join(', ')
  print.answer(pruned, () => [
    all === 0
      ? 'nothing is old enough to be deleted'
      : yes
        ? `${many(all, 'task')} deleted: ${each}`
        : `${many(all, 'task')} would be deleted: ${each}; add --yes to delete them`,
  ])
  return cliExitCodes.ok
}

/** The rules of the configuration, each replaced by its flag. */
function rulesFrom(config: Settings['config'], options: Call['options']): Settings['config'] {
  const flags = states.flatMap((state) => {
    const ageMs = options[state]
    return typeof ageMs === 'number' ? [[state, { ageMs }] as const] : []
  })
  if (flags.length === 0) return config
  const forever = { completed: 'forever', failed: 'forever', canceled: 'forever' } as const
  return { ...config, retention: { ...forever, ...config?.retention, ...Object.fromEntries(flags) } }
}
