/** Every code, what it means and what to do about it: the one list, closed. Codes are never renamed. */
export const errorCodes = {
  invalid_config: {
    meaning: 'A setting is missing, unknown, of the wrong type or in conflict with another.',
    remedy: 'Correct the fields that the message names; it lists the allowed values.',
    retryable: false,
  },
  invalid_argument: {
    meaning: 'An argument has a value that the call does not accept.',
    remedy: 'Correct the argument that the message names; it lists the allowed values.',
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
    meaning: 'A stored value was not written by the codec.',
    remedy: 'Run verify: another program changed the store.',
    retryable: false,
  },
  value_unreadable: {
    meaning: 'A stored value needs a codec or a key that this program does not have, or that failed.',
    remedy: 'Give the program the codec or the key, then resume the task.',
    retryable: false,
  },
  invalid_transition: {
    meaning: 'The task cannot move from its state to the requested one. Nothing was written.',
    remedy: 'Read the task again: its state has changed.',
    retryable: false,
  },
  unknown_task_type: {
    meaning: 'This process does not define a task of this type.',
    remedy: 'Give the definition to createRuntime, or correct the name.',
    retryable: false,
  },
  schema_mismatch: {
    meaning:
      'A stored input, signal, approval or chunk does not fit the schema of its task type in this process.',
    remedy: 'Deploy code whose schema accepts it, then retry the task.',
    retryable: false,
  },
  pipeline_constraint_violation: {
    meaning: 'Stages of a pipeline receive what no stage before them publishes, or have the same name.',
    remedy:
      'Reorder the stages or correct the types; the error names every violation in the order of the stages.',
    retryable: false,
  },
  unknown_stage: {
    meaning: 'A task that is no stage of a pipeline published or received events.',
    remedy: 'Submit the pipeline, which starts its stages; a fork or retry of a stage alone is none.',
    retryable: false,
  },
  unauthorized_publish: {
    meaning: 'A stage published an event of a type that its pipeline does not let it publish.',
    remedy: 'Name the type under publishes of the stage, or correct the name.',
    retryable: false,
  },
  line_refused: {
    meaning: "The server does not let a process on a worker's line do this.",
    remedy:
      'Give it a token with the scope and the task types that the message names, or make the call in a process with the database.',
    retryable: false,
  },
  line_protocol: {
    meaning: "A process sent something that the protocol of workers' lines does not have.",
    remedy:
      'Run the same version of @ku0/agent-runtime on both sides; send less at once where the message names a size.',
    retryable: false,
  },
  idempotency_conflict: {
    meaning: 'The idempotency key was used before, with another type or input.',
    remedy: 'Use a new key for new work.',
    retryable: false,
  },
  already_exists: {
    meaning: 'The name or id is taken.',
    remedy: 'Choose another one, or use what already exists under it.',
    retryable: false,
  },
  not_found: {
    meaning: 'Nothing has this name or id, or it was pruned.',
    remedy: 'Check the name or id, and which store is open.',
    retryable: false,
  },
  node_unsupported: {
    meaning: 'The program runs on a version of Node.js that the runtime does not support, or on Bun or Deno.',
    remedy: 'Run it with Node.js ^22.18, ^24 or 26 and later.',
    retryable: false,
  },
  timeout: {
    meaning: 'The work took longer than its time limit.',
    remedy: 'Raise the limit that the message names, or make the work smaller.',
  },
  shutdown: {
    meaning: 'The runtime is stopping: it accepts no submissions, and running tasks go back to the queue.',
    remedy: 'Submit to another process; in a handler, do not catch the error.',
    retryable: false,
  },
  lease_lost: {
    meaning: 'The lease expired or was taken over. Later writes of this holder are discarded.',
    remedy: 'Stop, and do not catch the error; another worker has the task.',
  },
  task_canceled: {
    meaning: 'The task was canceled.',
    remedy: 'Stop, and do not catch the error; clean-up hooks run.',
    retryable: false,
  },
  task_diverged: {
    meaning: 'The task is parked: its handler took a different path than its recorded history.',
    remedy:
      'Deploy code that makes the recorded calls and call runtime.resume, or go on as a new task with runtime.retry or runtime.fork; then ask for the result again.',
    retryable: false,
  },
  not_deterministic: {
    meaning:
      'Strict mode replayed the task at once, and its handler took another path, returned another result or made a request.',
    remedy:
      'Make requests, and read the time, chance and state that other code changes, in a step, then submit the task again.',
    retryable: false,
  },
  poisoned: {
    meaning: 'The task lost its lease to crashes as often as maxCrashes allows.',
    remedy: 'Find out why its process dies, then retry the task.',
    retryable: false,
  },
  crashed: {
    meaning: 'The thread or process that ran only this task ended before its handler did.',
    remedy:
      'See the message for how it ended. Do not call process.exit in a handler, and handle the errors of timers and emitters; retry says how often a task is tried.',
  },
  escalated: {
    meaning:
      'A supervisor failed: a child failed more often than maxRestarts allows, or in a way that a restart does not mend.',
    remedy: 'The cause is the error of the child: mend that, then retry the supervisor.',
    retryable: false,
  },
  memory_exceeded: {
    meaning: 'The task filled the memory of the thread or process that ran only this task.',
    remedy: "Raise the task type's memoryMb, or hold less at once.",
    retryable: false,
  },
  gateway_unreachable: {
    meaning: 'The run gateway that an agent is behind could not be reached, or broke off.',
    remedy: 'See whether it runs and whether its URL is right, then retry the task.',
    retryable: true,
  },
  gateway_refused: {
    meaning: 'The run gateway refused a request, or its answer is none of the protocol.',
    remedy: 'Correct what the message names: the URL, the token, or the program behind it.',
    retryable: false,
  },
  agent_run_failed: {
    meaning: 'The agent behind a run gateway ended without success.',
    remedy: 'See the message for its reason; retry says how often a task is tried.',
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
    meaning: 'A step was called, or was still running, after the handler had returned.',
    remedy: 'Await every step before the handler returns.',
    retryable: false,
  },
  payload_too_large: {
    meaning: 'A value is larger than the limit allows.',
    remedy: 'Store it elsewhere and keep a reference, or raise maxPayloadBytes.',
    retryable: false,
  },
  non_retryable: {
    meaning: 'A handler or step reported that trying again cannot help.',
    remedy: 'See its message and cause.',
    retryable: false,
  },
  rate_limited: {
    meaning: 'A provider refused a call for now.',
    remedy:
      "Nothing: the call is tried again at the time that the provider named. A quota below the provider's limit avoids it.",
    retryable: true,
  },
  handler_failed: {
    meaning: 'A handler or step threw an error without a code of the runtime.',
    remedy: 'See its message and cause.',
  },
  limit_exceeded: {
    meaning: 'A limit of the configuration was reached.',
    remedy: 'Raise the limit that the message names, do less, or try later.',
  },
  circuit_open: {
    meaning:
      'The route or swarm accepts no work for now: earlier work broke a hard limit, was slow, or stopped reporting.',
    remedy: 'Submit again at the time that the message names, and find out what went wrong before.',
  },
  not_approved: {
    meaning: 'An approval was rejected too often, or nobody answered in time.',
    remedy: 'Act on the feedback in the message, then submit the task again.',
    retryable: false,
  },
  budget_exceeded: {
    meaning:
      'The task, or a task above it, used up its budget, or used more than its profile or limits allow.',
    remedy:
      'Raise the budget or limit that the message names, or make the work smaller; the details may hold a partial result.',
    retryable: false,
  },
  lease_released: {
    meaning: 'The lease was released: it takes no more heartbeats.',
    remedy: 'Stop sending heartbeats before you release the lease.',
    retryable: false,
  },
  in_doubt: {
    meaning:
      'A step was started and then a crash or a timeout hid how it ended: it may or may not have taken effect.',
    remedy:
      "Check whether the step took effect. If it did, fork the task with the step's result as an edit. Otherwise retry the task: the step's inDoubt option then decides.",
  },
  inside_step: {
    meaning: 'A step, a wait or a child was called from inside the function of a step.',
    remedy: 'Call it in the handler itself, before or after that step.',
    retryable: false,
  },
  inside_handler: {
    meaning:
      'A handler waited for a result with runtime.result, which would hold the slot that the other task may need.',
    remedy: 'Use ctx.call, or ctx.spawn and the result() of its child, which wait without a slot.',
    retryable: false,
  },
  already_resolved: {
    meaning: 'The question was already answered, or is not open any more.',
    remedy: 'Nothing: the first answer counts.',
    retryable: false,
  },
  store_newer: {
    meaning: 'The store was written by a later version.',
    remedy: 'Upgrade this program.',
    retryable: false,
  },
  store_not_a_database: {
    meaning: 'The file is not a database, or belongs to another program.',
    remedy: 'Check the path.',
    retryable: false,
  },
  store_read_only: {
    meaning: 'The store cannot be written.',
    remedy: 'Check the permissions of the file and its folder, and the mount.',
    retryable: false,
  },
  store_folder_missing: {
    meaning: 'The folder of the database file does not exist.',
    remedy: 'Create it; the runtime does not create folders.',
    retryable: false,
  },
  store_thread_missing: {
    meaning: "The file that the store's thread runs, or the database driver, cannot be found.",
    remedy: 'Install both beside the program, and keep them out of its bundle.',
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
    remedy: 'Free space. Everything acknowledged before is safe.',
    retryable: true,
  },
  store_busy: {
    meaning:
      'Another process locked the database for longer than the runtime retries. The operation was not stored.',
    remedy: 'Try again, and look for a long transaction in another program.',
    retryable: true,
  },
  store_io: {
    meaning: 'The disk failed. The process writes nothing more, because its cache may be wrong.',
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
    remedy: 'Stop every process, keep a copy of the files, run verify, restore a backup.',
    retryable: false,
  },
  store_schema: {
    meaning: 'The tables do not match this version, or a migration failed.',
    remedy: 'See the cause. A failed migration changes nothing.',
    retryable: false,
  },
  store_data_loss: {
    meaning:
      'Acknowledged commits are missing: a file is behind its anchor, its log is damaged, or a database server has lost them. Nothing was changed.',
    remedy:
      'Keep a copy of the files, then restore a backup, or open the store once with `acceptLoss: true` to continue with what is left. On PostgreSQL, see fail-over on its page.',
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
    meaning: 'The connection was lost during a commit, which may or may not be stored.',
    remedy: 'Repeat the call with the same request id or key; it takes effect once.',
    retryable: true,
  },
  internal: {
    meaning: 'A bug in the runtime.',
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

/** Whether the code alone decides that trying again can help; undefined if that depends on the case. */
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
