import { isVoid, outlivesRejection } from '../approval/approval.ts'
import type { VerdictsRow } from '../approval/row.ts'
import type { ChildRow } from '../child/row.ts'
import type { WaitKind } from '../wait/wait.ts'
import type { MemoRow } from './row.ts'

/** A rejection that sent its task back: what was recorded after `since` and before `seq` counts no more. */
export interface SentBack {
  readonly since: number
  readonly seq: number
}

/**
 * The memos that count: of what a rejection sent back, only the answers of the handler's own timers and signals do, which
 * nobody would send again, the ends of the children that it still has, and the marks of patches.
 */
export function standing<M extends Pick<MemoRow, 'seq' | 'type' | 'data'>>(
  memos: readonly M[],
  rejections: readonly SentBack[],
  childAt: (key: string) => number | undefined,
): M[] {
  if (rejections.length === 0) return [...memos]
  return memos.filter(({ seq, type, data }) => {
    if (rejections.some((rejection) => rejection.seq === seq)) return false
    return !isVoid(seq, rejections) || outlives({ seq, type, data }, childAt)
  })
}

function outlives(
  { seq, type, data }: Pick<MemoRow, 'seq' | 'type' | 'data'>,
  childAt: (key: string) => number | undefined,
): boolean {
  if (type === 'step.started' || type === 'step.failed' || type === 'doubt.inherited') return false
  const { key, kind } = JSON.parse(data) as { key?: string; kind: WaitKind }
  if (key === undefined) return false
  if (type.startsWith('child.')) return (childAt(key) ?? Number.POSITIVE_INFINITY) <= seq
  return outlivesRejection({ key, kind: type.startsWith('step.') ? 'step' : kind, seq }, childAt)
}

/** The same for a whole history with its children and the rejections. */
export function standingMemos<M extends Pick<MemoRow, 'seq' | 'type' | 'data'>>(
  memos: readonly M[],
  rejections: readonly SentBack[],
  children: readonly Pick<ChildRow, 'key' | 'seq'>[],
): M[] {
  const spawnedAt = new Map(children.map(({ key, seq }) => [key, seq]))
  const counting = new Set(standing(memos, rejections, (key) => spawnedAt.get(key)))
  return memos.filter((memo) => counting.has(memo) || rejections.some(({ seq }) => seq === memo.seq))
}

/** The seq of the memo of each step, 0 where a rejection has made it void. */
export function memoSeqs(
  steps: readonly (readonly [key: string, seq: number])[],
  rejections: readonly SentBack[],
): Map<string, number> {
  return new Map(
    steps.map(([key, seq]) => {
      const isGone = isVoid(seq, rejections) && !outlivesRejection({ key, kind: 'step', seq })
      return [key, isGone ? 0 : seq]
    }),
  )
}

/** Where a task stands with its reviewers after its last approval. */
export function verdictsOf(approvedSeq: number, rejections: readonly SentBack[]): VerdictsRow {
  return { approvedSeq, rejections: rejections.filter(({ since }) => since === approvedSeq).length }
}
