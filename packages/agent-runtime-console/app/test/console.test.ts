import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { consoleBuilt } from '../../../../tools/console-build.ts'
import { everyNth } from '../../../../tools/draws.ts'
import { testActions } from './actions.ts'
import { follow, launch, openPage, type Opened } from './browser.ts'
import { expectCopies, pages } from './pages.ts'
import { reports } from './reports.ts'
import { fill, open, type Scene } from './scene.ts'

// Every sixth page, and some actions, in one tab: to start the browser takes half of it. console.proof.test.ts does all, and looks at it more closely.
let browser: Browser
let scene: Scene
let opened: Opened
beforeAll(async () => {
  await consoleBuilt()
  browser = await launch()
  scene = await open({ reports })
  await fill(scene.runtime)
  opened = await openPage(browser, scene.url, { reducedMotion: 'reduce' })
}, 300_000)
afterAll(async () => {
  await browser.close()
  await scene.close()
})

describe('pages', () => {
  test.each(everyNth(pages, 6))('%s shows what there is, fits, and asks nobody else', async (path, words) => {
    const { page, faults } = opened
    await follow(page, scene.url, path)
    await page.getByText(words).first().waitFor()
    const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    expect(await page.evaluate(wide)).toBe(0)
    await expectCopies(page, path)
    expect(faults.splice(0)).toEqual([])
  })
})

describe('actions', () => {
  testActions(
    () => browser,
    () => ({ scene, opened }),
  )
})
