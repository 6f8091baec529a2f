import type { EventType } from '@ku0/agent-runtime-core'

/** The instrumentation scope of every metric and span. */
export const SCOPE = '@ku0/agent-runtime'

/** The version of the semantic conventions that the standard names below are taken from. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.44.0'

/**
 * Every attribute of a metric or span: one name for one thing. Where OpenTelemetry's semantic conventions have a name, it is
 * theirs: the runtime is the messaging system, a task is the message, its type the destination, a worker the client.
 */
export const attributes = {
  system: { name: 'messaging.system', description: 'Always `agent_runtime`' },
  operationName: { name: 'messaging.operation.name', description: '`submit` or `process`' },
  operationType: { name: 'messaging.operation.type', description: '`process`' },
  taskType: {
    name: 'messaging.destination.name',
    description: 'The task type; in metrics and names of spans `_other` after the first 100',
  },
  taskId: { name: 'messaging.message.id', description: 'The task id' },
  workerId: {
    name: 'messaging.client.id',
    description: 'The worker; in metrics `_other` after the first 100',
  },
  errorType: {
    name: 'error.type',
    description:
      'Absent on success. A rejection reason, `expired`, `owner_dead`, `leaked`, a failure kind, or the code or name of the ' +
      'error; in metrics `_OTHER` after the first 100',
  },
  lane: { name: 'agent_runtime.lane', description: '`interactive`, `normal` or `batch`' },
  attempt: { name: 'agent_runtime.task.attempt', description: 'The n-th try of the task, from 1' },
  taskState: { name: 'agent_runtime.task.state', description: '`completed`, `failed` or `canceled`' },
  leaseId: { name: 'agent_runtime.lease.id', description: 'The lease' },
  endReason: {
    name: 'agent_runtime.lease.end_reason',
    description:
      'How the lease ended: `completed`, `failed`, `retry`, `rate_limited`, `expired`, `owner_dead`, `canceled`, `yielded`, `drained`, `restarted` or ' +
      '`waiting`',
  },
  failureCategory: {
    name: 'agent_runtime.failure.category',
    description: '`crash`, `timeout`, `resource_exhaustion`, `invalid_output` or `human_rejection`',
  },
  recoveryStrategy: {
    name: 'agent_runtime.recovery.strategy',
    description:
      '`restart`, `retry_with_backoff`, `retry_with_feedback`, `fallback_agent` or `human_escalation`',
  },
  supervisorOutcome: {
    name: 'agent_runtime.supervisor.outcome',
    description: '`restarted`, or `escalated` to the supervisor above',
  },
  stuckAs: {
    name: 'agent_runtime.task.stuck_as',
    description: '`no_worker`, `queued`, `running` or `overdue`',
  },
  stepKey: { name: 'agent_runtime.step.key', description: 'The step key' },
  stepPosition: {
    name: 'agent_runtime.step.position',
    description: 'The place of the call in its pass, from 0',
  },
  stepsReplayed: {
    name: 'agent_runtime.step.replays',
    description: 'Steps of this lease that returned a stored result',
  },
  quota: {
    name: 'agent_runtime.quota.key',
    description: 'The quota, such as `model:gpt-4`; `_other` after the first 100',
  },
  storeId: {
    name: 'agent_runtime.store.id',
    description:
      'The store. Several processes on one store each report its depth: take the maximum, not the sum',
  },
  signal: { name: 'agent_runtime.telemetry.signal', description: '`metrics`, `traces` or `logs`' },
} as const satisfies Record<string, { readonly name: string; readonly description: string }>

/** The key of an attribute in {@link attributes}. */
export type AttributeKey = keyof typeof attributes

/** One metric. Units are UCUM; durations are seconds. */
export interface MetricEntry {
  readonly name: string
  readonly instrument: 'counter' | 'histogram' | 'observableCounter' | 'observableGauge'
  readonly unit: string
  readonly description: string
  readonly attributes: readonly AttributeKey[]
}

/** The boundaries that the conventions name for `messaging.process.duration`, carried on to an hour: agents take their time. */
export const durationBuckets: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900, 3600,
]

/** Every metric. Source: `docs/semantics.md 16.1`. */
export const metricCatalogue = {
  queueDepth: {
    name: 'agent_runtime.queue.depth',
    instrument: 'observableGauge',
    unit: '{task}',
    description: 'Tasks that are queued and due, in the whole store',
    attributes: ['lane', 'storeId'],
  },
  queueWait: {
    name: 'agent_runtime.queue.wait_time',
    instrument: 'histogram',
    unit: 's',
    description: 'Time from the moment when a task could be claimed to its claim',
    attributes: ['lane'],
  },
  submissions: {
    name: 'messaging.client.sent.messages',
    instrument: 'counter',
    unit: '{message}',
    description: 'Submissions: admitted without error.type, rejected with the reason as error.type',
    attributes: ['system', 'operationName', 'taskType', 'lane', 'errorType'],
  },
  leaseDuration: {
    name: 'messaging.process.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'Time from the claim of a task to the end of that lease, however it ended',
    attributes: ['system', 'operationName', 'taskType', 'lane', 'endReason', 'errorType'],
  },
  taskDuration: {
    name: 'agent_runtime.task.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'Time from the admission of a task to its final state, including waits and attempts',
    attributes: ['taskType', 'lane', 'taskState', 'errorType'],
  },
  stepDuration: {
    name: 'agent_runtime.step.duration',
    instrument: 'histogram',
    unit: 's',
    description: 'How long the function of a step ran',
    attributes: ['taskType', 'errorType'],
  },
  stepReplays: {
    name: 'agent_runtime.step.replays',
    instrument: 'counter',
    unit: '{step}',
    description: 'Steps that returned a stored result and did not run again',
    attributes: ['taskType'],
  },
  cancelDuration: {
    name: 'agent_runtime.cancel.duration',
    instrument: 'histogram',
    unit: 's',
    description:
      'Time from the cancellation of a running task to the stop of its handler; for a leaked one, to the end of the grace',
    attributes: ['errorType'],
  },
  resumeDuration: {
    name: 'agent_runtime.resume.duration',
    instrument: 'histogram',
    unit: 's',
    description:
      'Time from the loss of a lease to the first new step, or the end, of the next lease of its task',
    attributes: ['lane'],
  },
  preemptions: {
    name: 'agent_runtime.task.preemptions',
    instrument: 'counter',
    unit: '{preemption}',
    description: 'Running tasks that were asked to yield to an interactive one',
    attributes: ['lane'],
  },
  recoveries: {
    name: 'agent_runtime.task.recoveries',
    instrument: 'counter',
    unit: '{failure}',
    description: 'Failures that a table of recovery followed with another try, or a question to a person',
    attributes: ['taskType', 'failureCategory', 'recoveryStrategy'],
  },
  supervisorRestarts: {
    name: 'agent_runtime.supervisor.restarts',
    instrument: 'counter',
    unit: '{failure}',
    description:
      'Ends of children that a supervisor followed with a restart, or passed on to the supervisor above',
    attributes: ['taskType', 'supervisorOutcome'],
  },
  creditRequests: {
    name: 'agent_runtime.client.credit_requests',
    instrument: 'counter',
    unit: '{request}',
    description: 'Times that a client with too few credits was asked for more, once for each shortage',
    attributes: ['taskType'],
  },
  missedPromises: {
    name: 'agent_runtime.agreement.misses',
    instrument: 'counter',
    unit: '{task}',
    description: 'Tasks that ended later than their agreement promised',
    attributes: ['taskType'],
  },
  leaseExpirations: {
    name: 'agent_runtime.lease.expirations',
    instrument: 'counter',
    unit: '{lease}',
    description: 'Leases that ended because their holder fell silent or died',
    attributes: ['endReason'],
  },
  staleWrites: {
    name: 'agent_runtime.lease.stale_writes',
    instrument: 'observableCounter',
    unit: '{write}',
    description: 'Writes of this process that were refused because their lease was no longer live',
    attributes: ['storeId'],
  },
  stuck: {
    name: 'agent_runtime.task.stuck',
    instrument: 'observableGauge',
    unit: '{task}',
    description: 'Tasks of the whole store that the watchdog of this process found stuck at its last look',
    attributes: ['taskType', 'stuckAs', 'storeId'],
  },
  inFlight: {
    name: 'agent_runtime.worker.in_flight',
    instrument: 'observableGauge',
    unit: '{task}',
    description: 'Tasks that a worker of this process is running',
    attributes: ['workerId', 'storeId'],
  },
  routePressure: {
    name: 'agent_runtime.route.pressure',
    instrument: 'observableGauge',
    unit: '1',
    description: 'How far the work of a route is from what its profile expects: 0 as expected, 1 far above',
    attributes: ['taskType', 'storeId'],
  },
  routeScar: {
    name: 'agent_runtime.route.scar',
    instrument: 'observableGauge',
    unit: '1',
    description: 'The remaining scar of a route, in the whole store',
    attributes: ['taskType', 'storeId'],
  },
  routeCircuit: {
    name: 'agent_runtime.route.circuit',
    instrument: 'observableGauge',
    unit: '1',
    description: 'The circuit of a route, in the whole store: 0 closed, 1 half open, 2 open',
    attributes: ['taskType', 'storeId'],
  },
  quotaInFlight: {
    name: 'agent_runtime.quota.in_flight',
    instrument: 'observableGauge',
    unit: '{task}',
    description: 'Tasks that hold a quota and run, in the whole store',
    attributes: ['quota', 'storeId'],
  },
  dropped: {
    name: 'agent_runtime.telemetry.dropped',
    instrument: 'observableCounter',
    unit: '{item}',
    description:
      'Measurements, spans and log lines that were dropped because a sink was blocked, was full or threw',
    attributes: ['signal', 'storeId'],
  },
} as const satisfies Record<string, MetricEntry>

/** One kind of span. `…` in a name stands for a label of bounded variety. */
export interface SpanEntry {
  readonly name: string
  readonly kind: 'consumer' | 'internal'
  readonly description: string
  readonly attributes: readonly AttributeKey[]
  readonly links: readonly string[]
}

/** Every span. Source: `docs/semantics.md 16.2`. */
export const spanCatalogue = {
  lease: {
    name: 'process …',
    kind: 'consumer',
    description: 'One lease of a task of the named type; the root of its trace',
    attributes: [
      'system',
      'operationName',
      'operationType',
      'taskType',
      'taskId',
      'workerId',
      'lane',
      'attempt',
      'leaseId',
      'endReason',
      'stepsReplayed',
      'errorType',
    ],
    links: [
      'the context in which the task was submitted',
      "the span of the task's previous lease, where known",
    ],
  },
  step: {
    name: 'step …',
    kind: 'internal',
    description: 'One run of a step with the named key; a child of its lease',
    attributes: ['stepKey', 'stepPosition', 'errorType'],
    links: [],
  },
} as const satisfies Record<string, SpanEntry>

/** One kind of log line. */
export interface LogEntry {
  readonly event: EventType
  readonly level: 'warn' | 'error'
  readonly message: string
  /** Fields beside `event`, `taskId`, `seq` and `at`. */
  readonly fields: readonly string[]
  /** Further fields with `logPayloads`. */
  readonly payloadFields: readonly string[]
}

/** Every log line. No payload, result or message of an error, unless `logPayloads` says so. Source: `docs/semantics.md 16.3`. */
export const logCatalogue = {
  rejected: {
    event: 'task.rejected',
    level: 'warn',
    message: 'submission rejected',
    fields: ['type', 'lane', 'reason'],
    payloadFields: ['message'],
  },
  expired: {
    event: 'lease.expired',
    level: 'warn',
    message: 'lease expired',
    fields: ['leaseId', 'reason'],
    payloadFields: [],
  },
  staleWrite: {
    event: 'lease.lost',
    level: 'warn',
    message: 'stale write refused: its lease is lost',
    fields: ['leaseId', 'workerId'],
    payloadFields: [],
  },
  creditsAsked: {
    event: 'credits.asked',
    level: 'warn',
    message: 'client lacks credits: its tasks wait until it buys some',
    fields: ['client', 'missing', 'tasks'],
    payloadFields: [],
  },
  leaked: {
    event: 'task.leaked',
    level: 'error',
    message: 'handler still ran after its abort grace',
    fields: ['leaseId', 'afterMs'],
    payloadFields: [],
  },
  killed: {
    event: 'task.killed',
    level: 'error',
    message: 'handler ignored its signal and was ended with its thread or process',
    fields: ['leaseId', 'afterMs'],
    payloadFields: [],
  },
  failed: {
    event: 'task.failed',
    level: 'error',
    message: 'task failed; runtime.explain or agent-runtime show says why',
    fields: ['kind', 'leaseId', 'errorName', 'errorCode'],
    payloadFields: ['errorMessage'],
  },
} as const satisfies Record<string, LogEntry>
