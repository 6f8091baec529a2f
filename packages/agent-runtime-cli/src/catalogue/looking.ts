import type { CommandEntry } from './entry.ts'
import {
  after,
  laneFilter,
  onStoreOrServer,
  pages,
  since,
  submissionFilters,
  stateFilter,
  timeout,
  typeFilter,
  watch,
} from './options.ts'
import { readList, readWhole } from './values.ts'

const task = { name: '<task>', about: 'the id of the task, or its last digits' }

/** Commands that show something and change nothing. */
export const looking: readonly CommandEntry[] = [
  {
    name: 'list',
    about: 'list tasks, newest first',
    options: [
      stateFilter(),
      typeFilter,
      laneFilter,
      ...submissionFilters,
      ...pages,
      ...watch,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime list', 'the newest tasks'],
      ['agent-runtime list --state failed --type digest,review', 'failed tasks of two types'],
      ['agent-runtime list --state running --watch', 'what runs now, once a second'],
    ],
    load: () => import('../commands/list.ts'),
  },
  {
    name: 'show',
    about: 'show a task: its state, its steps as a waterfall, its input and its result',
    args: [task],
    options: onStoreOrServer,
    examples: [['agent-runtime show TASK', 'what the task did, and when']],
    load: () => import('../commands/show.ts'),
  },
  {
    name: 'events',
    about: 'show the history of a task, event by event',
    args: [task],
    options: [
      { flags: '-f, --follow', about: 'go on with new events until the task ends' },
      after,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime events TASK', 'all that was recorded so far'],
      ['agent-runtime events TASK --follow --json', 'every event as a line of JSON, until the task ends'],
    ],
    load: () => import('../commands/events.ts'),
  },
  {
    name: 'output',
    about: 'show what a task has emitted',
    details:
      'Texts are written one after the other, as the task emitted them. Other values are written as lines of JSON.',
    args: [task],
    options: [
      { flags: '-f, --follow', about: 'go on with new output until the task ends' },
      after,
      ...onStoreOrServer,
    ],
    examples: [['agent-runtime output TASK --follow', 'the tokens of a model, as they come']],
    load: () => import('../commands/output.ts'),
  },
  {
    name: 'result',
    about: 'print the result of a task',
    args: [task],
    options: [{ flags: '--wait', about: 'wait until the task ends' }, timeout, ...onStoreOrServer],
    examples: [
      ['agent-runtime result TASK', 'the result of a task that has completed'],
      ['agent-runtime result TASK --wait --timeout 5m', 'wait for it, for five minutes at most'],
    ],
    exits: [
      [0, 'the task has completed'],
      [1, 'it failed, was canceled or was refused'],
      [75, 'it has not ended, or not in time'],
    ],
    load: () => import('../commands/result.ts'),
  },
  {
    name: 'tree',
    about: 'show a task with its children, and their children',
    args: [task],
    options: [
      {
        flags: '--depth <n>',
        about: 'how many levels below the task',
        fallback: '10',
        read: readWhole(0, 100),
      },
      ...onStoreOrServer,
    ],
    examples: [['agent-runtime tree TASK', 'who spawned whom, and how far each is']],
    load: () => import('../commands/tree.ts'),
  },
  {
    name: 'explain',
    about: 'say why a task is in its state, and when it is likely to start',
    args: [task],
    options: onStoreOrServer,
    examples: [['agent-runtime explain TASK', 'why the task does not run']],
    load: () => import('../commands/explain.ts'),
  },
  {
    name: 'queue',
    about: 'show how many tasks wait, and for what',
    options: [...watch, ...onStoreOrServer],
    examples: [['agent-runtime queue', 'each reason, with the task that has waited longest']],
    load: () => import('../commands/queue.ts'),
  },
  {
    name: 'dead-letters',
    about: 'list the tasks that failed, with their errors',
    details:
      'Run one again with agent-runtime retry TASK, or several with a filter: a retry is a new task, and the old one stays on this list until retention deletes it.',
    options: [typeFilter, laneFilter, ...pages, ...onStoreOrServer],
    examples: [['agent-runtime dead-letters --type digest', 'the failed tasks of one type']],
    load: () => import('../commands/dead-letters.ts'),
  },
  {
    name: 'stats',
    about: 'show the counters of the store',
    options: [since, ...watch, ...onStoreOrServer],
    examples: [
      ['agent-runtime stats', 'queued, running, waiting and finished tasks'],
      ['agent-runtime stats --since 1h', 'starts, ends and waits of the last hour, step by step'],
      ['agent-runtime stats --watch', 'the same as a live screen, with rates'],
    ],
    load: () => import('../commands/stats.ts'),
  },
  {
    name: 'pipelines',
    about: 'list the pipelines, or show the stages of one and the events between them',
    args: [{ name: '[task]', about: 'the id of the task that is the pipeline, or its last digits' }],
    options: [
      { flags: '--events', about: 'show the events that its stages have published' },
      { flags: '-f, --follow', about: 'show its events, and go on with new ones until the pipeline ends' },
      {
        flags: '--type <types>',
        about: 'only events of these types, separated by commas',
        read: readList,
      },
      after,
      ...pages,
      ...watch,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime pipelines', 'the newest, and how far each is'],
      ['agent-runtime pipelines TASK', 'its stages: what each has published, received and left unread'],
      ['agent-runtime pipelines TASK --follow --json', 'every event as a line of JSON, until it ends'],
    ],
    load: () => import('../commands/pipelines.ts'),
  },
  {
    name: 'workers',
    about: 'list the workers of all processes',
    options: [...watch, ...onStoreOrServer],
    examples: [['agent-runtime workers', 'each worker, what it runs and how much it has to do']],
    load: () => import('../commands/workers.ts'),
  },
]
