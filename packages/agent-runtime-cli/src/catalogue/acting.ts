import type { CommandEntry } from './entry.ts'
import { laneFilter, onStore, parentFilter, stateFilter, typeFilter, yes } from './options.ts'

/** Commands that change tasks. */
export const acting: readonly CommandEntry[] = [
  {
    name: 'cancel',
    about: 'cancel tasks by id, or all open tasks that a filter selects',
    details: `With a filter the tasks are counted first, and nothing happens. Add --yes to cancel them. Children of a canceled task are canceled with it.`,
    args: [{ name: '[tasks...]', about: 'ids of tasks' }],
    options: [
      stateFilter(['queued', 'running', 'waiting']),
      typeFilter,
      laneFilter,
      parentFilter,
      { flags: '--reason <text>', about: 'stored with the task, and passed to its handler' },
      yes,
      ...onStore,
    ],
    examples: [
      ['agent-runtime cancel TASK --reason "asked for by Ada"', 'cancel one task'],
      ['agent-runtime cancel --type digest --state queued', 'count the queued digests'],
      ['agent-runtime cancel --type digest --state queued --yes', 'cancel them'],
    ],
    exits: [
      [0, 'every named task is canceled, or the filter was counted'],
      [1, 'a named task had already ended, or the number changed meanwhile'],
    ],
    load: () => import('../commands/cancel.ts'),
  },
  {
    name: 'retry',
    about: 'run failed or canceled tasks again, by id or by a filter',
    details: `Each becomes a new task that keeps the completed steps of the old one. With a filter the failed tasks are counted first, and nothing happens. Add --yes
to retry them. A second call with the same filter finds the tasks that were retried already and starts no second one for them.`,
    args: [{ name: '[tasks...]', about: 'ids of tasks' }],
    options: [stateFilter(['failed', 'canceled']), typeFilter, laneFilter, parentFilter, yes, ...onStore],
    examples: [
      ['agent-runtime retry TASK', 'run one task again'],
      ['agent-runtime retry --state failed --type digest --yes', 'run all failed digests again'],
    ],
    exits: [
      [0, 'every task was submitted again, or the filter was counted'],
      [1, 'a new task was refused'],
    ],
    load: () => import('../commands/retry.ts'),
  },
]
