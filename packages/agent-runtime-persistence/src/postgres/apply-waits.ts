import { childPolicies, waitKinds } from '@ku0/agent-runtime-core'
import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Statement } from './batch.ts'
import { deleted, inserted, put, type Row } from './write.ts'

/** A wait never changes: it opens and it ends. */
export function waitsOf({ waits, base }: WorkingSet): Statement[] {
  const opened: Row[] = []
  const ended: Row[] = []
  for (const [task, rows] of waits.changed) {
    const before = new Set((base.waits.get(task) ?? []).map(({ key }) => key))
    for (const { key, position, kind, name, dueAt, terms } of rows)
      if (!before.delete(key))
        opened.push([
          task,
          key,
          position,
          waitKinds.indexOf(kind),
          name,
          dueAt,
          terms === null ? null : JSON.stringify(terms),
        ])
    for (const key of before) ended.push([task, key])
  }
  return [...deleted('wait', ['task', 'key'], ended), ...inserted('wait', opened)]
}

export function signalsOf({ signals, base }: WorkingSet): Statement[] {
  const came: Row[] = []
  const taken: Row[] = []
  for (const [task, rows] of signals.changed) {
    const before = new Set((base.signals.get(task) ?? []).map(({ seq }) => seq))
    for (const { seq, name } of rows) if (!before.delete(seq)) came.push([task, seq, name])
    for (const seq of before) taken.push([task, seq])
  }
  return [...deleted('signal', ['task', 'seq'], taken), ...inserted('signal', came)]
}

export function childrenOf({ childRows }: WorkingSet): Statement[] {
  const rows: Row[] = []
  const dropped: Row[] = []
  for (const { parent, key, task, position, policy, seq, state } of childRows.changed.values())
    if (state === 'dropped') dropped.push([parent, key])
    else
      rows.push([parent, key, task, position, childPolicies.indexOf(policy), seq, Number(state === 'open')])
  return [...deleted('child', ['parent', 'key'], dropped), ...put('child', ['parent', 'key'], rows)]
}
