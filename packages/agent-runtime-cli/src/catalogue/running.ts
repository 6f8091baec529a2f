import { lanes } from '@ku0/agent-runtime-core'
import type { CommandEntry } from './entry.ts'
import { agreement, capacity, label, onServer, onTasks, timeout } from './options.ts'
import { serving } from './serving.ts'
import { readAmount, readDuration, readList, readTime, readWhole } from './values.ts'

/** Commands that start something. */
export const running: readonly CommandEntry[] = [
  {
    name: 'init',
    noServer: 'it writes the files of a project, and asks no store',
    about: 'make a new project: a task, its test, and all that they need',
    args: [
      {
        name: '[folder]',
        about: 'the folder of the project; it must be empty or not exist. The working directory by default',
      },
    ],
    examples: [['agent-runtime init my-agent', 'a project in the folder my-agent']],
    exits: [[73, 'the folder is not empty']],
    load: () => import('../commands/init.ts'),
  },
  {
    name: 'worker',
    noServer: 'it takes a server as its store, --store https://HOST',
    about: 'run tasks',
    details: `A daemon runs tasks until it is stopped. A job takes one task, runs it and ends. A hybrid worker runs tasks of the lanes interactive and normal itself, and
starts a job for each queued task of the lane batch. SIGTERM and SIGINT drain it: running tasks have drainGraceMs to end, and what is left goes back to the
queue. A second signal ends the process at once. SIGHUP drains a daemon or a hybrid worker, too, and it goes on with the task types as the files are then; if they cannot be
loaded, it goes on with those that it has. Packages and settings stay until the next start. Every minute (watchdog.everyMs) a daemon or a hybrid worker looks for stuck tasks, as
agent-runtime check does, and reports each once. Log lines go to standard error.`,
    args: [{ name: '[tasks]', about: 'the module that exports the task types; as --tasks' }],
    options: [
      {
        flags: '-m, --mode <mode>',
        about: 'daemon, job or hybrid (default: daemon)',
        choices: ['daemon', 'job', 'hybrid'],
      },
      {
        flags: '--types <types>',
        about: 'run only these types, separated by commas',
        fallback: '*',
        read: readList,
      },
      {
        flags: '--lanes <lanes>',
        about: `take tasks only from these lanes, separated by commas: ${lanes.join(', ')}`,
        words: lanes,
        fallback: 'all',
        read: (text, before) => readList(text, before, lanes),
      },
      ...capacity,
      { flags: '--max-jobs <n>', about: 'hybrid: jobs at once', fallback: '1', read: readWhole(1, 1_000) },
      {
        flags: '--wait <duration>',
        about: 'job: wait for a task for so long',
        fallback: '0s',
        read: readDuration,
      },
      {
        flags: '--waiting-exit <code>',
        about: 'job: the exit code if the task waits for something, and is not done',
        fallback: '75',
        read: readWhole(0, 255),
      },
      {
        flags: '--ready-file <file>',
        about: 'there only while it takes tasks: a readiness probe',
      },
      {
        flags: '--ready-port <n>',
        about: 'answers HTTP with 200 while it takes tasks, else with 503; 0 takes a free port',
        read: readWhole(0, 65_535),
      },
      {
        flags: '--ready-host <host>',
        about: 'the address of --ready-port',
        fallback: '127.0.0.1',
      },
      { flags: '-w, --watch', about: 'start again when a file of the tasks changes, for development' },
      {
        flags: '--token <token>',
        about:
          'for --store https://HOST: a token with the scope work; AGENT_RUNTIME_TOKEN keeps it off the screen',
      },
      ...onTasks,
    ],
    examples: [
      ['agent-runtime worker ./src/tasks.ts --store sqlite:tasks.db --capacity 20', 'a daemon'],
      [
        'agent-runtime worker ./src/tasks.ts --store https://tasks.example.com',
        'without a database, over a server',
      ],
      [
        'agent-runtime worker --mode job --types digest --wait 30s',
        'one task, for cron jobs and batch systems',
      ],
      ['TASK_WORKER_MODE=hybrid agent-runtime worker --max-jobs 2', 'batch tasks in processes of their own'],
    ],
    exits: [
      [0, 'daemon, hybrid: it drained. job: the task completed, or there was nothing to do'],
      [
        1,
        'daemon, hybrid: tasks went back to the queue unfinished; 143 after SIGTERM, 130 after SIGINT. job: the task failed',
      ],
      [74, 'the disk has failed'],
      [75, 'job: the task waits, for a time or for something else; a later job goes on with it'],
    ],
    makesStore: true,
    load: () => import('../commands/worker.ts'),
  },
  {
    name: 'submit',
    about: 'submit a task',
    details: `INPUT is JSON. Without it, and with "-", the input is read from standard input; --input reads a file. Without INPUT, a standard input that is
empty or a terminal means no input, which is undefined to the task; with "-" it must not be empty. With a module of task types (--tasks, or tasks
in the configuration file) the input is checked by its schema before it is stored.`,
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
      agreement,
      {
        flags: '--cost <credits>',
        about: 'its estimated cost in credits: 0 to 1e9; without it 1',
        read: readAmount,
      },
      {
        flags: '--delay <duration>',
        about:
          'start it after this time: 30s, 5m, 2h; without --lane or a lane of its type it goes into the lane batch',
        read: readDuration,
      },
      {
        flags: '--due <time>',
        about: 'start it at this time, with the lane as for --delay: 2027-01-31T09:00:00Z',
        read: readTime,
      },
      {
        flags: '--limit <duration>',
        about: 'the time limit of one pass through the handler; it starts again after each wait',
        read: readDuration,
      },
      ...onTasks,
      ...onServer,
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
    makesStore: true,
    load: () => import('../commands/submit.ts'),
  },
  ...serving,
]
