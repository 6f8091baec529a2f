import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect, connectStore } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { lasting, many } from '../screen/words.ts'
import type { Settings } from '../settings/settings.ts'

const states = ['completed', 'failed', 'canceled'] as const
const ruleFlags = [...states, 'ledger']

export const run: Run = async ({ options, print, settings }) => {
  const { yes = false, dryRun = false } = options as { readonly yes?: boolean; readonly dryRun?: boolean }
  if (yes && dryRun) throw new UsageError('--dry-run only counts, and --yes deletes: leave one of them out')
  const known = await settings()
  const isOwn = known.server === undefined
  if (!isOwn) assertNoRules(options)
  const config = rulesFrom(known.config, options)
  await using client = isOwn
    ? await connectStore({ ...known, config }, { settings: 'own' })
    : await connect(known)
  if (isOwn && config?.retention === undefined)
    throw new UsageError(
      'say for how long tasks are kept: --completed 7d, --failed 90d, --canceled 7d, or entries of ledgers: --ledger 400d; or set retention in the configuration file',
    )
  const pruned = await client.prune({ dryRun: !yes })
  const all = states.reduce((sum, state) => sum + pruned[state], 0)
  const each = states.map((state) => `${pruned[state]} ${state}`).join(', ')
  const done = [
    ...(all === 0 ? [] : [`${many(all, 'task')} ${yes ? '' : 'would be '}deleted: ${each}`]),
    ...(pruned.folded === 0
      ? []
      : [`${many(pruned.folded, 'entry', 'entries')} of ledgers ${yes ? '' : 'would be '}folded`]),
  ]
  print.answer(pruned, () => [
    done.length === 0
      ? nothingText(isOwn ? config?.retention : undefined)
      : `${done.join('; ')}${yes ? '' : `; add --yes to ${verbsOf(all, pruned.folded)} them`}`,
  ])
  return cliExitCodes.ok
}

/** The rules that keep what looks old enough. A server says nothing of its own rules. */
function nothingText(rules: NonNullable<Settings['config']>['retention']): string {
  const kept =
    rules === undefined ? 'for some time (retention.keysMs)' : `for ${lasting(rules.keysMs ?? 86_400_000)}`
  const isOfTasks =
    rules === undefined ||
    states.some((state) => (rules[state] ?? 'forever') !== 'forever') ||
    rules.types !== undefined
  return isOfTasks
    ? `nothing is to be deleted: no task is old enough, or it is the newest one, a child of a task that stays, or has an idempotency key, which is kept ${kept}`
    : `nothing is to be folded: it takes two entries of a ledger that are old enough, and stops before credits that an open task has reserved, and before a purchase with a key, which is kept ${kept}`
}

function verbsOf(deleted: number, folded: number): string {
  return [...(deleted > 0 ? ['delete'] : []), ...(folded > 0 ? ['fold'] : [])].join(' and ')
}

/** A server goes by the rules in force on its store, which a flag would not change. */
function assertNoRules(options: Call['options']): void {
  const flag = ruleFlags.find((name) => options[name] !== undefined)
  if (flag === undefined) return
  throw new UsageError(
    `--${flag} is a rule, and a server goes by those that are in force on its store: leave it out, or name the store with --store`,
  )
}

/** The rules of the configuration, each replaced by its flag. */
function rulesFrom(config: Settings['config'], options: Call['options']): Settings['config'] {
  const flags = ruleFlags.flatMap((name) => {
    const ageMs = options[name]
    return typeof ageMs === 'number' ? [[name, { ageMs }] as const] : []
  })
  if (flags.length === 0) return config
  const forever = { completed: 'forever', failed: 'forever', canceled: 'forever' } as const
  return { ...config, retention: { ...forever, ...config?.retention, ...Object.fromEntries(flags) } }
}
