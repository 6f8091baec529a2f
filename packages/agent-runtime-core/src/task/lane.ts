/** The lanes, most urgent first. Source: Track AA, Queue Classification. */
export const lanes = ['interactive', 'normal', 'batch'] as const
/** One lane: `interactive` before `normal` before `batch`, strictly. */
export type Lane = (typeof lanes)[number]

/** Whether a value names a lane. */
export function isLane(value: unknown): value is Lane {
  return lanes.includes(value as Lane)
}

/** The rank of a lane in the order of dispatch, 0 first. */
export const laneRank: Readonly<Record<Lane, number>> = { interactive: 0, normal: 1, batch: 2 }

/** The origin of a task, as Track AA classifies it. */
export type Trigger = 'chat' | 'run_button' | 'agent' | 'timer' | 'pipeline'

/**
 * The lane Track AA gives to what a trigger starts: a user's direct action is interactive, an agent's follow-up normal,
 * a scheduled or automated run batch. Source: Track AA, Queue Classification; `docs/semantics.md 2.5`.
 */
export function laneFor(trigger: Trigger): Lane {
  switch (trigger) {
    case 'chat':
    case 'run_button':
      return 'interactive'
    case 'agent':
      return 'normal'
    case 'timer':
    case 'pipeline':
      return 'batch'
  }
}
