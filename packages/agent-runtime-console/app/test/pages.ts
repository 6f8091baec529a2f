import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { violationsOn } from './axe.ts'
import { follow, type Opened, openPage } from './browser.ts'
import { slowness } from '../../../../tools/cpu/slowness.ts'
import { isWhole } from '../../../../tools/draws.ts'
import { reports } from './reports.ts'
import { fill, open, type Scene } from './scene.ts'

/** Each page, and words that stand on it once it has its answer: with tasks, and without any. */
export const pages: readonly (readonly [path: string, withTasks: string, without: string])[] = [
  ['/', 'What needs you', 'No task was submitted to this store yet'],
  ['/tasks', 'charge-card', 'There are no tasks yet'],
  ['/tasks?states=failed', 'charge-card', 'No task is like this'],
  ['/tasks/research-1', 'What happened', 'There is no task research-1'],
  ['/tasks/charge-250', 'the bank refused 250 EUR', 'There is no task charge-250'],
  ['/tasks/pipeline-1', 'no room for page_discovered', 'There is no task pipeline-1'],
  ['/tasks/team-1', '2 of 3 restarts within', 'There is no task team-1'],
  ['/pipelines', 'web testing', 'No pipeline has begun'],
  ['/supervisors', 'rest_for_one', 'No supervisor has begun'],
  ['/approvals', 'Your name, for the trail', 'Nothing waits for a verdict'],
  ['/dead-letters', 'the bank refused 12 EUR', 'No task has failed permanently'],
  ['/queue', 'a verdict', 'No task waits'],
  ['/workers', 'idle', 'idle'],
  ['/schedules', 'nightly report', 'No schedule is set'],
  ['/limits', 'spend-1', 'No budget asks'],
  ['/agents?agent=greet', 'Reputation over time', 'No agent was judged'],
  ['/gym', 'choose reports of the server', 'start the server with'],
  ['/gym?a=before.json&b=after.json', 'got worse', 'There is no report before.json'],
  ['/tasks/graph-1', 'Nodes', 'There is no task graph-1'],
  ['/nowhere', 'The console has no page at this address', 'The console has no page at this address'],
]

/** A page can be copied as a request, as a program and as JSON, if it shows what the API has and not files of the gym. */
export async function expectCopies(page: Page, path: string): Promise<void> {
  if (/^\/(gym|nowhere)/.test(path)) return
  const labels = ['Copy as cURL', 'Copy as code', 'Copy as JSON']
  const counts = labels.map((name) => page.getByRole('button', { name, exact: true }).count())
  expect([path, ...(await Promise.all(counts))]).not.toContain(0)
}

/**
 * Every page, with tasks and without any, in both themes and at two widths. A landing looks at each page with tasks in one of them, by turns, and at every second
 * one without any in the other; each night looks at all.
 */
export function testPages(browser: () => Browser): void {
  let full: Scene
  let empty: Scene
  beforeAll(async () => {
    full = await open({ reports })
    empty = await open()
    await fill(full.runtime)
  })
  afterAll(async () => {
    await full.close()
    await empty.close()
  })

  describe.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('at %d pixels, %s', (width, colorScheme) => {
    // One for all pages: what it has compiled of the first one it need not compile again.
    const opened = new Map<Scene, Opened>()
    beforeAll(async () => {
      const options = { viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' } as const
      for (const scene of [full, empty]) opened.set(scene, await openPage(browser(), scene.url, options))
    })
    afterAll(async () => {
      for (const { page } of opened.values()) await page.context().close()
    })

    const isNarrow = width === 390
    const looked = pages.flatMap(([path, withTasks, without], at) => {
      const isItsTurn = (at % 2 === 1) === isNarrow
      const views = [
        ...(isWhole || isItsTurn ? [{ of: 'tasks', words: withTasks } as const] : []),
        ...(isWhole || (!isItsTurn && at % 4 < 2) ? [{ of: 'nothing', words: without } as const] : []),
      ]
      return views.length === 0 ? [] : [{ path, views }]
    })
    test.each(looked)(
      '$path shows what there is, or what to do, is accessible, fits, and asks nobody else',
      async ({ path, views }) => {
        for (const { of, words } of views) {
          const scene = of === 'tasks' ? full : empty
          const { page, faults } = opened.get(scene) as Opened
          // A link within the console needs no load; whether each address can be loaded is looked at once.
          if (!isNarrow) await page.goto(scene.url + path)
          else await follow(page, scene.url, path)
          await page.getByText(words).first().waitFor()
          expect(await violationsOn(page)).toEqual([])
          const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
          expect(await page.evaluate(wide)).toBe(0)
          if (of === 'tasks') await expectCopies(page, path)
          // A task that is not there is a 404, which the browser writes on the console; a page asks again, so it may come late.
          expect(faults.splice(0).filter((fault) => scene === full || !fault.includes('404'))).toEqual([])
        }
      },
    )
  })

  test('the first page is painted within a second', async () => {
    const paints: number[] = []
    // The best of three: other tests run beside this one.
    for (let turn = 0; turn < 3; turn += 1) {
      const { page } = await openPage(browser(), full.url)
      await page.goto(full.url)
      await page.getByText('What needs you').waitFor()
      const [paint] = await page.evaluate<number[]>(
        `performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => startTime)`,
      )
      paints.push((paint ?? Number.POSITIVE_INFINITY) / slowness())
      await page.context().close()
    }
    expect(Math.min(...paints)).toBeLessThan(1_000)
  })
}
