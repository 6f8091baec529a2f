// Measures how quickly the pages of the console answer while the store holds very many tasks, on SQLite and on PostgreSQL.
//
//   node packages/agent-runtime-console/app/speed.ts [--tasks 100000] [--store sqlite|postgres] [--pages tasks,failed]
//
// For each page: the time until its content stands, from a link of the console, and each answer of the API on the way there, the median of
// several visits. It exits with 1 if an answer takes longer than `BAR_MS`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Runtime } from '@ku0/agent-runtime'
import type { Browser } from 'playwright-core'
import { importStore } from '../../agent-runtime-persistence/src/index.ts'
import { startPostgres } from '../../agent-gym/src/place/postgres-server.ts'
import { build, follow, launch, openPage } from './test/browser.ts'
import { pages as allPages } from './test/pages.ts'
import { reports } from './test/reports.ts'
import { fill, open } from './test/scene.ts'

/** What an answer may take. */
const BAR_MS = 300
const VISITS = 5
const BATCH = 1_000
/** Filters that select few of very many, or none. */
const more = [
  ['/tasks?states=waiting', 'listen'],
  ['/tasks?types=charge-card&states=failed', 'charge-card'],
  ['/tasks?label=team%3Ddocs', 'greet'],
  ['/tasks?client=client-3', 'greet'],
  ['/tasks?text=nobody-has-this', /No task|Nothing was found/],
] as const

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '100000' },
    store: { type: 'string', default: 'sqlite,postgres' },
    pages: { type: 'string' },
  },
})
const stores: Readonly<Record<string, () => Promise<Place>>> = { sqlite, postgres }

/** A store with many tasks, and how it is left. */
interface Place {
  readonly url: string
  readonly leave: () => Promise<void> | void
}

/** Room for all of them. */
const roomy = { queue: 1_000_000, capacity: 50, strict: false } as const

build()
const browser = await launch()
try {
  for (const name of values.store.split(',')) {
    const place = await stores[name]?.()
    if (place === undefined) throw new Error(`there is no store ${name}: sqlite or postgres`)
    try {
      await measure(name, place.url, browser)
    } finally {
      await place.leave()
    }
  }
} finally {
  await browser.close()
}

async function sqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'console-speed-'))
  const leave = () => rmSync(folder, { recursive: true, force: true })
  const url = `sqlite:${join(folder, 'tasks.db')}`
  const scene = await open({ store: url, ...roomy })
  try {
    await submit(scene.runtime, Number(values.tasks))
  } finally {
    await scene.close()
  }
  return { url, leave }
}

/** The tasks run on a file and are moved, which takes a small part of the time that they would take there. */
async function postgres(): Promise<Place> {
  const file = await sqlite()
  const server = await startPostgres({ fsync: false })
  try {
    await importStore(file.url, server.url)
  } finally {
    await file.leave()
  }
  return { url: server.url, leave: server.stop }
}

async function measure(name: string, store: string, visitor: Browser): Promise<void> {
  const scene = await open({ store, ...roomy, reports })
  try {
    await fill(scene.runtime)
    console.log(`${name}: ${values.tasks} tasks stand after ${Math.round(performance.now() / 1_000)} s`)
    const { page } = await openPage(visitor, scene.url)
    const answers = new Map<string, number[]>()
    page.on('requestfinished', (request) => {
      const path = request.url().slice(scene.url.length)
      if (!path.startsWith('/api/v1')) return
      const key = `${request.method()} ${path.replace('/api/v1', '')}`
      answers.set(key, [...(answers.get(key) ?? []), request.timing().responseEnd])
    })
    const wanted = values.pages?.split(',')
    const paths = [...allPages.map(([path, words]) => [path, words] as const), ...more].filter(
      ([path]) => wanted === undefined || wanted.some((it) => path.startsWith(`/${it}`)),
    )
    await page.goto(`${scene.url}/nowhere`)
    for (const [path, words] of paths) {
      const contents: number[] = []
      answers.clear()
      for (let visit = 0; visit < VISITS; visit += 1) {
        await follow(page, scene.url, '/nowhere')
        await page.getByText('The console has no page at this address').waitFor()
        const at = performance.now()
        await follow(page, scene.url, path)
        await page.getByText(words).first().waitFor()
        contents.push(performance.now() - at)
        await page.waitForTimeout(200)
      }
      console.log(`${name} ${path}: content after ${Math.round(median(contents))} ms`)
      const figures = [...answers].map(([asked, times]) => [asked, median(times)] as const)
      for (const [asked, ms] of figures.toSorted(([, a], [, b]) => b - a)) {
        const isSlow = ms > BAR_MS
        if (isSlow) process.exitCode = 1
        console.log(`  ${ms.toFixed(0).padStart(6)} ms ${asked}${isSlow ? '  <- slow' : ''}`)
      }
    }
    await page.context().close()
  } finally {
    await scene.close()
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

/** Tasks as a busy store has them: most completed, some failed, some that wait for a time, a signal or a person. */
async function submit(runtime: Runtime, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH)
    await runtime.submitMany(
      Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => oneOfMany(from + at)) as never,
    )
  // Those with a delay stay queued.
  const isOver = async () =>
    (await runtime.count({ states: ['queued', 'running'] })) === Math.floor(count / 20) * 4
  while (!(await isOver())) await new Promise((resume) => void setTimeout(resume, 500))
}

function oneOfMany(n: number) {
  const options = {
    lane: n % 3 === 0 ? 'batch' : 'normal',
    labels: { team: n % 2 === 0 ? 'docs' : 'code' },
    ...(n % 7 === 0 ? { client: `client-${n % 5}` } : {}),
  }
  switch (n % 20) {
    case 1:
      return { task: 'charge-card', input: { amount: n }, options }
    case 2:
      return { task: 'ask', input: { text: `May visitor ${n} come in?` }, options }
    case 3:
      return { task: 'listen', input: null, options }
    case 4:
    case 5:
    case 6:
    case 7:
      return { task: 'greet', input: `visitor ${n}`, options: { ...options, delayMs: 36_000_000 } }
    default:
      return { task: 'greet', input: `visitor ${n}`, options }
  }
}
