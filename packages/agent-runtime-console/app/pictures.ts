// Takes pictures of every page, for people to look at.
//
//   node packages/agent-runtime-console/app/pictures.ts FOLDER [none|some|many|errors] [WIDTHS] [PAGES]
//   node packages/agent-runtime-console/app/pictures.ts docs docs
//
// `docs` writes those of docs/console.md, after tasks have come and gone for a minute.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build, launch, openPage } from './test/browser.ts'
import { reports } from './test/reports.ts'
import { fill, open } from './test/scene.ts'

const [folder = 'pictures', scale = 'some'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
build()
const given = scale === 'none' ? {} : { reports }
const isForDocs = scale === 'docs'
const scene = await open(scale === 'many' ? { queue: 200_000, ...given } : given)
if (scale !== 'none') {
  await fill(scene.runtime)
  await scene.runtime.submit('hold', null, { taskId: 'held' })
  // The state with the most words.
  await scene.runtime.submit('spend', null, { taskId: 'overspent', budget: { steps: 1 } })
  const [greeted] = (await scene.runtime.list({ types: ['greet'], states: ['completed'], limit: 1 })).tasks
  const taskId = greeted?.taskId ?? ''
  await scene.runtime.fork(taskId, {
    taskId: 'greet-again',
    edits: { write: 'Hello, world' },
  })
  for (const [task, quality] of [
    [taskId, 0.6],
    ['greet-again', 0.9],
  ] as const)
    await scene.runtime.evaluations.record(
      'greet',
      { quality, adherence: 0.8, speed: 0.9, cost: 0.9, errors: 1, revisions: 1 },
      { taskId: task },
    )
}
if (scale === 'many')
  for (let batch = 0; batch < 100; batch += 1)
    await scene.runtime.submitMany(
      Array.from({ length: 1_000 }, (_, at) => ({
        task: 'greet',
        input: `visitor ${batch}-${at}`,
        options: { lane: at % 3 === 0 ? 'batch' : 'normal', delayMs: at % 5 === 0 ? 600_000 : 0 },
      })) as never,
    )
/** Tasks come in waves, and now and then a card is refused, so that the charts have something to draw. */
async function traffic(seconds: number): Promise<void> {
  for (let turn = 0; turn < seconds * 2; turn += 1) {
    const wave = Math.round(10 + 9 * Math.sin(turn / 6))
    await scene.runtime.submitMany(
      Array.from({ length: wave }, (_, at) => ({
        task: 'speak',
        input: 3,
        options: { lane: at % 5 === 0 ? 'interactive' : at % 2 === 0 ? 'batch' : 'normal' },
      })) as never,
    )
    if (turn % 9 === 0) await scene.runtime.submit('charge-card', { amount: 40 + turn })
    // Somebody misspells a task type.
    if (turn % 15 === 0) await scene.runtime.submit('gret', 'Ada').catch(() => {})
    await new Promise((resume) => void setTimeout(resume, 500))
  }
}

/** The pictures of the documentation: their page, size and theme. */
async function takeForDocs(): Promise<void> {
  const flow = traffic(75)
  const look = async (
    name: string,
    path: string,
    height: number,
    { colorScheme = 'light', width = 1_280, waitMs = 1_500 }: Partial<Look> = {},
  ) => {
    const { page } = await openPage(browser, scene.url, { viewport: { width, height }, colorScheme })
    await page.goto(scene.url + path)
    await page.locator('h1').waitFor()
    await page.waitForTimeout(waitMs)
    await page.screenshot({ path: join(folder, `console-${name}.png`) })
    await page.context().close()
  }
  // Its restarts count for a minute.
  await look('supervisors', '/tasks/team-1', 700)
  await look('overview', '/', 860, { waitMs: 70_000 })
  await look('tasks', '/tasks', 600, { colorScheme: 'dark' })
  await look('task', '/tasks/research-1', 800)
  await look('pipeline', '/tasks/pipeline-1', 900)
  await look('gym', '/gym?a=before.json&b=after.json', 900)
  await look('phone', '/tasks/research-1', 844, { colorScheme: 'dark', width: 390 })
  await flow
}
interface Look {
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  readonly waitMs: number
}

/** What a server answers whose disk is full. */
const busy = {
  status: 503,
  contentType: 'application/problem+json',
  body: JSON.stringify({
    type: 'about:blank',
    title: 'Store error',
    status: 503,
    code: 'store_full',
    detail: 'the disk of the store is full',
    remedy: 'free some space on it; nothing that was recorded is lost',
  }),
}

const widths = (process.argv[4] ?? '390,1280,1920').split(',').map(Number)
const browser = await launch()
const only = process.argv[5]?.split(',')
const pages = {
  overview: '/',
  tasks: '/tasks',
  ...(scale === 'none'
    ? {}
    : {
        failed: '/tasks?states=failed,waiting',
        task: '/tasks/research-1',
        'task-failed': '/tasks/charge-250',
        'task-pipeline': '/tasks/pipeline-1',
        'task-supervisor': '/tasks/team-1',
        'task-leases': '/tasks/held?show=leases',
        'task-output': '/tasks/research-1?show=output',
        'task-compare': '/tasks/greet-again?show=compare',
        'task-graph': '/tasks/graph-1?show=children',
        'overview-part': '/?lane=normal&type=greet&last=1h',
        agent: '/agents?agent=greet',
        'gym-one': '/gym?a=before.json',
        'gym-two': '/gym?a=before.json&b=after.json',
      }),
  missing: '/tasks/no-such-task',
  pipelines: '/pipelines',
  supervisors: '/supervisors',
  approvals: '/approvals',
  'dead-letters': '/dead-letters',
  queue: '/queue',
  workers: '/workers',
  schedules: '/schedules',
  limits: '/limits',
  agents: '/agents',
  gym: '/gym',
}
try {
  if (isForDocs) await takeForDocs()
  for (const width of isForDocs ? [] : widths)
    for (const colorScheme of ['light', 'dark'] as const) {
      const height = width === 390 ? 844 : 900
      const { page, faults } = await openPage(browser, scene.url, {
        viewport: { width, height },
        colorScheme,
      })
      if (scale === 'errors') await page.route('**/api/v1/**', (route) => route.fulfill(busy))
      for (const [name, path] of Object.entries(pages)) {
        if (only !== undefined && !only.includes(name)) continue
        await page.goto(scene.url + path)
        await page.locator('h1').waitFor()
        await page.waitForTimeout(name === 'overview' || scale === 'errors' ? 4_500 : 900)
        await page.screenshot({ path: join(folder, `${scale}-${name}-${width}-${colorScheme}.png`) })
        const wide = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if (Number(wide) > 0) console.log(`${name} at ${width}: ${String(wide)} px wider than its window`)
      }
      for (const fault of new Set(faults)) console.log(`${width} ${colorScheme}: ${fault}`)
      await page.context().close()
    }
} finally {
  await browser.close()
  await scene.close()
}
