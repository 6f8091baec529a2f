import {
  afterKey,
  type ChildRestart,
  labelsWithShutdown,
  type Sibling,
  SUPERVISOR_NAME,
  supervisedKey,
  supervisorKey,
  supervisorTerms,
  type SupervisorTerms,
} from '@ku0/agent-runtime-core'
import type { TaskType } from '../../api/task-type.ts'
import type { ChildTask, SpawnOptions } from '../../api/task-context.ts'
import type { HostParts } from '../host.ts'
import { refused } from '../pass/answer.ts'
import { guarded } from '../pass/guarded.ts'
import { awaitRecord } from '../wait/wait-calls.ts'
import { type ChildCaller, NotYet, superviseChild } from './children.ts'

/** A child that a supervisor begins with. */
export interface FirstChild {
  readonly id: string
  readonly restart: ChildRestart
  readonly task: TaskType
  /** Makes its input when it starts, of the outputs by id of those that had to complete before it. */
  readonly input: ((before: Readonly<Record<string, unknown>>) => unknown) | undefined
  /** It takes no outputs, so that they are read for nothing. */
  readonly ignoresBefore: boolean
  readonly options: Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>
  /** How long it may take to stop; that of the supervisor without it. */
  readonly shutdownMs: number | undefined
  /** Others that have to be as far before it starts. */
  readonly after: readonly Sibling[]
}

/**
 * The task becomes a supervisor: its wait is opened before it has a child, so that none is ever without one; then it starts its children in
 * order, and waits without a slot. A child that comes after others starts when the store says that they are as far. What follows is up to the
 * store. Returns the children that were started, once none is left. Source: `docs/semantics.md 14.2`.
 */
export async function supervise(
  caller: ChildCaller,
  terms: SupervisorTerms,
  given: readonly FirstChild[],
): Promise<ReadonlyMap<string, ChildTask>> {
  const { pass, scope } = caller
  const { memos } = pass
  // The terms of the first pass stay.
  const begun = [...memos.open.keys(), ...memos.waits.keys()].find(
    (key) => supervisorTerms(key) !== undefined,
  )
  const key = begun ?? supervisorKey(terms)
  const kept = supervisorTerms(key) ?? terms
  const children = given.map((child) => ({ ...child, options: withShutdown(child, kept) }))
  if (begun === undefined) {
    const { lease, claim } = pass.attempt
    const wait = { ...waitFor(key), position: children.length }
    const open = { kind: 'suspend', leaseId: claim.leaseId, waits: [wait], stay: true } as const
    await pass.gate.during(() => guarded(scope, () => lease.write(open)))
  }
  const started = new Map<string, ChildTask>()
  const failed = Promise.withResolvers<never>()
  for (const child of children) {
    const { id, restart, task, input, options, after } = child
    const own = supervisedKey({ id, restart })
    if (after.length === 0)
      started.set(id, (await superviseChild(caller, own, task, input?.({}), options)) as ChildTask)
    else
      startAfter(caller, own, child).then(
        (later) => started.set(id, later),
        (error: unknown) => failed.reject(error),
      )
  }
  // What is not started by then never will be.
  await Promise.race([untilDone(caller, key), failed.promise])
  return new Map(
    children.flatMap(({ id }) => {
      const child = started.get(id)
      return child === undefined ? [] : [[id, child] as const]
    }),
  )
}

/** The time that a child has to stop goes with it, to whatever process runs it. */
function withShutdown({ options, shutdownMs }: FirstChild, terms: SupervisorTerms): FirstChild['options'] {
  const given = { own: shutdownMs, supervisor: terms.shutdownMs }
  return { ...options, ...labelsWithShutdown(options.labels, given) }
}

/** Its place among the children is that of the definition, whenever it starts. */
async function startAfter(caller: ChildCaller, key: string, child: FirstChild): Promise<ChildTask> {
  const { pass, scope } = caller
  const { id, task, options, after } = child
  const position = pass.placeIn(scope)
  for (let nth = 0; ; nth += 1) {
    const isNew = !pass.memos.children.has(key)
    if (isNew) await siblings(caller, afterKey(nth, id, after), position)
    pass.giveBack(key, position)
    try {
      const start = isNew
        ? startNew(caller, key, child)
        : superviseChild(caller, key, task, undefined, options, after)
      return (await start) as ChildTask
    } catch (error) {
      // One of them was started again from outside, after the wait for it was over.
      if (!(error instanceof NotYet)) throw error
    }
  }
}

/** The pass goes on until the child has begun to start: nothing would wake the task for it any more. */
async function startNew(
  caller: ChildCaller,
  key: string,
  { task, input, ignoresBefore, options, after }: FirstChild,
): Promise<unknown> {
  const { gate, attempt } = caller.pass
  const start = (given: unknown) => superviseChild(caller, key, task, given, options, after)
  if (input === undefined || attempt.replay !== undefined) return start(undefined)
  gate.begin()
  try {
    const given = input(ignoresBefore ? {} : await outputsBefore(caller, after))
    return start(given)
  } finally {
    gate.endInWait()
  }
}

/** The outputs of those that had to complete before a child. */
async function outputsBefore(
  { pass }: ChildCaller,
  after: readonly Sibling[],
): Promise<Record<string, unknown>> {
  const { parts, claim } = pass.attempt
  const needed = new Map(
    after.filter(({ until }) => until === 'completed').map((it) => [supervisedKey(it), it.id]),
  )
  if (needed.size === 0) return {}
  // The memos of the pass are older, and the record of a supervisor has no temporary child that ended.
  const { children } = await parts.store.read({ kind: 'memos', taskId: claim.taskId })
  return outputsOf(
    parts,
    new Map(
      children.flatMap((child) => {
        const id = needed.get(child.key)
        return id === undefined ? [] : [[id, child] as const]
      }),
    ),
  )
}

/** Waits for those before a child. A history in which that never came to an end goes on without it. */
function siblings({ pass, scope }: ChildCaller, key: string, position: number): Promise<void> {
  const memo = pass.waitMemo(key)
  if (memo === undefined && pass.attempt.replay !== undefined) return new Promise(() => undefined)
  return awaitRecord(
    pass,
    scope,
    { key, memo },
    () => undefined,
    () => ({ ...waitFor(key), position }),
  )
}

/** The outputs of the children that completed, by id. Source: `docs/semantics.md 14.2`. */
export async function outputsOf(
  { store, values }: Pick<HostParts, 'store' | 'values'>,
  children: ReadonlyMap<string, Pick<ChildTask, 'taskId'>>,
): Promise<Record<string, unknown>> {
  const outputs: [string, unknown][] = []
  for (const [id, { taskId }] of children) {
    const record = await store.read({ kind: 'task', taskId })
    if (record?.state === 'completed') outputs.push([id, values.decode(record.output)])
  }
  return Object.fromEntries(outputs)
}

function untilDone({ pass, scope, callee }: ChildCaller, key: string): Promise<void> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    const { position, wait: memo } = pass.use({ key, as: 'signal', scope, callee, signal: SUPERVISOR_NAME })
    const request = () => ({ ...waitFor(key), position })
    return awaitRecord(pass, scope, { key, memo }, () => undefined, request)
  } catch (error) {
    return refused(scope, 'wait', key, error)
  }
}

function waitFor(key: string) {
  return { key, kind: 'signal', name: SUPERVISOR_NAME } as const
}
