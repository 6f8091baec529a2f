import type { Submission } from '../submit/submission.ts'

/** The label of a supervised child with the time that it has to stop, in ms. */
export const SHUTDOWN_LABEL = 'supervisor.shutdownMs'

/** The labels of a child: with the time that is given for it, or else that of its supervisor. */
export function labelsWithShutdown(
  labels: Submission['labels'],
  shutdownMs: number | undefined,
): Pick<Submission, 'labels'> {
  if (shutdownMs === undefined) return labels === undefined ? {} : { labels }
  return { labels: { [SHUTDOWN_LABEL]: String(shutdownMs), ...labels } }
}

/** The time that the labels of a child give it to stop. Undefined: its task type decides. Source: `docs/semantics.md 14.2`. */
export function shutdownIn({ parentId, labels }: ShutdownCase): number | undefined {
  // A label that somebody else wrote may be any text.
  const told = parentId === undefined ? undefined : labels?.[SHUTDOWN_LABEL]
  return told === undefined || !/^[1-9]\d{0,9}$/.test(told) ? undefined : Number(told)
}

/** The part of a submission that tells it. */
interface ShutdownCase {
  readonly parentId?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}
