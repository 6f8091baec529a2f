import { z } from 'zod'
import { QuotaConfig } from '../quota/schema.ts'
import { conflictsIn } from './relations.ts'
import { amount, count, duration, wholeNumber } from './setting-schema.ts'
import { RetentionConfig } from '../retention/schema.ts'
import { SharesConfig } from '../share/schema.ts'

/**
 * How a runtime executes tasks. Durations are ms, sizes bytes of UTF-8. The first seven settings and their
 * defaults are Track AA's. Source: Track AA, Configuration Surface and Defaults; `docs/semantics.md` C1.
 */
export const ExecutionConfig = z
  .strictObject(
    {
      /** How long a lease lasts from its grant and from each heartbeat. */
      leaseTtlMs: duration().default(30_000),
      /** How often leases are renewed; less than `leaseTtlMs`. */
      heartbeatIntervalMs: duration().default(5_000),
      /** How often the scheduler looks when nothing nudges it. */
      schedulerTickMs: duration().default(100),
      /** Tasks one worker runs at once, whatever its own capacity. */
      maxInFlightPerWorker: count('tasks').default(4),
      /** Queued tasks from which on every submission is refused. */
      queueDepthLimit: count('tasks').default(1_000),
      /** Queued tasks from which on batch submissions are refused; at most `queueDepthLimit`. */
      batchBackpressureThreshold: count('tasks').default(500),
      /** Unset: nothing is counted. */
      quotaConfig: QuotaConfig.optional(),
      /** Delayed tasks that are not due yet. Source: `docs/semantics.md 2.4`. */
      maxDelayed: count('tasks').default(100_000),
      /** Records of refused submissions that are kept. Source: `docs/semantics.md 2.9`. */
      maxRejectedKept: count('records').default(10_000),
      /**
       * Leases of one task that may end by a crash before it is failed as poisoned. Source:
       * `docs/semantics.md` C17.
       */
      maxCrashes: count('leases').default(5),
      /** How long a handler may block the event loop and keep its lease. Source: `docs/semantics.md 4.8`. */
      maxStallMs: duration().default(600_000),
      /** How long a shutdown waits for running tasks. Source: `docs/semantics.md 5.6`. */
      drainGraceMs: duration().default(30_000),
      /**
       * How long an aborted handler may take before it is reported as leaked. Source: `docs/semantics.md
       * 5.4`.
       */
      abortGraceMs: duration().default(30_000),
      /** How long one clean-up hook may take. Source: `docs/semantics.md 5.1`. */
      cleanupTimeoutMs: duration().default(10_000),
      /** Between TERM and KILL of a child process. Source: `docs/semantics.md 5.1`. */
      killGraceMs: duration().default(5_000),
      /** Values above this go to the blob table. Source: `docs/semantics.md 7.5`. */
      maxInlineBytes: count('bytes').default(262_144),
      /** Inputs and results above this are refused. Source: `docs/semantics.md 7.5`. */
      maxPayloadBytes: count('bytes').default(1_048_576),
      /**
       * How long a worker counts as present for the watchdog after its last sign. Source: `docs/semantics.md`
       * C1.
       */
      presenceTtlMs: duration().default(90_000),
      /** Open waits of one task; more fail the call. */
      maxWaits: count('waits').default(1_000),
      /** Waits of one task between the tries of its steps, and for room for its children; more fail the call. */
      maxBackOffs: count('waits').default(10_000),
      /** Signals of one task that it has not taken yet; more are refused. */
      maxSignals: count('signals').default(1_000),
      /** Schedules of the store; more are refused. */
      maxSchedules: count('records').default(10_000),
      /** Times of one schedule that are caught up after nothing ran, with `catchUp: 'all'`. */
      maxCatchUp: wholeNumber(1, 1_000, 'runs').default(100),
      /** Evaluations of one agent that are kept; the oldest go. Source: `docs/semantics.md 15.3`. */
      maxEvaluationsKept: count('records').default(1_000),
      /** Agents that have evaluations; more are refused. Source: `docs/semantics.md 15.3`. */
      maxEvaluatedAgents: count('agents').default(10_000),
      /** Children of one task that have not ended; more fail the call. */
      maxChildren: count('children').default(10_000),
      /** How often presence is signalled; less than `presenceTtlMs`. */
      presenceIntervalMs: duration().default(30_000),
      /** A scar of this size opens the circuit of its route. Source: `docs/semantics.md 10.3`. */
      circuitScarLimit: amount('a number above 0').default(1),
      /** How long an open circuit takes nothing before it lets a probe through. */
      circuitOpenMs: duration().default(30_000),
      /** Deviations are multiplied by it to get scars. Source: `docs/semantics.md` C9, C11. */
      scarFactor: amount('a number above 0').default(5),
      /** Whether a waiting interactive task may ask a lower one to yield. Source: `docs/semantics.md 3.6`. */
      preemption: z.boolean({ error: 'true or false' }).default(false),
      /**
       * Unset: tasks of a lane start in the order of submission, whichever client they belong to. Source:
       * `docs/semantics.md 11`.
       */
      shares: SharesConfig.optional(),
      /** Unset: tasks that ended are kept forever. Source: `docs/semantics.md 6.6`. */
      retention: RetentionConfig.optional(),
      /** Clients that have shares; a submission of one more is refused. */
      maxClients: count('clients').default(100_000),
      /** Unset: waiting lifts no task. How long a queued task waits to be lifted by one lane. Source: `docs/semantics.md` C5. */
      agingMs: duration().optional(),
    },
    { error: 'an object with settings' },
  )
  .superRefine((config, context) => {
    for (const { path, allowed } of conflictsIn(config)) {
      context.addIssue({ code: 'custom', path: [path], message: allowed })
    }
  })
  .readonly()
export type ExecutionConfig = z.output<typeof ExecutionConfig>
/** The configuration that a user writes: every setting is optional. */
export type ExecutionConfigInput = z.input<typeof ExecutionConfig>
