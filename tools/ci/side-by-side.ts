/**
 * Runs jobs in the order given, beside each other while the cores suffice: a job starts once all before it have started and enough cores are
 * free. A job without `cores`, or with more than there are, runs alone. Ends when all have ended; rejects with the first rejection.
 */
export async function inOrder<Job extends { readonly cores?: number }>(
  jobs: readonly Job[],
  cores: number,
  run: (job: Job) => Promise<void>,
): Promise<void> {
  const running = new Map<Job, Promise<void>>()
  for (const job of jobs) {
    while (inUse() + needs(job) > cores) await Promise.race(running.values())
    const ended = run(job).finally(() => running.delete(job))
    running.set(job, ended)
  }
  await Promise.all(running.values())

  function needs(job: Job): number {
    return Math.min(job.cores ?? cores, cores)
  }

  function inUse(): number {
    return [...running.keys()].reduce((sum, job) => sum + needs(job), 0)
  }
}
