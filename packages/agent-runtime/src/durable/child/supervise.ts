import {
  type ChildRestart,
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
import { type ChildCaller, superviseChild } from './children.ts'

/** A child that a supervisor begins with. */
export interface FirstChild {
  readonly id: string
  readonly restart: ChildRestart
  readonly task: TaskType
  readonly input: unknown
  readonly options: Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>
}

/**
 * The task becomes a supervisor: its wait is opened before it has a child, so that none is ever without one; then it starts its children in
 * order, and waits without a slot. What follows is up to the store. Returns those children once none is left. Source: `docs/semantics.md 14.2`.
 */
export async function supervise(
  caller: ChildCaller,
  terms: SupervisorTerms,
  children: readonly FirstChild[],
): Promise<ReadonlyMap<string, ChildTask>> {
  const { pass, scope } = caller
  const { memos } = pass
  // The terms of the first pass stay.
  const begun = [...memos.open.keys(), ...memos.waits.keys()].find(
    (key) => supervisorTerms(key) !== undefined,
  )
  const key = begun ?? supervisorKey(terms)
  if (begun === undefined) {
    const { lease, claim } = pass.attempt
    const wait = { ...waitFor(key), position: children.length }
    const open = { kind: 'suspend', leaseId: claim.leaseId, waits: [wait], stay: true } as const
    await pass.gate.during(() => guarded(scope, () => lease.write(open)))
  }
  const started = new Map<string, ChildTask>()
  for (const { id, restart, task, input, options } of children) {
    const child = await superviseChild(caller, supervisedKey({ id, restart }), task, input, options)
    started.set(id, child as ChildTask)
  }
  await untilDone(caller, key)
  return started
}

/** The outputs of the children that completed, by id. Source: `docs/semantics.md 14.2`. */
export async function outputsOf(
  { store, values }: Pick<HostParts, 'store' | 'values'>,
  children: ReadonlyMap<string, ChildTask>,
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
