import {
  assertOptions,
  delayRule,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  historyEdited,
  invalid,
  type Rules,
  RuntimeError,
  type StoredEvent,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { ReplayOptions, ReplayReport } from '../api/replay.ts'
import { noTask } from '../client/result.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import { pastOf } from './past.ts'
import { verify } from './verification.ts'

/** What a replay needs of its runtime. */
export interface ReplayDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly definitions: ReadonlyMap<string, TaskDefinition>
}

/** Goes through a task again as far as its history reaches. Source: `docs/semantics.md 6.3, 6.4`. */
export async function replayTask(
  deps: ReplayDeps,
  taskId: string,
  options: ReplayOptions,
): Promise<ReplayReport> {
  if (options === undefined) throw invalid("replay needs the options { mode: 'verify' }; given none")
  assertOptions('replay', options, replayRules)
  if (options.mode === undefined) throw invalid("replay option mode: 'verify'; not given")
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const edited = await editedReport(deps.store, taskId)
  if (edited !== undefined) return edited
  const past = pastOf(await readEvents(deps.store, taskId))
  if (past.state === 'rejected')
    throw new RuntimeError(
      'invalid_argument',
      `replay: task ${taskId} was rejected, so there is nothing to replay`,
    )
  const definition = deps.definitions.get(past.type)
  const { config, values, store } = deps
  return verify({ taskId, past, definition, config, values, store, timeoutMs })
}

/** Of a task whose history is not to be believed: what is said of it comes from its rows. */
async function editedReport(store: ExecutionStore, taskId: string): Promise<ReplayReport | undefined> {
  const fault = await store.read({ kind: 'integrity', taskId })
  if (fault === undefined) return undefined
  const type = (await store.read({ kind: 'task', taskId }))?.type ?? ''
  const answered = { steps: 0, waits: 0, failures: 0 }
  const error = describeError(historyEdited(taskId, fault))
  return { taskId, type, verdict: 'edited', diverged: undefined, answered, unused: 0, error }
}

/** All events of a task. Throws `not_found`. */
export async function readEvents(
  store: Pick<ExecutionStore, 'read'>,
  taskId: string,
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for (;;) {
    const page = await store.read({ kind: 'events', taskId, after: events.at(-1)?.seq ?? 0, limit: PAGE })
    if (page === undefined) throw noTask(taskId)
    events.push(...page)
    if (page.length < PAGE) return events
  }
}

/** What a replay is given when nothing is said, ms. */
export const DEFAULT_TIMEOUT_MS = 5_000
const PAGE = 1_000

const replayRules: Rules<ReplayOptions> = {
  mode: ["'verify'", (value) => value === 'verify'],
  timeoutMs: delayRule,
}
