import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { browserArguments } from '../../../../tools/browser-arguments.ts'

/** Builds the console, and installs what the browser needs. */
export function build(): void {
  const program = resolve(import.meta.dirname, '../build.ts')
  execFileSync(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A browser from npm, or the one at `CHROMIUM_PATH`. */
export async function launch(): Promise<Browser> {
  const { chromium: browsers } = await import('playwright-core')
  const { default: chromium } = await import('@sparticuz/chromium')
  const given = process.env['CHROMIUM_PATH']
  return browsers.launch({
    executablePath: given ?? (await unpacked(() => chromium.executablePath())),
    args: browserArguments(given === undefined ? chromium.args : ['--headless', '--no-sandbox']),
  })
}

/** It is unpacked once: beside the temporary files that last, where those of the run do not. */
async function unpacked(unpack: () => Promise<string>): Promise<string> {
  const { TMPDIR, LASTING_TMPDIR } = process.env
  if (LASTING_TMPDIR === undefined) return unpack()
  process.env['TMPDIR'] = LASTING_TMPDIR
  try {
    return await unpack()
  } finally {
    process.env['TMPDIR'] = TMPDIR
  }
}

/** A page in a visit of its own, and what went wrong on it: errors on the console, failed requests, requests to other hosts. */
export async function openPage(
  browser: Browser,
  home: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  return openTab(await openVisit(browser, options), home)
}

/** As somebody with a browser that was never here: pages that it opens share what was stored and compiled. */
function openVisit(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
}

/** A page of a visit, and what went wrong on it. */
export interface Opened {
  readonly page: Page
  readonly faults: string[]
}

export async function openTab(visit: BrowserContext, home: string): Promise<Opened> {
  const page = await visit.newPage()
  page.setDefaultTimeout(50_000)
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

/** Goes to a page without loading it anew, as a link does. The first page of a tab is loaded. */
export async function follow(page: Page, home: string, path: string): Promise<void> {
  if (page.url().startsWith(home)) await page.evaluate((to) => history.pushState(null, '', to), path)
  else await page.goto(home + path)
}
