import type { CommandEntry } from './entry.ts'
import {
  agreement,
  laneFilter,
  onServer,
  onStoreOrServer,
  onTasks,
  pages,
  submissionFilters,
  stateFilter,
  timeout,
  typeFilter,
  watch,
  yes,
} from './options.ts'
import { lanes } from '@ku0/agent-runtime-core'
import { readDuration, readEdit, readJson, readList, readRaise, readShutdown, readWhole } from './values.ts'

const task = { name: '<task>', about: 'the id of the task, or its last digits' }
const approval = { name: '<approval>', about: 'the id of the request, as agent-runtime approvals lists it' }
const schedule = { name: '<schedule>', about: 'the name of the schedule' }
const client = { name: '<client>', about: "the name of the client; '' for tasks without one" }
const supervisor = { name: '<task>', about: 'the id of the task that is the supervisor, or its last digits' }
const verdict = [
  { flags: '--by <name>', about: 'who decided, for the audit trail' },
  { flags: '--feedback <text>', about: 'what the handler should know' },
  {
    flags: '--value <json>',
    about: 'a value for the handler, such as a corrected artifact; --tasks checks it',
    read: readJson,
  },
]

const pauseOptions = [
  { flags: '--type <types>', about: 'these task types, separated by commas', read: readList },
  {
    flags: '--lane <lanes>',
    about: `these lanes, separated by commas: ${lanes.join(', ')}`,
    words: lanes,
    read: (text: string, before: unknown) => readList(text, before, lanes),
  },
  ...onStoreOrServer,
]

/** Commands that change tasks. */
export const acting: readonly CommandEntry[] = [
  {
    name: 'cancel',
    about: 'cancel tasks by id, or all open tasks that a filter selects',
    details: `With a filter the tasks are counted first, and nothing happens. Add --yes to cancel them. Children of a canceled task are canceled with it.`,
    args: [{ name: '[tasks...]', about: 'ids of tasks, or their last digits' }],
    options: [
      stateFilter(['queued', 'running', 'waiting']),
      typeFilter,
      laneFilter,
      ...submissionFilters,
      { flags: '--reason <text>', about: 'stored with the task, and passed to its handler' },
      yes,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime cancel TASK --reason "asked for by Ada"', 'cancel one task'],
      ['agent-runtime cancel --type digest --state queued', 'count the queued digests'],
      ['agent-runtime cancel --type digest --state queued --yes', 'cancel them'],
    ],
    exits: [
      [0, 'every named task is canceled, or the filter was counted'],
      [1, 'a named task had already ended, or the number changed meanwhile'],
      [66, 'a named task does not exist; the others were canceled all the same'],
    ],
    load: () => import('../commands/cancel.ts'),
  },
  {
    name: 'retry',
    about: 'run failed or canceled tasks again, by id or by a filter',
    details: `Each becomes a new task that keeps the completed steps of the old one. With a filter the failed tasks are counted first, and nothing happens. Add --yes
to retry them. Children are left out, because the retry of their parent starts those again that failed; --children includes them, and so does --parent.
A task that was retried before is not retried again, and for a task by its id the answer names the new one. --again starts another one. When the queue has
no room for more, the rest stays as it was, and the same command goes on with it.`,
    args: [{ name: '[tasks...]', about: 'ids of tasks, or their last digits' }],
    options: [
      stateFilter(['failed', 'canceled']),
      typeFilter,
      laneFilter,
      ...submissionFilters,
      { flags: '--children', about: 'with a filter: retry children, too, each as a task without a parent' },
      { flags: '--again', about: 'start a new task even if the task was retried before' },
      yes,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime retry TASK', 'run one task again'],
      ['agent-runtime retry --state failed --type digest --yes', 'run all failed digests again'],
    ],
    exits: [
      [0, 'every task was submitted again, or the filter was counted'],
      [1, 'a new task was refused, there was no room for all, or the number changed meanwhile'],
    ],
    load: () => import('../commands/retry.ts'),
  },
  {
    name: 'fork',
    about: 'run a task again from one of its steps, as a new task',
    details: `The new task keeps what was recorded before the step. --edit gives steps another result: KEY=JSON.`,
    args: [task],
    options: [
      {
        flags: '--from <step>',
        about: 'the first step that runs again; without it every recorded step keeps its result',
      },
      {
        flags: '--edit <key=json>',
        about: 'another result for a step that is kept; may be given several times',
        read: readEdit,
      },
      { flags: '--key <key>', about: 'an idempotency key: a second fork with it returns the first' },
      { flags: '--id <id>', about: 'an id of your own for the new task' },
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime fork TASK --from review', 'run again from the step "review"'],
      [`agent-runtime fork TASK --from send --edit draft='"Dear Ada"'`, 'the same, with another draft'],
    ],
    load: () => import('../commands/fork.ts'),
  },
  {
    name: 'replay',
    about: 'run the code of a task against its recorded history, and say whether they agree',
    details:
      'No step runs and nothing is written, so it may be done with every task at any time. A server has to take remote workers, as agent-runtime serve does; its token needs the scopes work and read.',
    args: [task],
    options: [timeout, ...onTasks, ...onServer],
    examples: [['agent-runtime replay TASK --tasks ./src/tasks.ts', 'does this code still fit the task?']],
    exits: [
      [0, 'they agree'],
      [1, 'they do not'],
    ],
    load: () => import('../commands/replay.ts'),
  },
  {
    name: 'deploy-check',
    about: 'check new code against every unfinished task, before it is deployed',
    details:
      'Each unfinished task is replayed with the code of --tasks. The workers may run on meanwhile. A server has to take remote workers, as agent-runtime serve does; its token needs the scopes work and read.',
    options: [timeout, ...onTasks, ...onServer],
    examples: [['agent-runtime deploy-check --tasks ./src/tasks.ts', 'would this code strand a task?']],
    exits: [
      [0, 'the code fits every unfinished task'],
      [1, 'it does not'],
    ],
    load: () => import('../commands/deploy-check.ts'),
  },
  {
    name: 'drain',
    about: 'give workers no more tasks; those that they run go on',
    details: `A drained worker keeps its place until its process ends, and takes tasks again after --undo. Drain workers before you stop their process, and nothing is interrupted.`,
    args: [{ name: '<workers...>', about: 'ids of workers, as agent-runtime workers lists them' }],
    options: [
      { flags: '--undo', about: 'give them tasks again' },
      { flags: '--wait', about: 'wait until they run nothing' },
      timeout,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime drain WORKER --wait', 'wait until the worker has ended its tasks'],
      ['agent-runtime drain WORKER --undo', 'let it take tasks again'],
    ],
    load: () => import('../commands/drain.ts'),
  },
  {
    name: 'pause',
    about: 'start no more tasks of a type or a lane; those that run go on',
    details: `A pause holds in every process on the store, also after a restart, until agent-runtime resume. Tasks are accepted meanwhile, and wait. agent-runtime stats shows what is paused.`,
    options: pauseOptions,
    examples: [
      ['agent-runtime pause --type digest', 'a provider is down: let its tasks wait'],
      ['agent-runtime pause --lane batch', 'leave the machine to urgent work'],
    ],
    load: async () => ({ run: (await import('../commands/pause-queue.ts')).queueChanges.pause }),
  },
  {
    name: 'resume',
    about: 'start tasks of a paused type or lane again',
    options: pauseOptions,
    examples: [['agent-runtime resume --type digest --lane batch', 'the type and the lane']],
    load: async () => ({ run: (await import('../commands/pause-queue.ts')).queueChanges.resume }),
  },
  {
    name: 'signal',
    about: 'send a signal to a task that waits for it, or will',
    args: [
      task,
      { name: '<name>', about: 'the name of the signal' },
      { name: '[value]', about: 'its value in JSON; null by default' },
    ],
    options: [...onTasks, ...onServer],
    examples: [[`agent-runtime signal TASK reply '"yes"'`, 'wake a task that waits for "reply"']],
    load: () => import('../commands/signal.ts'),
  },
  {
    name: 'approvals',
    about: 'list what waits for a human, and answer it',
    options: [
      { flags: '--task <task>', about: 'only the requests of this task' },
      { flags: '--children', about: 'with --task: those of its children, too' },
      ...pages,
      ...onStoreOrServer,
    ],
    examples: [['agent-runtime approvals', 'all open requests']],
    load: () => import('../commands/approvals.ts'),
    commands: [
      {
        name: 'approve',
        about: 'approve a request',
        args: [approval],
        options: [...verdict, ...onTasks, ...onServer],
        examples: [['agent-runtime approvals approve ID --by ada', 'the task goes on']],
        load: () => import('../commands/approvals-answer.ts').then((it) => ({ run: it.approve })),
      },
      {
        name: 'reject',
        about: 'reject a request',
        args: [approval],
        options: [...verdict, ...onTasks, ...onServer],
        examples: [
          ['agent-runtime approvals reject ID --by ada --feedback "too long"', 'the task hears why'],
        ],
        load: () => import('../commands/approvals-answer.ts').then((it) => ({ run: it.reject })),
      },
      {
        name: 'trail',
        about: 'show every request that a task has made, and how it ended',
        args: [task],
        options: onStoreOrServer,
        examples: [['agent-runtime approvals trail TASK', 'who approved what, and when']],
        load: () => import('../commands/approvals-trail.ts'),
      },
    ],
  },
  {
    name: 'budgets',
    about: 'list budgets that ask for more, and answer them',
    options: [...pages, ...onStoreOrServer],
    examples: [['agent-runtime budgets', 'the budgets that wait for an answer']],
    load: () => import('../commands/budgets.ts'),
    commands: [
      {
        name: 'show',
        about: 'show the budget that a task draws on',
        args: [task],
        options: onStoreOrServer,
        examples: [['agent-runtime budgets show TASK', 'its limits, what is used and what is left']],
        load: () => import('../commands/budgets-show.ts'),
      },
      {
        name: 'continue',
        about: 'let the tasks under a budget go on',
        args: [task],
        options: [
          {
            flags: '--raise <field=amount>',
            about: 'raise a limit: tokens, money, cost, wallMs or steps; may be given several times',
            read: readRaise,
          },
          ...onStoreOrServer,
        ],
        examples: [
          ['agent-runtime budgets continue TASK --raise tokens=50000', 'go on, with 50 000 tokens more'],
        ],
        load: () => import('../commands/budgets-answer.ts').then((it) => ({ run: it.goOn })),
      },
      {
        name: 'stop',
        about: 'end the tasks under a budget',
        args: [task],
        options: onStoreOrServer,
        examples: [['agent-runtime budgets stop TASK', 'the task fails with budget_exceeded']],
        load: () => import('../commands/budgets-answer.ts').then((it) => ({ run: it.stop })),
      },
    ],
  },
  {
    name: 'agreements',
    about: 'list the agreements that submissions can name, with their terms',
    details: 'They are what the module of task types exports beside them, or what the server was given.',
    options: [...onTasks, ...onServer],
    examples: [['agent-runtime agreements --tasks ./src/tasks.ts', 'all agreements, by name']],
    load: () => import('../commands/agreements.ts'),
  },
  {
    name: 'credits',
    about: 'look at the credits of a client, and add some',
    examples: [['agent-runtime credits show acme', 'what is free, reserved and spent']],
    load: () => import('../commands/credits.ts'),
    commands: [
      {
        name: 'show',
        about: 'show the credits of a client',
        args: [client],
        options: onStoreOrServer,
        examples: [['agent-runtime credits show acme', 'what is free, reserved and spent']],
        load: () => import('../commands/credits.ts').then((it) => ({ run: it.show })),
      },
      {
        name: 'ledger',
        about: 'list the entries of the ledger of a client, the oldest first',
        args: [client],
        options: [
          { flags: '-n, --limit <n>', about: 'how many at most', read: readWhole(1, 1_000), fallback: '20' },
          {
            flags: '--after <n>',
            about: 'entries with a higher number',
            read: readWhole(0, Number.MAX_SAFE_INTEGER),
          },
          ...onStoreOrServer,
        ],
        examples: [['agent-runtime credits ledger acme', 'each change of its credits, and why']],
        load: () => import('../commands/credits.ts').then((it) => ({ run: it.ledger })),
      },
      {
        name: 'buy',
        about: 'add credits to those of a client',
        args: [client, { name: '<amount>', about: 'the number of credits' }],
        options: [
          { flags: '--key <key>', about: 'a purchase with the same key is made once' },
          { flags: '--note <text>', about: 'a note that stands in the ledger' },
          ...onStoreOrServer,
        ],
        examples: [['agent-runtime credits buy acme 100 --key "order 7"', 'a hundred credits, once']],
        load: () => import('../commands/credits.ts').then((it) => ({ run: it.buy })),
      },
    ],
  },
  {
    name: 'supervisors',
    about: 'list the supervisors, look at the children of one, and start, stop or restart one',
    options: [
      { flags: '--all', about: 'those that supervise no more, too' },
      ...pages,
      ...watch,
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime supervisors', 'those that supervise now, their children and their restarts'],
      ['agent-runtime supervisors --all --limit 100', 'those that ended, too'],
    ],
    load: () => import('../commands/supervisors.ts'),
    commands: [
      {
        name: 'show',
        about: 'show a supervisor, its restarts and its children',
        args: [supervisor],
        options: onStoreOrServer,
        examples: [['agent-runtime supervisors show TASK', 'its children, and what they do']],
        load: () => import('../commands/supervisors.ts').then((it) => ({ run: it.show })),
      },
      {
        name: 'start',
        about: 'start one more child of a supervisor',
        args: [
          supervisor,
          { name: '<child>', about: 'the id of the new child' },
          { name: '<type>', about: 'the task type' },
          { name: '[input]', about: 'the input in JSON, or - for standard input' },
        ],
        options: [
          {
            flags: '--restart <when>',
            about: 'when it starts again after its end',
            choices: ['permanent', 'transient', 'temporary'],
            fallback: 'transient',
          },
          {
            flags: '--shutdown <duration>',
            about: 'how long it may take to stop; that of the supervisor by default',
            read: readShutdown,
          },
          { flags: '-i, --input <file>', about: 'a file with the input in JSON' },
          ...onTasks,
          ...onServer,
        ],
        examples: [[`agent-runtime supervisors start TASK crawler-7 crawl '"a.org"'`, 'one more crawler']],
        load: () => import('../commands/supervisors.ts').then((it) => ({ run: it.start })),
      },
      {
        name: 'stop',
        about: 'cancel a child, which its supervisor does not start again',
        args: [supervisor, { name: '<child>', about: 'the id of the child' }],
        options: onStoreOrServer,
        examples: [['agent-runtime supervisors stop TASK crawler-7', 'end one crawler']],
        exits: [[1, 'the child had ended before']],
        load: () => import('../commands/supervisors.ts').then((it) => ({ run: it.stop })),
      },
      {
        name: 'restart',
        about: 'start a child that has ended once more, as a new task',
        args: [supervisor, { name: '<child>', about: 'the id of the child' }],
        options: onStoreOrServer,
        examples: [['agent-runtime supervisors restart TASK crawler-7', 'start it with the same input']],
        load: () => import('../commands/supervisors.ts').then((it) => ({ run: it.restart })),
      },
    ],
  },
  {
    name: 'schedules',
    about: 'list the schedules, and change them',
    options: onStoreOrServer,
    examples: [['agent-runtime schedules', 'all schedules, with their next times']],
    load: () => import('../commands/schedules.ts'),
    commands: [
      {
        name: 'put',
        about: 'create or change a schedule',
        args: [
          schedule,
          { name: '<type>', about: 'the task type' },
          { name: '[input]', about: 'the input in JSON, or - for standard input' },
        ],
        options: [
          { flags: '--cron <expression>', about: 'five or six fields, or a shortcut such as @daily' },
          { flags: '--zone <name>', about: 'the time zone of --cron', fallback: 'UTC' },
          {
            flags: '--every <duration>',
            about: 'an interval in place of --cron: 30s, 5m, 2h',
            read: readDuration,
          },
          { flags: '-i, --input <file>', about: 'a file with the input in JSON' },
          agreement,
          ...onTasks,
          ...onServer,
        ],
        examples: [
          [
            `agent-runtime schedules put morning digest '{"of":"news"}' --cron "0 9 * * 1-5" --zone Europe/Paris`,
            'at nine on workdays',
          ],
          ['agent-runtime schedules put pulse ping null --every 5m', 'every five minutes'],
        ],
        makesStore: true,
        load: () => import('../commands/schedules-put.ts'),
      },
      ...(
        [
          ['pause', 'stop a schedule until it is resumed'],
          ['resume', 'go on with a paused schedule'],
          ['trigger', 'submit one run of a schedule now'],
          ['remove', 'remove a schedule; tasks that it submitted stay'],
        ] as const
      ).map(([name, about]) => ({
        name,
        about,
        args: [schedule],
        options: onStoreOrServer,
        examples: [[`agent-runtime schedules ${name} morning`, about] as const],
        load: () => import('../commands/schedules-change.ts').then((it) => ({ run: it.changes[name] })),
      })),
    ],
  },
]
