import { lanes, taskStates } from '@ku0/agent-runtime-core'
import type { OptionEntry } from './entry.ts'
import { readDuration, readLabel, readList, readWhole } from './values.ts'

/** The options that each command on a store takes. */
export const onStore: readonly OptionEntry[] = [
  {
    flags: '-s, --store <url>',
    about:
      'the store: a file, sqlite:FILE or postgres://HOST/DATABASE; for a worker a server, too: https://HOST',
    fallback: 'sqlite:runtime.db',
  },
  {
    flags: '--config <file>',
    about: 'the configuration file',
    fallback: 'the nearest agent-runtime.config.ts',
  },
]

/** For commands that can ask a server in place of a store. */
export const onServer: readonly OptionEntry[] = [
  { flags: '--server <url>', about: 'ask this server in place of a store: http://localhost:7007' },
  {
    flags: '--token <token>',
    about: 'the token for the server; AGENT_RUNTIME_TOKEN keeps it off the screen',
  },
]
export const onStoreOrServer: readonly OptionEntry[] = [...onStore, ...onServer]

/** The same for commands that need the task types. */
export const onTasks: readonly OptionEntry[] = [
  ...onStore,
  { flags: '-t, --tasks <file>', about: 'the module that exports the task types' },
]

/** Which tasks. */
export const typeFilter: OptionEntry = {
  flags: '--type <types>',
  about: 'only tasks of these types, separated by commas',
  read: readList,
}
export const laneFilter: OptionEntry = {
  flags: '--lane <lanes>',
  about: `only tasks of these lanes: ${lanes.join(', ')}`,
  words: lanes,
  read: (text, before) => readList(text, before, lanes),
}
const parentFilter: OptionEntry = { flags: '--parent <task>', about: 'only the children of this task' }
const clientFilter: OptionEntry = { flags: '--client <name>', about: 'only tasks of this client' }
const labelFilter: OptionEntry = {
  flags: '--label <key=value>',
  about: 'only tasks with this label; several times: with all of them',
  read: readLabel,
}
/** Filters by the details that a task's submitter gave. */
export const submissionFilters: readonly OptionEntry[] = [parentFilter, clientFilter, labelFilter]

export const stateFilter = (states: readonly string[] = taskStates): OptionEntry => ({
  flags: '--state <states>',
  about: `only tasks in these states: ${states.join(', ')}`,
  words: states,
  read: (text, before) => readList(text, before, states),
})

/** One page of a list. */
export const pages: readonly OptionEntry[] = [
  { flags: '-n, --limit <n>', about: 'how many at most', fallback: '20', read: readWhole(1, 1_000) },
  {
    flags: '--cursor <n>',
    about: 'go on after an earlier page',
    read: readWhole(0, Number.MAX_SAFE_INTEGER),
  },
]

export const after: OptionEntry = {
  flags: '--after <seq>',
  about: 'only what comes after this sequence number',
  read: readWhole(0, Number.MAX_SAFE_INTEGER),
}

export const since: OptionEntry = {
  flags: '--since <duration>',
  about:
    'show the runs of this time in 20 steps, counted from the newest 10,000 starts and the samples that a server keeps: 15m, 1h, 24h',
  read: readDuration,
}

export const watch: readonly OptionEntry[] = [
  { flags: '-w, --watch', about: 'show it again and again until you press Ctrl-C' },
  { flags: '--every <duration>', about: 'with --watch: how often', fallback: '1s', read: readDuration },
]

/** How many tasks a process runs at once. */
export const capacity: readonly OptionEntry[] = [
  {
    flags: '-c, --capacity <n>',
    about: 'tasks at once; 4 if it is not given',
    read: readWhole(1, 1_000_000),
  },
  {
    flags: '--concurrency <n>',
    about: 'another name of --capacity',
    read: readWhole(1, 1_000_000),
  },
]

export const timeout: OptionEntry = {
  flags: '--timeout <duration>',
  about: 'stop waiting after this time: 500ms, 30s, 5m, 2h',
  read: readDuration,
}

export const yes: OptionEntry = { flags: '--yes', about: 'do it; without it the tasks are only counted' }

export const agreement: OptionEntry = {
  flags: '--agreement <name>',
  about: 'the agreement that it comes under: agent-runtime agreements lists them',
}

export const label: OptionEntry = {
  flags: '--label <key=value>',
  about: 'a label of the task; may be given several times',
  read: readLabel,
}
