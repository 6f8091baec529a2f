// Installs this runtime and its peers, each alone and as npm has it now, measures what that costs, and writes the table of docs/compared.md.
//
//   node tools/figures.ts
//
// It needs the npm registry and what `tsc -b` has built. It takes a few minutes, and is no part of CI: `tools/test/figures.test.ts` looks at what it wrote.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { importMsOf, megabytesOf } from './packages/cost.ts'
import { npmProject } from './packages/npm.ts'
import { packPackages } from './publish/pack.ts'
import { publicPackages } from './publish/packages.ts'

const workspace = resolve(import.meta.dirname, '..')
const page = join(workspace, 'docs/compared.md')
const rounds = 5

/** A system as a program installs and imports it. */
export interface System {
  readonly name: string
  /** As npm installs them; the first is the one whose version is shown. */
  readonly packages: readonly string[]
  /** The modules that a program of docs/compared.md imports; the packages themselves if nothing is said. */
  readonly imports?: readonly string[]
  /** What runs beside the program, by hand, with its source. */
  readonly beside: string
}

export const systems: readonly System[] = [
  {
    name: 'this runtime',
    packages: ['@ku0/agent-runtime'],
    beside: 'nothing; or [PostgreSQL](postgresql.md)',
  },
  {
    name: 'OpenWorkflow',
    packages: ['openworkflow'],
    imports: ['openworkflow', 'openworkflow/sqlite'],
    beside: 'nothing; or PostgreSQL ([docs](https://openworkflow.dev/docs))',
  },
  {
    name: 'DBOS',
    packages: ['@dbos-inc/dbos-sdk'],
    beside: 'PostgreSQL ([docs](https://docs.dbos.dev/architecture))',
  },
  {
    name: 'Restate',
    packages: ['@restatedev/restate-sdk', '@restatedev/restate-sdk-clients'],
    beside: 'the Restate server ([docs](https://docs.restate.dev))',
  },
  {
    name: 'Inngest',
    packages: ['inngest'],
    beside:
      'the Inngest server, or their cloud ([docs](https://www.inngest.com/docs/platform-and-operations/self-host-inngest))',
  },
  {
    name: 'Temporal',
    packages: ['worker', 'client', 'workflow', 'activity'].map((part) => `@temporalio/${part}`),
    beside:
      'the Temporal Service with its database, or their cloud ([docs](https://docs.temporal.io/self-hosted-guide/setup))',
  },
  {
    name: 'Trigger.dev',
    packages: ['@trigger.dev/sdk'],
    beside:
      'their cloud, or its containers with PostgreSQL, Redis and ClickHouse ([docs](https://trigger.dev/docs/self-hosting/overview))',
  },
  {
    name: 'Vercel Workflow',
    packages: ['workflow'],
    imports: ['workflow', 'workflow/api'],
    beside:
      'Vercel, or PostgreSQL; a bundler of a framework ([docs](https://useworkflow.dev/docs/deploying))',
  },
  {
    name: 'LangGraph',
    packages: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite', '@langchain/core'],
    imports: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite'],
    beside:
      'nothing; or PostgreSQL, MongoDB or Redis ([docs](https://docs.langchain.com/oss/javascript/langgraph/persistence))',
  },
  {
    name: 'BullMQ',
    packages: ['bullmq', 'ioredis'],
    beside: 'Redis ([docs](https://docs.bullmq.io))',
  },
  {
    name: 'Graphile Worker',
    packages: ['graphile-worker'],
    beside: 'PostgreSQL ([docs](https://worker.graphile.org))',
  },
]

if (import.meta.main) {
  const home = mkdtempSync(join(tmpdir(), 'figures-'))
  try {
    const rows = await measure(home)
    const now = readFileSync(page, 'utf8')
    const marks = /(<!-- figures -->\n)[^]*?(<!-- \/figures -->)/
    writeFileSync(
      page,
      now.replace(marks, (_, start: string, end: string) => `${start}\n${tableOf(rows)}\n\n${end}`),
    )
    spawnSync(join(workspace, 'node_modules/.bin/oxfmt'), [page])
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

interface Row {
  readonly system: System
  readonly version: string
  readonly megabytes: number
  readonly packages: number
  readonly importMs: number
}

async function measure(home: string): Promise<readonly Row[]> {
  const projects: { readonly system: System; readonly project: string; readonly times: number[] }[] = []
  for (const system of systems) {
    const specs = system.packages[0]?.startsWith('@ku0/') === true ? await ownTarballs(home) : system.packages
    const project = await npmProject(join(home, system.name.replaceAll(/\W/g, '-')), specs)
    projects.push({ system, project, times: [] })
    console.log(`installed ${system.name}`)
  }
  // They take turns, so that other work on the machine meets all of them.
  for (let round = 0; round < rounds; round += 1)
    for (const { system, project, times } of projects)
      times.push(importMsOf(project, system.imports ?? system.packages))
  return projects.map(({ system, project, times }) => {
    const folders = installedIn(project)
    const importMs = times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
    const version = versionOf(join(project, 'node_modules', system.packages[0] ?? ''))
    return { system, version, megabytes: megabytesOf(folders), packages: folders.length, importMs }
  })
}

/** The runtime and those of its packages that npm would get from the registry. */
async function ownTarballs(home: string): Promise<readonly string[]> {
  const packed = await packPackages(workspace, publicPackages(workspace), home)
  const wanted = new Set(['@ku0/agent-runtime'])
  for (const name of wanted) {
    const found = packed.find(({ manifest }) => manifest.name === name)
    for (const other of Object.keys(found?.manifest.dependencies ?? {})) wanted.add(other)
  }
  return packed.filter(({ manifest }) => wanted.has(manifest.name)).map(({ tarball }) => tarball)
}

/** The folders of all packages that npm has installed. */
function installedIn(project: string): readonly string[] {
  const lock = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>
  }
  return Object.keys(lock.packages)
    .map((folder) => join(project, folder))
    .filter((folder) => existsSync(folder))
}

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ system, version, megabytes, packages, importMs }) => [
    system.name,
    version,
    megabytes.toFixed(1),
    packages,
    importMs.toFixed(0),
    system.beside,
  ])
  const date = new Date().toISOString().slice(0, 10)
  return [
    `Measured on ${date} with Node ${process.versions.node} on ${process.platform} ${process.arch} with ${availableParallelism()} cores and other work beside it; the import is the median of ${rounds} rounds in which all took turns.`,
    '',
    '| system | version | MB on disk | packages | import, ms of CPU | what runs beside your program |',
    '| --- | --- | --: | --: | --: | --- |',
    ...cells.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')
}
