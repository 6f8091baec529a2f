import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { browserArguments } from '../../../../tools/browser-arguments.ts'

/** Builds the console, unless a test before has; that installs what the browser needs, too. */
export function build(): void {
  const home = resolve(import.meta.dirname, '..')
  if (process.env['CONSOLE_IS_BUILT'] === undefined || !existsSync(resolve(home, '../assets/index.html')))
    execFileSync(process.execPath, [resolve(home, 'build.ts')], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A browser from npm, or the one at `CHROMIUM_PATH`. */
export async function launch(): Promise<Browser> {
  const { chromium: browsers } = await import('playwright-core')
  const { default: chromium } = await import('@sparticuz/chromium')
  const given = process.env['CHROMIUM_PATH']
  return browsers.launch({
    executablePath: given ?? (await chromium.executablePath()),
    args: browserArguments(given === undefined ? chromium.args : ['--headless', '--no-sandbox']),
  })
}

/** A page of its own, and what went wrong on it: errors on the console, failed requests, requests to other hosts. */
export async function openPage(
  browser: Browser,
  home: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const faults: string[] = []
  page.on('console', (said) => {
    if (said.type() === 'error' || said.type() === 'warning') faults.push(`console: ${said.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`thrown: ${error.message}`))
  page.on('request', (asked) => {
    if (!asked.url().startsWith(home) && !asked.url().startsWith('data:')) faults.push(`asks ${asked.url()}`)
  })
  return { page, faults }
}
