import type { differencesAmong, settingsAmong } from '@ku0/agent-runtime-core'

/** How long tasks may stay as they are before they count as stuck. Source: `docs/semantics.md 8.6`. */
export interface StuckLimits {
  /** A task that is due may be queued for so long, in ms; 5 min by default. */
  readonly queuedMs?: number | undefined
  /** A task may run for so long without an event, an emitted value or a report of its progress, in ms; 15 min by default. */
  readonly runningMs?: number | undefined
  /** A wait may be overdue by so long, in ms; 1 min by default. */
  readonly overdueMs?: number | undefined
}

/** The limits of all task types, and other ones for some of them. */
export interface StuckSettings extends StuckLimits {
  readonly types?: Readonly<Record<string, StuckLimits>> | undefined
}

/** Settings of the watchdog of a runtime. */
export interface WatchdogSettings extends StuckSettings {
  /** How often it looks, in ms; 1 min by default. */
  readonly everyMs?: number | undefined
}

/** Tasks of one type that do not go on by themselves. */
export interface StuckTask {
  /** `no worker`: no live worker runs the type. `overdue`: its wait ended, and no process has woken it. */
  readonly what: 'no worker' | 'queued' | 'running' | 'overdue'
  readonly type: string
  /** The number of tasks; the one that is named is the oldest of them. */
  readonly tasks: number
  readonly taskId: string
  readonly forMs: number
  /** The reason, as `explain` gives it. */
  readonly why: string
}

/** The result of {@link findStuck}. */
export interface StuckReport {
  /** True if nothing is stuck, the workers agree about their task types, and the processes about the settings of the store. */
  readonly ok: boolean
  readonly found: readonly StuckTask[]
  /** Settings of task types that the registered workers know differently. */
  readonly differing: ReturnType<typeof differencesAmong>
  /** Settings of the store that processes have otherwise than they are in force (`here`). Source: `docs/semantics.md 8.12`. */
  readonly settings: ReturnType<typeof settingsAmong>
  /** The number of waiting tasks whose waits were looked at, and of all waiting tasks. */
  readonly looked: { readonly waiting: number; readonly ofWaiting: number }
}
