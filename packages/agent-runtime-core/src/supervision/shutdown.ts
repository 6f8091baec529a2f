import type { Submission } from '../submit/submission.ts'

/** The label of a supervised child with the time that it has to stop, in ms. */
export const SHUTDOWN_LABEL = 'supervisor.shutdownMs'

/** The longest time that a child may have to stop, ms: a day. */
export const MAX_SHUTDOWN_MS = 86_400_000

/** The labels of a child with the time that it has to stop: its own, or else what its label says, or else that of its supervisor. */
export function labelsWithShutdown(
  labels: Submission['labels'],
  given: { readonly own?: number | undefined; readonly supervisor?: number | undefined },
): Pick<Submission, 'labels'> {
  const ms = given.own ?? (labels?.[SHUTDOWN_LABEL] === undefined ? given.supervisor : undefined)
  if (ms === undefined) return labels === undefined ? {} : { labels }
  return { labels: { ...labels, [SHUTDOWN_LABEL]: String(ms) } }
}

/** The time that the labels of a child give it to stop. Undefined: its task type decides. Source: `docs/semantics.md 14.2`. */
export function shutdownIn({ parentId, labels }: ShutdownCase): number | undefined {
  // A label that somebody else wrote may be any text.
  const told = parentId === undefined ? undefined : labels?.[SHUTDOWN_LABEL]
  if (told === undefined || !/^[1-9]\d{0,7}$/.test(told)) return undefined
  return Number(told) > MAX_SHUTDOWN_MS ? undefined : Number(told)
}

/** The part of a submission that tells it. */
interface ShutdownCase {
  readonly parentId?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}
