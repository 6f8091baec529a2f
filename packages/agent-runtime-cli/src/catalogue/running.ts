import { lanes } from '@ku0/agent-runtime-core'
import type { CommandEntry } from './entry.ts'
import { label, onTasks, timeout } from './options.ts'
import { readDuration, readTime } from './values.ts'

/** Commands that start something. */
export const running: readonly CommandEntry[] = [
  {
    name: 'submit',
    about: 'submit a task',
    details: `INPUT is JSON. Without it, and with "-", the input is read from standard input; --input reads a file. With a module of task types (--tasks,
or tasks in the configuration file) the input is checked by its schema before it is stored.`,
    args: [
      { name: '<type>', about: 'the task type' },
      { name: '[input]', about: 'the input in JSON, or - for standard input' },
    ],
    options: [
      { flags: '-i, --input <file>', about: 'a file with the input in JSON' },
      { flags: '--wait', about: 'wait until the task ends, and print its result' },
      { flags: '-f, --follow', about: 'print what the task emits as it comes, then its result' },
      timeout,
      { flags: '--lane <lane>', about: `the lane: ${lanes.join(', ')}`, choices: lanes },
      {
        flags: '--key <key>',
        about: 'an idempotency key: a second submission with it returns the first task',
      },
      { flags: '--id <id>', about: 'an id of your own for the task' },
      { flags: '--client <name>', about: 'on whose behalf the task runs' },
      { flags: '--model <name>', about: 'the model whose quota it uses' },
      label,
      { flags: '--delay <duration>', about: 'start it after this time: 30s, 5m, 2h', read: readDuration },
      { flags: '--due <time>', about: 'start it at this time: 2027-01-31T09:00:00Z', read: readTime },
      { flags: '--limit <duration>', about: 'the time limit of one attempt', read: readDuration },
      ...onTasks,
    ],
    examples: [
      [`agent-runtime submit greet '{"name":"Ada"}' --wait`, 'run a task and print its result'],
      [
        'agent-runtime submit review --input request.json --follow',
        'the input from a file, the output as it comes',
      ],
      ['echo \'"a text"\' | agent-runtime submit digest --lane batch', 'the input from standard input'],
    ],
    exits: [
      [0, 'it was accepted; with --wait or --follow: it completed'],
      [1, 'it was refused; with --wait or --follow: it failed, was canceled or was refused'],
      [75, 'with --timeout: it has not ended in time; it goes on'],
    ],
    load: () => import('../commands/submit.ts'),
  },
]
