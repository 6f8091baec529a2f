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
  for (const { workerId, types } of operation.workers) {
    const owner = host.ownerOf(workerId)
    if (owner !== undefined && owner !== work) throw notOwn(`the worker ${workerId} is of another process`)
    for (const type of types) assertType(caller, type)
  }
}

/** Types of the runtime itself, such as graphs, run what the token may run. */
function assertType({ types }: Caller, type: string): void {
  if (types === undefined || types.has(type) || type.startsWith(RESERVED)) return
  throw new RuntimeError(
    'line_refused',
    `this token is bound to the task types ${[...types].join(', ')}, and ${type} is none of them`,
  )
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
