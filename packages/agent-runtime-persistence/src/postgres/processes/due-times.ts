/** What comes due by itself. */
export type What = 'task' | 'lease' | 'schedule' | 'budget'

const whats: readonly What[] = ['task', 'lease', 'schedule', 'budget']

const timesList = `(SELECT min(due_at) FROM task WHERE due_at IS NOT NULL), (SELECT min(expires_at) FROM lease WHERE state = 0),
  (SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL), (SELECT min(due_at) FROM budget WHERE due_at IS NOT NULL)`

const clock = '(extract(epoch FROM clock_timestamp()) * 1000)::double precision'

/** When the first of each comes due. */
export const timesText = `SELECT ${timesList}`

/** The same after the time of the server. In a statement of its own: one that waits for a lock has begun before it. */
export const clockAndTimesText = `SELECT ${clock}, ${timesList}`

/** The same after the version of the store. */
export const lookText = `SELECT version, ${clock}, ${timesList} FROM head`

/** When the first of each thing comes due, as of the last answer that told. */
export class DueTimes {
  private times: readonly (number | null)[] = []

  /** A row of {@link timesText}. */
  take(times: readonly unknown[]): void {
    this.times = times as readonly (number | null)[]
  }

  of(what: What): number | undefined {
    return this.times[whats.indexOf(what)] ?? undefined
  }

  isDue(what: What, at: number): boolean {
    const first = this.of(what)
    return first !== undefined && first <= at
  }
}
