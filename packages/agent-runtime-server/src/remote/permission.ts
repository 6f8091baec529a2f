import { type Read, RESERVED, RuntimeError, type Write } from '@ku0/agent-runtime-core'
import { allows, type Caller } from '../access/caller.ts'
import { notAllowed, notOwn } from './refusals.ts'
import { readRights, writeRights } from './rights.ts'
import type { HostEnd, SessionEnd } from './ends.ts'

/** Throws where a process may not make a write: the token does not allow it, or it is about what is another's. */
export function assertWriteAllowed(
  { caller, work }: Pick<SessionEnd, 'caller' | 'work'>,
  host: HostEnd,
  operation: Write,
): void {
  const { kind } = operation
  if (!Object.hasOwn(writeRights, kind)) return // The store says what is wrong with it.
  const right = writeRights[kind]
  if (right === 'never')
    throw new RuntimeError(
      'line_refused',
      'a lease that its caller holds needs a process with the database: leases of callers are not kept over a line',
    )
  if (right === 'lease') {
    if (operation.kind === 'spawn') assertType(caller, operation.submission.type)
    return
  }
  if (right === 'worker') return assertWorkers(caller, work, host, operation)
  if (right === 'keeper') return
  if (!allows(caller, right)) throw notAllowed(`the write ${kind}`, right)
  if (operation.kind === 'submit') for (const { type } of operation.tasks) assertType(caller, type)
  else if (caller.types !== undefined && right !== 'submit')
    throw new RuntimeError(
      'line_refused',
      `the write ${kind} is about the whole store, and this token is bound to task types`,
    )
}

function assertWorkers(caller: Caller, work: SessionEnd['work'], host: HostEnd, operation: Write): void {
  if (operation.kind !== 'registerWorkers') return
  for (const { workerId, types, settings } of operation.workers) {
    const owner = host.ownerOf(workerId)
    if (owner !== undefined && owner !== work) throw notOwn(`the worker ${workerId} is of another process`)
    for (const type of [...types, ...Object.keys(settings ?? {})]) assertType(caller, type)
  }
}

function assertType(caller: Caller, type: string): void {
  const beyond = beyondTypes(caller, type)
  if (beyond !== undefined) throw beyond
}

/** The refusal of a task type that a token is not bound to. Types of the runtime itself, such as graphs, run what the token may run. */
export function beyondTypes({ name, types }: Caller, type: string): RuntimeError | undefined {
  if (types === undefined || types.has(type) || type.startsWith(RESERVED)) return undefined
  return new RuntimeError(
    'line_refused',
    `the token '${name}' is bound to the task types ${[...types].join(', ')}, and ${type} is none of them`,
  )
}

/**
 * A settlement that hands over to a task which the token does not allow: nobody may have others do that, so the failure is final, as where a table names no
 * other task. Source: `docs/semantics.md 14.3`.
 */
export function withinTypes(
  caller: Caller,
  operation: Write<'settle'>,
  refused: (error: unknown) => void,
): Write<'settle'> {
  const { settlement } = operation
  // The store says what is wrong with one of another form.
  if (settlement?.as !== 'retry' || settlement.recovery?.task === undefined) return operation
  const { task, kind } = settlement.recovery
  const beyond = beyondTypes(caller, task)
  if (beyond === undefined) return operation
  refused(beyond)
  return { ...operation, settlement: { as: 'failed', kind, error: settlement.error } }
}

/** Throws where a process may not ask. Without the scope `read` it may ask about the tasks that it runs, and about their children. */
export async function assertReadAllowed(
  { caller, work }: SessionEnd,
  host: HostEnd,
  query: Read,
): Promise<void> {
  const { kind } = query
  if (!Object.hasOwn(readRights, kind)) return
  const right = readRights[kind]
  if (right === 'work') return
  if (right === 'admin') {
    if (allows(caller, 'admin') && caller.types === undefined) return
    throw notAllowed(`the question ${kind}`, 'admin')
  }
  if (allows(caller, 'read') && caller.types === undefined) return
  if (right === 'own') {
    const taskId = 'taskId' in query ? query.taskId : undefined
    if (typeof taskId === 'string' && (await isOwn(work, host, taskId))) return
  }
  throw notAllowed(`the question ${kind} about what this process does not run`, 'read')
}

async function isOwn(work: SessionEnd['work'], host: HostEnd, taskId: string): Promise<boolean> {
  if (work.hasTask(taskId)) return true
  const task = await host.store.read({ kind: 'task', taskId })
  return task?.parent !== undefined && work.hasTask(task.parent)
}
