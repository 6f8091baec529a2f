import type { CommandEntry } from './entry.ts'
import { onServer, onStoreOrServer, onTasks } from './options.ts'
import { tokens } from './serving.ts'
import { readAge, readDuration, readKept, readWhole } from './values.ts'

const store = {
  name: '[store]',
  about:
    'the store: a file, sqlite:FILE or postgres://HOST/DATABASE, or the URL of a server; that of the settings by default',
}

/** Commands that look after a store, and the program's own. */
export const caring: readonly CommandEntry[] = [
  {
    name: 'check',
    about: 'look for tasks that are stuck, for monitoring',
    details: `It reports tasks that are queued for over 5 minutes, that run for over 15 minutes without an event, output or a report of progress, whose wait is overdue by over a minute, and types
that no worker runs. Each comes with the reason that explain gives. watchdog in the configuration file has other limits, also for single types.`,
    options: [
      {
        flags: '--queued <duration>',
        about: 'how long a task may be queued',
        fallback: '5m',
        read: readDuration,
      },
      {
        flags: '--running <duration>',
        about: 'how long a task may run without progress',
        fallback: '15m',
        read: readDuration,
      },
      {
        flags: '--overdue <duration>',
        about: 'by how much a wait may be overdue',
        fallback: '1m',
        read: readDuration,
      },
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime check', 'is everything going on?'],
      ['agent-runtime check --queued 1m --json', 'the same for a monitor, with another limit'],
    ],
    exits: [
      [0, 'nothing is stuck'],
      [1, 'something is stuck'],
    ],
    load: () => import('../commands/check.ts'),
  },
  {
    name: 'prune',
    about: 'delete tasks that ended long ago, and fold old entries of ledgers',
    details: `The rules are those of config.retention in the configuration file; a flag replaces the rule of its state. With flags alone, states without a flag are kept.
Tasks are counted first, and nothing happens. Add --yes to delete them. With --ledger, older entries of each client's ledger of credits are folded into one opening entry, which has their sums.
A server goes by the rules that are in force on its store: with --server, give no flag of a rule.`,
    options: [
      ...(['completed', 'failed', 'canceled'] as const).map((state) => ({
        flags: `--${state} <duration>`,
        about: `how long ${state} tasks are kept after their end`,
        read: readKept,
      })),
      {
        flags: '--ledger <duration>',
        about: "how long the entries of clients' ledgers are kept one by one",
        read: readAge,
      },
      { flags: '--yes', about: 'delete and fold them' },
      { flags: '--dry-run', about: 'only count them, as without --yes' },
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime prune --completed 7d', 'count the tasks that completed over a week ago'],
      ['agent-runtime prune --completed 7d --failed 90d --yes', 'delete them, and old failed ones'],
      ['agent-runtime prune --ledger 400d', 'count the entries of ledgers that are over 400 days old'],
      [
        'agent-runtime prune --server http://localhost:7007',
        'count what the rules of a server no longer keep',
      ],
    ],
    load: () => import('../commands/prune.ts'),
  },
  {
    name: 'verify',
    about: 'check that a store holds what was written; may run while it is in use',
    details: `With --server the server checks its own store, and goes on answering; it needs the scope admin. Ctrl-C ends the check there, too.`,
    args: [store],
    options: [
      {
        flags: '--max-faults <n>',
        about: 'how many faults to list in full',
        fallback: '100',
        read: readWhole(1, 10_000),
      },
      {
        flags: '--seal <file>',
        about:
          'read only what came after the seal in this file, and write the next seal into it; without the file read all',
      },
      ...onStoreOrServer,
    ],
    examples: [
      ['agent-runtime verify tasks.db', 'read everything and compare it'],
      ['agent-runtime verify tasks.db --seal verified.json', 'read what is new since the last time'],
      ['agent-runtime verify --server http://localhost:7007', 'let the server check its store'],
    ],
    exits: [
      [0, 'nothing is wrong'],
      [2, 'the seal is one of another store'],
      [65, 'the store is damaged or cut, has lost commits, or is no store'],
      [75, 'with --server: another verification runs there, or no server answers'],
      [77, 'with --server: the token is refused, or lacks the scope admin'],
    ],
    load: () => import('../commands/verify.ts'),
  },
  {
    name: 'doctor',
    about: 'show how a store or a server is set up, or try whether a database server can hold a store',
    details: `For a file it shows durability, versions, files, sizes, the clock and processes. A server of PostgreSQL, or one that calls itself compatible, is tried for all that a store needs: version,
rights, sessions, locks, notices, isolation, and tasks from end to end in a schema of their own, which is dropped again. With --server it shows what the server says of itself: versions, clock, workers, tasks, and
what the token allows. With the scope admin the server looks at its own store, too.`,
    args: [store],
    options: onStoreOrServer,
    examples: [
      ['agent-runtime doctor tasks.db', 'what it stands on, and what is wrong with that'],
      ['agent-runtime doctor postgres://db.example/agents', 'can a store be used on this server?'],
      [
        'agent-runtime doctor --server http://localhost:7007',
        'what a server says of itself, and of its store',
      ],
    ],
    exits: [
      [0, 'nothing is wrong'],
      [65, 'something that was promised does not hold'],
      [75, 'no server answers, of PostgreSQL or with --server'],
      [77, 'the server refuses the token, or the role'],
    ],
    load: () => import('../commands/doctor.ts'),
  },
  {
    name: 'backup',
    noServer: 'it copies the database itself: run it where the store is',
    about: 'copy a store into a new file, and verify the copy; may run while it is in use',
    args: [
      { name: '<store>', about: 'the store: a file, sqlite:FILE or postgres://HOST/DATABASE' },
      { name: '<file>', about: 'the new file; an existing one is never replaced' },
    ],
    examples: [
      ['agent-runtime backup tasks.db tasks-backup.db', 'a copy that can be restored'],
      ['agent-runtime backup postgres://db.example/agents agents.db', 'a store on PostgreSQL, as a file'],
    ],
    load: () => import('../commands/backup.ts'),
  },
  {
    name: 'export',
    noServer: 'it copies the database itself: run it where the store is',
    about: 'the same as backup: copy a store into a new SQLite file, from a file or from PostgreSQL',
    args: [
      { name: '<store>', about: 'the store: a file, sqlite:FILE or postgres://HOST/DATABASE' },
      { name: '<file>', about: 'the new file; an existing one is never replaced' },
    ],
    examples: [
      [
        'agent-runtime export postgres://db.example/agents agents.db',
        'look at a store elsewhere, or move it',
      ],
    ],
    load: () => import('../commands/backup.ts'),
  },
  {
    name: 'import',
    noServer: 'it moves the database itself: run it where the file is',
    about: 'move the store of a file to PostgreSQL, and verify it there',
    details: `All rows move with their ids, events and hashes, in one transaction. Stop the processes on the file first, and do not go on with the file afterwards:
the tasks go on in PostgreSQL. A backup, which is also what export writes, is restored. Later ids are new, and a worker that held a task before can no longer write.`,
    args: [
      { name: '<file>', about: 'the store: a file, or sqlite:FILE' },
      { name: '<store>', about: 'an empty store: postgres://HOST/DATABASE, with ?schema=NAME if you like' },
    ],
    examples: [
      ['agent-runtime import tasks.db postgres://db.example/agents', 'go on with the tasks on PostgreSQL'],
      [
        "agent-runtime import backup.db 'postgres://db.example/agents?schema=restored'",
        'restore a backup beside what is there',
      ],
    ],
    load: () => import('../commands/import.ts'),
  },
  tokens,
  {
    name: 'config',
    about: 'show every setting and where it came from',
    options: [
      {
        flags: '--in-force',
        about: 'ask the store, too: the settings in force for all processes, and where this file differs',
      },
      ...onTasks,
      ...onServer,
    ],
    examples: [
      ['agent-runtime config', 'flag, environment, file or default, for each'],
      ['agent-runtime config --in-force', 'and what all processes on the store go by'],
    ],
    load: () => import('../commands/config.ts'),
  },
  {
    name: 'completion',
    noServer: 'it prints a script, and asks no store',
    about: 'print a completion script for a shell',
    args: [{ name: '<shell>', about: 'bash, zsh or fish', words: ['bash', 'zsh', 'fish'] }],
    examples: [
      ['source <(agent-runtime completion bash)', 'complete commands and options in this bash'],
      ['agent-runtime completion zsh > "${fpath[1]}/_agent-runtime"', 'in every zsh from now on'],
      ['agent-runtime completion fish > ~/.config/fish/completions/agent-runtime.fish', 'in every fish'],
    ],
    load: () => import('../commands/completion.ts'),
  },
]
