/** Who tells of an event that was changed in the database: of a task that is not over, and of one that is. */
export const tellers = {
  '`verifyStore`, `backupStore`': ['yes', 'yes'],
  '`runtime.replay`, `runtime.fork`, `runtime.retry`, `test.record`': ['yes', 'yes'],
  '`checkDeploy`': ['yes', 'no'],
  'the next pass of its handler': ['yes', 'no'],
  '`runtime.status`, `runtime.list`, `runtime.result`, `runtime.events`': ['no', 'no'],
  '`inspectStore`, opening the store': ['no', 'no'],
} as const
