import { summaryOf, type Findings } from './results.ts'
import type { Summary } from './statistics.ts'

/** A column of a table: a figure of a workload, and how it is written. */
interface Column {
  readonly title: string
  readonly workload: string
  readonly figure: string
  readonly unit: 'rate' | 'ms' | 'cpu' | 'MiB'
}

interface Table {
  readonly title: string
  readonly text: string
  readonly columns: readonly Column[]
  readonly plot?: string
  /** What the mark of a row says whose time was over. */
  readonly cut?: string
}

/** The page of the documentation, written from the findings alone. `plots`: the names of the pictures that are there. */
export function renderPage(findings: Findings, plots: ReadonlySet<string>): string {
  return `${[
    ...head(findings),
    ...tablesOf(findings).flatMap((table) => section(findings, table, plots)),
    ...conditions(findings),
  ].join('\n')}\n`
}

function head({ command, day, minutes, machine, load, results, systems }: Findings): readonly string[] {
  const rounds = Math.max(0, ...results.map(({ round }) => round)) + 1
  const peers = systems.filter(({ kind }) => kind === 'peer').length
  return [
    '# Performance',
    '',
    `This page compares the runtime with ${peers === 0 ? 'raw limits' : 'other systems and with raw limits'} on one machine. \`npx -y pnpm@12.21.0 bench\` measures everything and writes this page within 50 minutes. The figures below were made by:`,
    '',
    '```sh no-run',
    command,
    '```',
    '',
    `It ran on ${day} for ${minutes} minutes, with ${rounds === 1 ? 'one round' : `${rounds} rounds`}, on ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB of memory, ${machine.system}, ${machine.disk}.`,
    '',
    ...(command.includes('--quick') ? [small, ''] : []),
    ...(load.before > machine.cores / 4 ? [busy(load.before, machine.cores), ''] : []),
    'Each run has a process, a database and, where one is needed, a server of its own. The systems take turns, and the next round starts with another one. A figure is the median of its runs, with the least and the most in brackets.',
    '',
    'Each system has the settings that its documentation names as the fastest ones that still run every task at least once. [The settings](#settings-and-versions) are at the end of the page. All of them sync to disk before they answer, except where their line says otherwise.',
    '',
  ]
}

const small =
  '**The sizes were small** (`--quick`): the start of processes and of compiled code is a large part of these figures. They show what can be measured, and little about speed.'

function busy(load: number, cores: number): string {
  return `**The machine was busy with other work**: ${load.toFixed(1)} processes wanted its ${cores} cores before the first run. Times and rates are worse than on an idle machine, and differ more from run to run. Compare lines of one table with each other, and take no figure as the best that a system can do.`
}

function tablesOf({ results }: Findings): readonly Table[] {
  const named = (start: string) =>
    [...new Set(results.map(({ workload }) => workload))]
      .filter((id) => id.startsWith(start))
      .toSorted((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b)))
  const replay = results.find(({ workload }) => workload === 'replay')?.figures ?? {}
  const growth = results.find(({ workload }) => workload === 'growth')?.figures ?? {}
  return [
    {
      title: 'Submit',
      text: 'Tasks a second that were stored before the call returned: one call at a time, 50 calls at a time, and many tasks in a call.',
      plot: 'submit',
      columns: [
        { title: '1 in flight', workload: 'submit', figure: 'onePerSecond', unit: 'rate' },
        { title: '50 in flight', workload: 'submit', figure: 'fiftyPerSecond', unit: 'rate' },
        { title: '1 000 a call', workload: 'submit', figure: 'bulkPerSecond', unit: 'rate' },
      ],
    },
    ...named('drain-').map((workload) => ({
      title: `Drain ${count(Number(workload.slice(6)))} tasks`,
      text: 'A new process runs a full queue of tasks that do nothing. The first rate counts from the start of the process, the second from the start of its workers. CPU and memory are those of the whole process and of its server together, start included.',
      plot: workload,
      columns: [
        { title: 'a second, start included', workload, figure: 'perSecond', unit: 'rate' as const },
        { title: 'a second, working', workload, figure: 'perSecondWorking', unit: 'rate' as const },
        { title: 'CPU s per 10 000', workload, figure: 'cpuPer10000', unit: 'cpu' as const },
        { title: 'peak memory', workload, figure: 'peakMiB', unit: 'MiB' as const },
      ],
    })),
    {
      title: 'Durable steps',
      text: 'Steps a second whose results were stored before the handler went on. Each task has ten, and 20 tasks run at once.',
      plot: 'steps',
      columns: named('steps-').map((workload) => ({
        title: `${count(Number(/\d+/.exec(workload)))} tasks`,
        workload,
        figure: 'stepsPerSecond',
        unit: 'rate',
      })),
    },
    {
      title: 'Pick up a task when idle',
      text: 'Time from the call of submit to the start of the handler, when nothing else is to be done.',
      columns: [
        { title: 'one process, p50', workload: 'pick-up', figure: 'p50Ms', unit: 'ms' },
        { title: 'p95', workload: 'pick-up', figure: 'p95Ms', unit: 'ms' },
        { title: 'p99', workload: 'pick-up', figure: 'p99Ms', unit: 'ms' },
        { title: 'across two, p50', workload: 'pick-up-across', figure: 'p50Ms', unit: 'ms' },
        { title: 'p95', workload: 'pick-up-across', figure: 'p95Ms', unit: 'ms' },
        { title: 'p99', workload: 'pick-up-across', figure: 'p99Ms', unit: 'ms' },
      ],
    },
    {
      title: 'Pick up a task beside 1 000 others',
      text: 'The same time in one process while 1 000 other tasks run in it. Their handlers use the processor for at most 5 ms at a time and wait between, so that together they keep half a core busy.',
      columns: [
        { title: 'p50', workload: 'pick-up-busy', figure: 'p50Ms', unit: 'ms' },
        { title: 'p95', workload: 'pick-up-busy', figure: 'p95Ms', unit: 'ms' },
        { title: 'p99', workload: 'pick-up-busy', figure: 'p99Ms', unit: 'ms' },
      ],
    },
    ...named('waiting-').flatMap((workload) => waitsOf(workload)),
    {
      title: 'An hour of requests in a minute',
      text: `${count(replay['requests'] ?? 0)} requests to a language model come ${replay['isRecorded'] === 1 ? 'as a service recorded them, sixty times as fast,' : 'in rushes, as they were drawn,'} for four workers that run 16 tasks each. A handler waits 10 ms for each token that was generated, so the workers are busy for two thirds of the time. Three of ten requests are interactive, five normal and two batch; the others have priorities for that. The wait of a task from the time when it was due to the start of its handler:`,
      columns: (['interactive', 'normal', 'batch'] as const).flatMap((lane) =>
        ([50, 95, 99] as const).map((part) => ({
          title: `${lane} p${part}`,
          workload: 'replay',
          figure: `${lane}P${part}Ms`,
          unit: 'ms' as const,
        })),
      ),
    },
    {
      title: 'Start, and recover from a kill',
      text: 'Time from the start of a process to its first handler, on a database that is there. Then 20 tasks are running, their process is killed with SIGKILL, and a new one starts at once: time from the kill until the first of them runs again, and until all do.',
      columns: [
        { title: 'start', workload: 'start', figure: 'startMs', unit: 'ms' },
        { title: 'first again', workload: 'recovery', figure: 'firstMs', unit: 'ms' },
        { title: 'all again', workload: 'recovery', figure: 'allMs', unit: 'ms' },
      ],
    },
    {
      title: 'A growing queue',
      text: 'Tasks a second, from the start of the workers, for the first 5 000 of a queue of this length (1 000 of the shortest one).',
      plot: 'growth',
      columns: Object.keys(growth).map((figure) => ({
        title: count(Number(/\d+/.exec(figure))),
        workload: 'growth',
        figure,
        unit: 'rate',
      })),
    },
    {
      title: 'The disk',
      text: 'Writes of 4 KiB a second, each synced: no system can answer more often than that without putting answers together.',
      columns: [{ title: 'synced writes a second', workload: 'fsync', figure: 'perSecond', unit: 'rate' }],
    },
  ]
}

function waitsOf(workload: string): readonly Table[] {
  const cut = 'Its time was over before all tasks had reached their wait: the figures are those of fewer.'
  const tasks = `${count(Number(workload.slice(8)))} tasks that wait`
  return [
    {
      title: tasks,
      cut,
      plot: 'waiting',
      text: 'Each task reaches a wait for an event in its handler. It is stored there, and holds no slot. The first figures say how many wait, and how many a second came so far. The others are the memory of the process and its server, before the first task and with all that wait; the growth of the store for each of them; and the processor time of a second in which nothing happens.',
      columns: [
        { title: 'waiting', workload, figure: 'waiting', unit: 'rate' },
        { title: 'a second', workload, figure: 'reachedPerSecond', unit: 'rate' },
        { title: 'CPU s per 10 000', workload, figure: 'cpuPer10000', unit: 'cpu' },
        { title: 'memory before', workload, figure: 'emptyMiB', unit: 'MiB' },
        { title: 'memory with them', workload, figure: 'waitingMiB', unit: 'MiB' },
        { title: 'bytes of the store, each', workload, figure: 'storeBytes', unit: 'rate' },
        { title: 'CPU in an idle second', workload, figure: 'idleCpuMs', unit: 'ms' },
      ],
    },
    {
      title: `Beside ${tasks}`,
      cut,
      text: 'Time from the call of submit to the start of the handler of a task that does not wait, in the same process. After that, some of those that wait are woken, with 50 calls in flight: so many a second end. The last figure is the time from the start of a new process to its first handler, while all that were not woken still wait.',
      columns: [
        { title: 'pick-up p50', workload, figure: 'p50Ms', unit: 'ms' },
        { title: 'p95', workload, figure: 'p95Ms', unit: 'ms' },
        { title: 'p99', workload, figure: 'p99Ms', unit: 'ms' },
        { title: 'woken a second', workload, figure: 'wakePerSecond', unit: 'rate' },
        { title: 'start', workload, figure: 'startMs', unit: 'ms' },
      ],
    },
  ]
}

function section(findings: Findings, table: Table, plots: ReadonlySet<string>): readonly string[] {
  const rows = findings.systems.flatMap(({ id, name }) => {
    const cells = table.columns.map((column) => summaryOf(findings, id, column.workload, column.figure))
    if (cells.every((cell) => cell === undefined)) return []
    const isCut = findings.results.some(
      (it) => it.system === id && table.columns[0]?.workload === it.workload && it.figures['cut'] === 1,
    )
    return [
      [isCut ? `${name} ¹` : name, ...cells.map((cell, n) => write(cell, table.columns[n]?.unit ?? 'rate'))],
    ]
  })
  if (rows.length === 0) return []
  const { plot } = table
  return [
    `## ${table.title}`,
    '',
    table.text,
    '',
    ...(plot !== undefined && plots.has(plot) ? [`![${table.title}](performance-${plot}.svg)`, ''] : []),
    `| | ${table.columns.map(({ title }) => title).join(' | ')} |`,
    `| --- |${' ---: |'.repeat(table.columns.length)}`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
    '',
    ...(rows.some(([name]) => name?.endsWith('¹') === true)
      ? [
          `¹ ${table.cut ?? 'Not all tasks had ended when its time was over: the rate is that of those that had.'}`,
          '',
        ]
      : []),
  ]
}

function write(summary: Summary | undefined, unit: Column['unit']): string {
  if (summary === undefined) return '–'
  const one = (value: number) =>
    `${number(value, unit)}${unit === 'ms' ? ' ms' : unit === 'MiB' ? ' MiB' : ''}`
  const { median, least, most, runs } = summary
  return runs === 1 ? one(median) : `${one(median)} (${number(least, unit)}–${number(most, unit)})`
}

/** No more digits than a measurement has. */
function number(value: number, unit: Column['unit']): string {
  if (unit === 'cpu') return value.toFixed(2)
  if (unit === 'ms' && value < 100) return value.toFixed(1)
  const digits = value >= 1_000 ? 10 ** (Math.floor(Math.log10(value)) - 2) : 1
  return count(Math.round(value / digits) * digits)
}

export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')
}

function conditions({ systems, versions, leftOut, failed }: Findings): readonly string[] {
  const nameOf = (id: string) => systems.find((it) => it.id === id)?.name ?? id
  const list = (missing: Findings['failed']) =>
    [...Map.groupBy(missing, ({ system, reason }) => `${nameOf(system)}: ${reason}`)].map(
      ([what, all]) => `- ${what} (${[...new Set(all.map(({ workload }) => workload))].join(', ')})`,
    )
  return [
    '## Settings and versions',
    '',
    '| | settings |',
    '| --- | --- |',
    ...systems.map(({ name, settings }) => `| ${name} | ${settings} |`),
    '',
    `Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    '',
    'Restate calls a service as soon as a task is submitted, so no queue of it waits for a worker. Its drains and its steps are submitted and run at once, 100 and 20 at a time.',
    '',
    ...(leftOut.length === 0 ? [] : ['Left out:', '', ...list(leftOut), '']),
    ...(failed.length === 0 ? [] : ['Failed:', '', ...list(failed), '']),
    'All figures, run by run, are in [performance.json](performance.json). `tools/bench/README.md` says how to run a part of it.',
  ]
}
