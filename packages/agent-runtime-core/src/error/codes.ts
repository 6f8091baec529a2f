/** Every code, what it means and what to do about it: the one list, closed. Codes are never renamed. */
export const errorCodes = {
  invalid_config: {
    meaning: 'A setting is missing, unknown, of the wrong type or in conflict with another.',
    remedy: 'Correct the fields that the message names; it lists the allowed values.',
    retryable: false,
  },
  invalid_argument: {
    meaning: 'A call was given a value outside what it documents.',
    remedy: 'Correct the caller.',
    retryable: false,
  },
  invalid_payload: {
    meaning: "The input does not fit the task type's schema. Nothing was queued.",
    remedy: 'Correct the input; the message names the paths.',
    retryable: false,
  },
  invalid_output: {
    meaning: "The handler's return value does not fit the task type's output schema.",
    remedy: 'Correct the handler or the schema, then retry the task.',
  },
  invalid_encoding: {
    meaning: 'A stored value is not text that the codec wrote.',
    remedy: 'Run verify: something outside the runtime changed the store.',
    retryable: false,
  },
  invalid_transition: {
    meaning: 'The move is not in the table of states. Nothing was written.',
    remedy: 'Read the task again: it has moved on.',
    retryable: false,
  },
  unknown_task_type: {
    meaning: 'No task of this type is defined here.',
    remedy: 'Give the definition to createRuntime, or correct the name.',
    retryable: false,
  },
  schema_mismatch: {
    meaning: "A stored input no longer fits the schema of the worker's version of the task type.",
    remedy: 'Deploy a version that accepts it, then retry the task.',
    retryable: false,
  },
  idempotency_conflict: {
    meaning: 'The idempotency key was used before, with another type or input.',
    remedy: 'Use a new key for new work.',
    retryable: false,
  },
  already_exists: {
    meaning: 'The name or id is taken.',
    remedy: 'Choose another, or use what is there.',
    retryable: false,
  },
  not_found: {
    meaning: 'There is nothing by this name or id, or it was pruned.',
    remedy: 'Check the id and the store that was opened.',
    retryable: false,
  },
  node_unsupported: {
    meaning:
      'The program does not run on a Node.js that can run the runtime: it is another version, or Bun or Deno.',
    remedy: 'Run it with Node.js ^22.18, ^24 or 26 and later.',
    retryable: false,
  },
  timeout: {
    meaning: 'The time allowed for it ran out.',
    remedy: 'Raise the limit that the message names, or make the work smaller.',
  },
  shutdown: {
    meaning: 'The runtime is stopping: it takes no submissions, and what runs goes back to the queue.',
    remedy: 'Submit to another process; in a handler, let the error pass.',
    retryable: false,
  },
  lease_lost: {
    meaning: 'The lease expired or was taken over. Later writes of this holder are discarded.',
    remedy: 'Stop and let the error pass; another worker has the task.',
  },
  task_canceled: {
    meaning: 'The task was canceled.',
    remedy: 'Stop and let the error pass; clean-up hooks run.',
    retryable: false,
  },
  task_diverged: {
    meaning: 'The task is parked: its code does not make the calls that its history holds.',
    remedy:
      'Deploy code that fits and call runtime.resume, or go on as a new task with runtime.retry or runtime.fork; then ask for the result again.',
    retryable: false,
  },
  not_deterministic: {
    meaning: 'Strict mode replayed the task at once, and its handler took another path.',
    remedy: 'Read the time, chance and state that other code changes in a step, then submit the task again.',
    retryable: false,
  },
  poisoned: {
    meaning: 'The task lost its lease to crashes as often as maxCrashes allows.',
    remedy: 'Find out why its process dies, then retry the task.',
    retryable: false,
  },
  duplicate_step_key: {
    meaning: 'One pass through the handler used the same step key twice.',
    remedy: 'Put the index or an id into the key.',
    retryable: false,
  },
  step_not_serializable: {
    meaning: 'A value holds something that cannot be stored and restored.',
    remedy: 'Return plain data; the message names the place.',
    retryable: false,
  },
  step_outside_handler: {
    meaning: 'A step was called, or still ran unawaited, when the handler had returned.',
    remedy: 'Await every step before the handler returns.',
    retryable: false,
  },
  payload_too_large: {
    meaning: 'A value is larger than the limit allows.',
    remedy: 'Store it elsewhere and keep a reference, or raise maxPayloadBytes.',
    retryable: false,
  },
  non_retryable: {
    meaning: 'A handler or step said that trying again cannot help.',
    remedy: 'See its message and cause.',
    retryable: false,
  },
  rate_limited: {
    meaning: 'A provider refused a call for now.',
    remedy:
      'None is needed: it is tried again when the provider said. Set a quota below the provider’s limit.',
    retryable: true,
  },
  handler_failed: {
    meaning: 'A handler or step threw an error that is not one of these.',
    remedy: 'See its message and cause.',
  },
  limit_exceeded: {
    meaning: 'A limit of the configuration was reached.',
    remedy: 'Raise the limit that the message names, do less, or try later.',
  },
  circuit_open: {
    meaning:
      'Work of the route or swarm broke a hard limit, or was slow or silent: it takes nothing for now.',
    remedy: 'Submit again when the message says; see what went wrong before.',
  },
  not_approved: {
    meaning: 'A human refused it too often, or did not answer in time.',
    remedy: 'Read the feedback in the message, and submit the task again when it is heeded.',
    retryable: false,
  },
  budget_exceeded: {
    meaning: 'The task, or one above it, used up its budget, or more than its profile or its limits allow.',
    remedy:
      'Raise the budget or limit that the message names, or make the work smaller; the details may hold a partial result.',
    retryable: false,
  },
  lease_released: {
    meaning: 'The lease was given back: nothing more can be reported of it.',
    remedy: 'Stop what sends its heartbeats before the lease is released.',
    retryable: false,
  },
  in_doubt: {
    meaning:
      'A step was started before a crash, or ran out of time, and nobody knows whether it took effect.',
    remedy:
      "Look at what it was to do. It was done: fork the task with its result as an edit. Otherwise retry, which does again what the step's inDoubt says.",
  },
  inside_step: {
    meaning: 'A step, a wait or a child was called from inside the function of a step.',
    remedy: 'Call it in the handler itself, before or after that step.',
    retryable: false,
  },
  inside_handler: {
    meaning:
      'A result was waited for inside a handler, which would keep its slot from the task that it waits for.',
    remedy: 'Use ctx.call, or ctx.spawn and the result() of its child, which wait without a slot.',
    retryable: false,
  },
  already_resolved: {
    meaning: 'The question was answered before, or is not asked any more.',
    remedy: 'Nothing is left to do: the first answer counts.',
    retryable: false,
  },
  store_newer: {
    meaning: 'The store was written by a later version.',
    remedy: 'Upgrade this program.',
    retryable: false,
  },
  store_not_a_database: {
    meaning: 'The file is not a database, or not one of ours.',
    remedy: 'Check the path.',
    retryable: false,
  },
  store_read_only: {
    meaning: 'The store cannot be written.',
    remedy: 'Check the rights of the file and its folder, and the mount.',
    retryable: false,
  },
  store_folder_missing: {
    meaning: 'The folder of the database file does not exist.',
    remedy: 'Make it; the runtime does not.',
    retryable: false,
  },
  store_unlinked: {
    meaning:
      'The database file, its `-wal` or its `-shm` was deleted or replaced under the open store. Nothing more is acknowledged.',
    remedy: 'Restore the file (except `-shm`) and restart the process.',
    retryable: false,
  },
  store_full: {
    meaning: 'The disk, or a size limit of the database, is full. The operation was not stored.',
    remedy: 'Make room; what was acknowledged is safe.',
    retryable: true,
  },
  store_busy: {
    meaning: 'Others held the database for longer than the retries last. The operation was not stored.',
    remedy: 'Try again; look for a long transaction.',
    retryable: true,
  },
  store_io: {
    meaning: 'The disk failed. The process writes no more, as its cache cannot be trusted.',
    remedy: 'Check the disk and restart the process.',
    retryable: false,
  },
  store_closed: {
    meaning: 'The store has been closed.',
    remedy: 'Open it again.',
    retryable: false,
  },
  store_corrupt: {
    meaning: 'The database is damaged.',
    remedy: 'Stop, keep a copy of the files, run verify, restore a backup.',
    retryable: false,
  },
  store_schema: {
    meaning: 'The tables are not those of this version, or a migration failed.',
    remedy: 'See the cause; nothing was changed by a migration that failed.',
    retryable: false,
  },
  store_data_loss: {
    meaning:
      'The store is behind its anchor, or its log is damaged: acknowledged commits are missing. It was not opened, and is as it was.',
    remedy: 'Keep a copy of the files; restore a backup, or go on with what is there: `acceptLoss: true`.',
    retryable: false,
  },
  store_not_durable: {
    meaning: 'The database does not sync as configured, or has hard links.',
    remedy: 'Run doctor; change the setting or the file system.',
    retryable: false,
  },
  store_unavailable: {
    meaning: 'The database server cannot be reached.',
    remedy: 'Check the URL and the server; the runtime keeps trying.',
    retryable: true,
  },
  store_outcome_unknown: {
    meaning: 'The connection was lost during a commit: it may be stored or not.',
    remedy: 'Repeat the call with the same request id or key; it is applied once.',
    retryable: true,
  },
  internal: {
    meaning: 'The runtime broke a rule of its own.',
    remedy: 'Report it with the stack.',
  },
} as const satisfies Record<string, CodeEntry>

/** A code of the list. */
export type ErrorCode = keyof typeof errorCodes
/** The codes of `StoreError`: the store, not the operation, is at fault. */
export type StoreErrorCode = Extract<ErrorCode, `store_${string}`>

/** Whether a string is one of {@link errorCodes}; `constructor` and its like are not. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code)
}

/** What the code alone says about trying the same again; undefined when it depends on the case. */
export function isRetryable(code: ErrorCode): boolean | undefined {
  const entry: CodeEntry = errorCodes[code]
  return entry.retryable
}

interface CodeEntry {
  readonly meaning: string
  readonly remedy: string
  /** Set where the kind of error alone decides whether trying the same again can help. */
  readonly retryable?: boolean
}
