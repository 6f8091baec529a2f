// Takes pictures of every page, for people to look at.
//
//   node packages/agent-runtime-console/app/pictures.ts FOLDER [none|some|many] [WIDTHS] [PAGES]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build, launch, openPage } from './test/browser.ts'
import { reports } from './test/reports.ts'
import { fill, open } from './test/scene.ts'

const [folder = 'pictures', scale = 'some'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
build()
const given = scale === 'none' ? {} : { reports }
const scene = await open(scale === 'many' ? { queue: 200_000, ...given } : given)
if (scale !== 'none') {
  await fill(scene.runtime)
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
        'task-output': '/tasks/research-1?show=output',
        'task-compare': '/tasks/greet-again?show=compare',
        'task-graph': '/tasks/graph-1?show=children',
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
  for (const width of widths)
    for (const colorScheme of ['light', 'dark'] as const) {
      const height = width === 390 ? 844 : 900
      const { page, faults } = await openPage(browser, scene.url, {
        viewport: { width, height },
        colorScheme,
      })
      for (const [name, path] of Object.entries(pages)) {
        if (only !== undefined && !only.includes(name)) continue
        await page.goto(scene.url + path)
        await page.locator('h1').waitFor()
        await page.waitForTimeout(name === 'overview' ? 4_500 : 900)
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
