/** What is left of a job to do alone. */
export type Later = () => Promise<void>

/**
 * Runs jobs in the order given, beside each other while the cores suffice: a job starts once all before it have started and enough cores are
 * free. A job without `cores`, or with more than there are, runs alone. What jobs leave for later comes one after the other, once all have ended.
 * Rejects with the first rejection.
 */
export async function inOrder<Job extends { readonly cores?: number }>(
  jobs: readonly Job[],
  cores: number,
  run: (job: Job) => Promise<Later | undefined>,
): Promise<void> {
  const running = new Map<Job, Promise<void>>()
  const left: Later[] = []
  for (const job of jobs) {
    while (inUse() + needs(job) > cores) await Promise.race(running.values())
    running.set(
      job,
      start(job).finally(() => running.delete(job)),
    )
  }
  await Promise.all(running.values())
  for (const later of left) await later()

  async function start(job: Job): Promise<void> {
    const later = await run(job)
    if (later !== undefined) left.push(later)
  }

  function needs(job: Job): number {
    return Math.min(job.cores ?? cores, cores)
  }

  function inUse(): number {
    return [...running.keys()].reduce((sum, job) => sum + needs(job), 0)
  }
}
