import { type FamiliarNames, settingNames, textOf } from '@ku0/agent-runtime-core'

/** Every name in the list has the same advice. */
function all(names: string, advice: FamiliarNames[string]): FamiliarNames {
  return Object.fromEntries(names.split(' ').map((name) => [name, advice]))
}

/** What was given, where it can be written as it is; `usual` where it cannot. */
function number(given: unknown, usual: number): string {
  return typeof given === 'number' && Number.isFinite(given) ? textOf(given) : String(usual)
}

/** Those who count retries do not count the first try. */
function triesAfterFirst(given: unknown): string {
  const attempts = typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 ? given + 1 : 4
  return `write retry: { attempts: ${attempts} }, which counts the first try, too`
}

function tries(given: unknown): string {
  return `write retry: { attempts: ${number(given, 3)} }`
}

const retriesOf = (where: string): FamiliarNames => ({
  ...all('retries maxRetries', (given) => `${triesAfterFirst(given)}${where}`),
  ...all('attempts maxAttempts maximumAttempts retryPolicy', (given) => `${tries(given)}${where}`),
  ...all(
    'backoff backoffRate backoffCoefficient retryDelay retryDelayMs initialInterval intervalSeconds',
    `write retry: { attempts, backoff: { initialMs, factor, maxMs, jitter } }${where}`,
  ),
})

const timeouts = all(
  'timeouts timeoutSeconds startToCloseTimeout scheduleToCloseTimeout workflowExecutionTimeout workflowRunTimeout maxDuration',
  'write timeoutMs, in ms',
)
const lanes = all('priority', "write lane: 'interactive', 'normal' or 'batch'")
const schedules = all(
  'cron cronSchedule repeat every',
  "write runtime.schedules.put('a name', { cron: '0 9 * * *' }, task, input)",
)
const kept = all(
  'removeOnComplete removeOnFail keepJobs retention',
  'leave it out: ended tasks and their results stay in the store',
)
const quotas = all(
  'rateLimit rateLimits limiter throttle concurrencyLimit concurrencyKey',
  "name a model or tools, and give those quotas: createRuntime's config: { quotaConfig }",
)
const listeners = all(
  'onSuccess onComplete onCompleted onError onFailed',
  "write runtime.on('task.completed', …) or runtime.on('task.failed', …)",
)

/** For defineTask, defineContract and defineAgent. */
export const familiarToTask: FamiliarNames = {
  ...all('name id taskName jobName functionId', 'write type'),
  ...all('schema inputSchema parameters payload args', 'write input'),
  ...all('outputSchema returns resultSchema', 'write output'),
  ...all(
    'run handler execute fn func process processor perform',
    'the handler is the second argument: defineTask({ … }, async (ctx, input) => …)',
  ),
  ...retriesOf(''),
  ...timeouts,
  ...lanes,
  ...schedules,
  ...kept,
  ...quotas,
  ...all('maxRecoveryAttempts', "write createRuntime's config: { maxCrashes }"),
  ...all(
    'concurrency maxConcurrency',
    "write createRuntime's workers: { capacity } for what a process runs at once, or name a model or tools with a quota for what all of them do",
  ),
  ...all('delay delayMs startDelay', "write delayMs among submit's options"),
  ...all('idempotency idempotencyKey jobId workflowId', "write idempotencyKey among submit's options"),
  ...listeners,
  ...all('onFailure', "write runtime.on('task.failed', …)"),
  ...all('version', 'leave it out: ctx.patched tells changed code from old (docs/changing-code.md)'),
}

/** For submit, spawn, call and submitGraph. */
export const familiarToSubmission: FamiliarNames = {
  ...all(
    'jobId workflowId workflowID runId id',
    'write idempotencyKey, by which a second submission finds the first task, or taskId, of which a second is refused',
  ),
  ...all(
    'deduplication deduplicationId deduplicationID dedupeKey idempotency idempotencyKeyTTL',
    'write idempotencyKey',
  ),
  ...all(
    'delay startDelay delaySeconds countdown',
    (given) => `write delayMs: ${number(given, 1_000)}, in ms`,
  ),
  ...all('runAt scheduledAt scheduleTime startAfter startAt eta at', 'write dueAt: a Date, or epoch ms'),
  ...retriesOf(", which is defineTask's"),
  ...all('retry', "write it in defineTask: a task type's tries are the same for all its tasks"),
  ...timeouts,
  ...lanes,
  ...schedules,
  ...kept,
  ...listeners,
  ...all('tags metadata meta memo searchAttributes attributes', "write labels: { name: 'text' }"),
  ...all('user userId tenant tenantId', "write client: 'who'"),
  ...all(
    'queue queueName taskQueue',
    "leave it out: a lane says what goes first, and a worker's types what it runs",
  ),
  ...all('parent parentId', 'write ctx.spawn or ctx.call in the handler of the parent'),
  ...all('parentClosePolicy', "write onParentEnd: 'cancel' or 'abandon' with ctx.spawn or ctx.call"),
}

/** For ctx.step. */
export const familiarToStep: FamiliarNames = {
  ...retriesOf(''),
  ...timeouts,
  ...all('retriesAllowed', 'write retry: { attempts: 3 }'),
  ...all('delay', 'write ctx.sleep before the step, or retry: { attempts, backoff: { initialMs } }'),
  ...all('id name key stepId', 'the key is the first argument: ctx.step(key, options, fn)'),
  ...all('idempotencyKey', "leave it out: the step's function is given step.idempotencyKey"),
  ...all('signal abortSignal', "leave it out: the step's function is given step.signal"),
  ...all('heartbeatTimeout', 'leave it out: the lease of a task is renewed by itself'),
  ...all('onError onFailure compensate', 'catch the error of the step in the handler'),
}

/** For createRuntime, createWorker and createClient. The settings stand in `config`. */
export const familiarToRuntime: FamiliarNames = {
  ...Object.fromEntries(settingNames.map((name) => [name, `write config: { ${name} }`])),
  ...all(
    'concurrency maxConcurrency maxConcurrent maxConcurrentTasks workerConcurrency maxConcurrentActivityTaskExecutions maxConcurrentWorkflowTaskExecutions',
    (given) =>
      `write workers: { capacity: ${number(given, 10)} } for what each worker of this process runs at once`,
  ),
  ...all(
    'url db database databaseUrl systemDatabaseUrl path file filename connection connectionString storage address',
    "write store: 'sqlite:runtime.db'",
  ),
  ...all('handlers workflows workflowsPath activities functions jobs agents', 'write tasks: [ … ]'),
  ...all('retries maxRetries attempts maxAttempts retry backoff', 'write retry in defineTask'),
  ...all('timeout timeoutMs', "write timeoutMs in defineTask, or among submit's options"),
  ...all(
    'rateLimit rateLimits limiter throttle quotas quota',
    'write config: { quotaConfig } (docs/quotas.md)',
  ),
  ...all('cron repeat', "write runtime.schedules.put('a name', { cron: '0 9 * * *' }, task, input)"),
  ...all('priority lane', "write lane in defineTask, or among submit's options"),
  ...all('queue queues queueName taskQueue', "write workers: { types: ['a type'] }, which these workers run"),
  ...kept,
  ...all('log logLevel debug verbose', 'write logger: a pino logger with the level that you want, or false'),
  ...all('onError', 'write onFailure'),
  ...all('grace gracePeriod graceMs shutdownTimeout shutdownGraceTime', 'write config: { drainGraceMs }'),
  ...all('lockDuration stalledInterval leaseMs lease', 'write config: { leaseTtlMs }'),
  ...all('maxStalledCount maxRecoveryAttempts', 'write config: { maxCrashes }'),
  ...all('handleSignals gracefulShutdown', 'write signals: true'),
  ...all('autorun autoStart', 'write start'),
}

/** For `workers`. */
export const familiarToWorkers: FamiliarNames = {
  ...all('concurrency slots maxConcurrent threads', (given) => `write capacity: ${number(given, 10)}`),
  ...all('size number instances', (given) => `write count: ${number(given, 2)}`),
  ...all('tasks queues taskQueue', "write types: ['a type']"),
}

/** For a stage of `definePipeline`. */
export const familiarToStage: FamiliarNames = {
  ...all(
    'workers parallelism concurrency instances processors',
    (given) => `write partitions: ${number(given, 4)}`,
  ),
  ...all(
    'key keyBy partitionKey partitionBy',
    'give the key where the event is published: ctx.publish(type, data, { key })',
  ),
  ...all('stage id', 'write name'),
  ...all('emits outputs produces', 'write publishes'),
  ...all('receives inputs consumes after', 'write subscribes'),
}

/** For `retry`. */
export const familiarToRetry: FamiliarNames = {
  ...all('retries maxRetries', (given) => triesAfterFirst(given).replace('retry: { ', '').replace(' }', '')),
  ...all(
    'maxAttempts maximumAttempts limit max times count tries',
    (given) => `write attempts: ${number(given, 3)}`,
  ),
  ...all(
    'delay delayMs initialMs initialInterval initialDelay minTimeout minTimeoutInMs interval',
    (given) => `write backoff: { initialMs: ${number(given, 1_000)} }`,
  ),
  ...all(
    'factor backoffCoefficient backoffRate multiplier',
    (given) => `write backoff: { factor: ${number(given, 2)} }`,
  ),
  ...all(
    'maxMs maxDelay maximumInterval maxTimeout maxTimeoutInMs maxInterval',
    (given) => `write backoff: { maxMs: ${number(given, 60_000)} }`,
  ),
  ...all('jitter randomize', 'write backoff: { jitter: 0.5 }'),
  ...all(
    'nonRetryableErrorTypes retryIf shouldRetry when on retryOn abortOn',
    'throw a NonRetryableError, or an error with retryable: false, where another try is useless',
  ),
}

/** For `retry.backoff`. */
export const familiarToBackoff: FamiliarNames = {
  ...all(
    'delay delayMs initialInterval initialDelay minTimeout minTimeoutInMs interval base',
    (given) => `write initialMs: ${number(given, 1_000)}`,
  ),
  ...all('type strategy kind', 'write factor: 1 for equal waits, 2 for waits that double'),
  ...all(
    'multiplier rate coefficient exponent backoffCoefficient',
    (given) => `write factor: ${number(given, 2)}`,
  ),
  ...all(
    'max maxDelay maximumInterval maxTimeout maxTimeoutInMs cap limit',
    (given) => `write maxMs: ${number(given, 60_000)}`,
  ),
  ...all('randomize', 'write jitter: 0.5'),
}

/** For the options of a schedule. */
export const familiarToSchedule: FamiliarNames = {
  ...all('concurrencyPolicy overlapPolicy', 'write overlap'),
  ...all('backfill catchupWindow misfire startingDeadlineSeconds', 'write catchUp and graceMs'),
  ...timeouts,
  ...lanes,
}

/** For the timing of a schedule. */
export const familiarToTiming: FamiliarNames = {
  ...all('pattern expression cronExpression cronSchedule schedule rule', "write cron: '0 9 * * *'"),
  ...all('every interval intervalMs seconds minutes', 'write everyMs: 60_000, in ms'),
  ...all('tz zone', "write timeZone: 'Europe/Paris'"),
}
