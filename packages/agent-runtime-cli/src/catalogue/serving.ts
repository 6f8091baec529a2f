import { scopes } from '../tokens/scopes.ts'
import type { CommandEntry } from './entry.ts'
import { capacity, onStore, onStoreOrServer, onTasks } from './options.ts'
import { readDuration, readList, readWhole } from './values.ts'

const address = [
  {
    flags: '-p, --port <n>',
    about: 'the port; 0 takes a free one',
    fallback: '7007',
    read: readWhole(0, 65_535),
  },
  {
    flags: '--host <address>',
    about: 'the address to listen on; any but those of this machine itself needs tokens',
    fallback: '127.0.0.1',
  },
  {
    flags: '--hosts <names>',
    about: 'further names under which it is reached, such as tasks.example.com',
    read: readList,
  },
]
const reports = {
  flags: '--reports <folder>',
  about: 'a folder with reports of gym:run, which the console shows and compares',
}
const readOnly = { flags: '--read-only', about: 'refuse whatever would change something' }

/** Commands that put a store behind HTTP. */
export const serving: readonly CommandEntry[] = [
  {
    name: 'serve',
    noServer: 'it is the server: name the store with --store',
    about: 'serve a store over HTTP, with its console, and run tasks if there are some',
    details: `With a module of task types it runs them, too; without one it only serves. On this machine's own addresses everybody is let in as long as the store holds no tokens;
any other address needs one (agent-runtime token create). SIGTERM and SIGINT stop it: it refuses new requests, ends streams with an id to go on from, lets open requests end, and gives tasks
that do not end in time back to the queue.`,
    args: [{ name: '[tasks]', about: 'the module that exports the task types; as --tasks' }],
    options: [
      ...address,
      readOnly,
      { flags: '--open', about: 'open the console in a browser, if it runs in a terminal' },
      { flags: '--no-console', about: 'the API only, without the pages' },
      reports,
      ...capacity,
      ...onTasks,
      { flags: '--no-tasks', about: 'only serve, also where the configuration file names task types' },
    ],
    examples: [
      ['agent-runtime serve ./src/tasks.ts --store sqlite:tasks.db', 'serve a store, and run its tasks'],
      ['agent-runtime serve --no-tasks', 'only serve: workers on other machines run the tasks'],
      ['agent-runtime serve --host 0.0.0.0 --hosts tasks.example.com', 'serve other machines, with tokens'],
    ],
    makesStore: true,
    load: () => import('../commands/serve.ts'),
  },
  {
    name: 'console',
    noServer: "it serves the pages of a store; those of a server are at the server's own URL",
    about: 'look at a store in a browser',
    details:
      'It serves the console of a store on this machine, prints its URL, and opens it in a browser if it runs in a terminal.',
    options: [...address, readOnly, { flags: '--no-open', about: 'only print the URL' }, reports, ...onStore],
    examples: [
      ['agent-runtime console --store sqlite:tasks.db', 'open the console'],
      ['agent-runtime console --read-only --no-open', 'only to look at, from a browser of your own'],
    ],
    load: () => import('../commands/console.ts'),
  },
]

/** Commands for the tokens of a server. */
export const tokens: CommandEntry = {
  name: 'token',
  about: 'list, make and revoke the tokens that a server accepts',
  details:
    'The store keeps their hashes. Every server on the store takes its tokens from there, and sees a change within a second; agent-runtime serve lets everybody on its own machine in as long as there are none.',
  options: onStoreOrServer,
  examples: [['agent-runtime token', 'who may do what, and until when']],
  load: () => import('../commands/token.ts'),
  commands: [
    {
      name: 'create',
      about: 'make a token, and show it this once',
      args: [{ name: '<name>', about: 'who holds it' }],
      options: [
        {
          flags: '--scopes <scopes>',
          about: `what it allows: ${scopes.join(', ')}`,
          words: scopes,
          read: (text, before) => readList(text, before, scopes),
        },
        { flags: '--client <name>', about: 'it submits for this client only, and sees its tasks only' },
        { flags: '--types <types>', about: 'it submits and sees tasks of these types only', read: readList },
        {
          flags: '--expires <duration>',
          about: 'it is refused after this time: 12h, 30d',
          read: readDuration,
        },
        ...onStoreOrServer,
      ],
      examples: [
        [
          'agent-runtime token create ci --scopes read,submit --expires 30d',
          'a token that submits and looks',
        ],
        [
          'agent-runtime token create acme --scopes submit --client acme --types greet',
          'a token of one client',
        ],
      ],
      exits: [[73, 'there is a token of that name']],
      makesStore: true,
      load: () => import('../commands/token-create.ts'),
    },
    {
      name: 'revoke',
      about: 'refuse a token from now on',
      args: [{ name: '<name>', about: 'the name of the token' }],
      options: onStoreOrServer,
      examples: [['agent-runtime token revoke ci', 'it is refused within a second']],
      exits: [[66, 'there is no such token']],
      load: () => import('../commands/token-revoke.ts'),
    },
  ],
}
