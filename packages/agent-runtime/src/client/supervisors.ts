import {
  assertOptions,
  type ExecutionStore,
  flagRule,
  invalid,
  isFinal,
  labelsWithShutdown,
  type Rules,
  RuntimeError,
  show,
  type Submission,
  meantText,
  supervisedKey,
  type SupervisorRecord,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { TaskRejected } from '../api/errors.ts'
import type { SubmitItem } from '../api/submissions.ts'
import type { SupervisedOptions, SupervisorPage, Supervisors } from '../api/supervisors.ts'
import type { TaskType } from '../api/task-type.ts'
import { taskIdOf } from '../terms/arguments.ts'
import { openReceipt } from '../terms/receipts.ts'
import { isSupervisedId, supervisedIdRule, supervisedRules } from '../terms/supervised-options.ts'

/** The supervisors of one runtime. */
export function supervisorsOf({
  store,
  prepare,
  assertOpen,
  assertTaking,
}: {
  readonly store: ExecutionStore
  readonly prepare: (item: SubmitItem, place: string) => Promise<Submission>
  /** Throws if the runtime takes no more calls. */
  readonly assertOpen: () => void
  /** Throws if the runtime takes no more submissions. */
  readonly assertTaking: () => void
}): Supervisors {
  const read = async (call: string, taskId: string): Promise<SupervisorRecord> => {
    const record = await store.read({ kind: 'supervisor', taskId })
    if (record === undefined)
      throw new RuntimeError('not_found', `${call}: task ${taskId} is no supervisor, or has not begun`, {
        details: { taskId },
      })
    return record
  }
  const childOf = async (call: string, taskId: string, id: string) => {
    const { children } = await read(call, taskId)
    const child = children.find((it) => it.id === id) ?? (await endedOf(taskId, id))
    if (child === undefined) throw noChild(call, taskId, id, children)
    return child
  }
  /** A temporary child that has ended stands in no record of its supervisor. */
  const endedOf = async (taskId: string, id: string) => {
    const key = supervisedKey({ id, restart: 'temporary' })
    const { children } = await store.read({ kind: 'memos', taskId })
    const child = children.find((it) => it.key === key)
    return child && (await store.read({ kind: 'task', taskId: child.taskId }))
  }
  return {
    async list(page = {}) {
      assertOpen()
      assertOptions('supervisors.list', page, pageRules)
      const { limit = 100, cursor, supervising } = page
      return store.read({
        kind: 'supervisors',
        limit,
        ...(cursor === undefined ? {} : { before: cursor }),
        ...(supervising === undefined ? {} : { supervising }),
      })
    },
    async which(supervisor) {
      assertOpen()
      return read('supervisors.which', taskIdOf('supervisors.which', supervisor))
    },
    async count(supervisor) {
      assertOpen()
      const { children } = await read('supervisors.count', taskIdOf('supervisors.count', supervisor))
      const open = children.filter(({ state }) => !isFinal(state))
      const running = open.filter(({ state }) => state === 'running')
      return { total: children.length, open: open.length, running: running.length }
    },
    async start(supervisor: unknown, id: unknown, task: TaskType | string, input: unknown, given?: unknown) {
      assertTaking()
      const taskId = taskIdOf('supervisors.start', supervisor)
      assertId('supervisors.start', id)
      assertOptions(`supervisors.start '${id}'`, given, supervisedRules)
      const { restart = 'transient', shutdownMs, ...others } = (given ?? {}) as SupervisedOptions
      const options = { ...others, ...labelsWithShutdown(others.labels, { own: shutdownMs }) }
      // A child counts for the client of its parent.
      const client = (await store.read({ kind: 'task', taskId }))?.client
      const asItsClient = client === undefined ? options : { ...options, client }
      const submission = await prepare({ task, input, options: asItsClient }, `supervisors.start '${id}'`)
      assertTaking()
      const outcome = await store.write({ kind: 'startChild', taskId, id, restart, submission })
      switch (outcome.as) {
        case 'started':
          return { taskId: outcome.child.taskId }
        case 'already_started':
        case 'already_present':
          throw taken('supervisors.start', id, outcome)
        case 'refused': {
          const { taskId: refused, ...receipt } = openReceipt(outcome.receipt)
          if (receipt.accepted) throw new RuntimeError('internal', `child '${id}' was refused and accepted`)
          throw new TaskRejected(refused, receipt.reason, receipt.message, receipt.forGood)
        }
        case 'full':
          throw new RuntimeError(
            'limit_exceeded',
            `supervisors.start: supervisor ${taskId} has maxChildren children that have not ended`,
          )
        case 'no_supervisor':
          await read('supervisors.start', taskId)
          throw noMore('supervisors.start', taskId)
      }
    },
    async stop(supervisor, id) {
      assertOpen()
      const taskId = taskIdOf('supervisors.stop', supervisor)
      assertId('supervisors.stop', id)
      for (;;) {
        const child = await childOf('supervisors.stop', taskId, id)
        if (isFinal(child.state)) return { stopped: false, taskId: child.taskId, state: child.state }
        const reason = `its supervisor ${taskId} was asked to stop it`
        const { canceled } = await store.write({ kind: 'cancel', taskId: child.taskId, reason })
        if (canceled) return { stopped: true, taskId: child.taskId, state: 'canceled' }
        // It ended in between, and may have been started anew.
      }
    },
    async restart(supervisor, id) {
      assertTaking()
      const taskId = taskIdOf('supervisors.restart', supervisor)
      assertId('supervisors.restart', id)
      const outcome = await store.write({ kind: 'restartChild', taskId, id })
      switch (outcome.as) {
        case 'started':
          return { taskId: outcome.child.taskId }
        case 'running':
          throw taken('supervisors.restart', id, { as: 'already_started', child: outcome.child })
        case 'unknown_child':
          throw noChild(
            'supervisors.restart',
            taskId,
            id,
            (await read('supervisors.restart', taskId)).children,
          )
        case 'no_supervisor':
          await read('supervisors.restart', taskId)
          throw noMore('supervisors.restart', taskId)
      }
    },
  }
}

const pageRules: Rules<SupervisorPage> = {
  limit: wholeNumber(1, 1_000),
  cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  supervising: flagRule,
}

function assertId(call: string, id: unknown): asserts id is string {
  if (!isSupervisedId(id)) throw invalid(`${call}: ${supervisedIdRule}; given ${show(id)}`)
}

function taken(
  call: string,
  id: string,
  {
    as,
    child,
  }: { readonly as: 'already_started' | 'already_present'; readonly child: { readonly taskId: string } },
): RuntimeError {
  const message =
    as === 'already_started'
      ? `${call}: child '${id}' has not ended: it is task ${child.taskId}`
      : `${call}: child '${id}' has ended, as task ${child.taskId}; supervisors.restart starts it anew`
  return new RuntimeError('already_exists', message, { details: { id, as, taskId: child.taskId } })
}

function noChild(
  call: string,
  taskId: string,
  id: string,
  children: readonly { readonly id: string }[],
): RuntimeError {
  const hint = meantText(
    id,
    children.map((it) => it.id),
  )
  return new RuntimeError('not_found', `${call}: supervisor ${taskId} has no child '${id}'${hint}`, {
    details: { taskId, id },
  })
}

function noMore(call: string, taskId: string): RuntimeError {
  return invalid(`${call}: task ${taskId} supervises no more: it has ended, or all its children have`)
}
