// Opens the built site in a real browser: every page, light and dark, at the width of a phone and of a desktop. Fails for an error on the console, a
// request that fails or goes to another host, a page that is wider than its window, and a search that finds nothing.
//
//   node site/check.ts [--some] [FOLDER FOR PICTURES]
//
// --some: every sixth page, beside those of which pictures are taken.
import { createServer } from 'node:http'
import { globSync, readFileSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { extname, join, normalize } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Page, chromium as browsers } from 'playwright-core'
import { browserArguments } from '../tools/browser-arguments.ts'

const dist = join(import.meta.dirname, 'dist')
const {
  values: { some },
  positionals: [pictures],
} = parseArgs({ allowPositionals: true, options: { some: { type: 'boolean', default: false } } })
const kinds: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

const server = createServer((request, response) => {
  const asked = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname))
  const found = [join(dist, asked), join(dist, `${asked}.html`), join(dist, asked, 'index.html')].find(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile(),
  )
  if (found === undefined) response.writeHead(404).end()
  else
    response
      .writeHead(200, { 'content-type': kinds[extname(found)] ?? 'application/octet-stream' })
      .end(readFileSync(found))
})
await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** Of these pages pictures are taken. */
const shown = new Set(['/', '/overview', '/durable-agents', '/operating', '/api/', '/semantics'])
const windows = [
  { size: { width: 390, height: 844 }, colorScheme: 'dark' },
  { size: { width: 1280, height: 800 }, colorScheme: 'light' },
] as const
const faults: string[] = []
let looked = 0
const browser = await browsers.launch({
  executablePath: await chromium.executablePath(),
  args: browserArguments(chromium.args),
})
try {
  const pages = globSync('**/*.html', { cwd: dist })
    .filter((file) => file !== '404.html' && (!file.startsWith('api/') || file === 'api/index.html'))
    .map((file) => `/${file.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`)
    .toSorted()
    .filter((path, index) => !some || index % 6 === 0 || shown.has(path))
  const context = await browser.newContext()
  const page = await context.newPage()
  let at = ''
  page.on('console', (said) => said.type() === 'error' && faults.push(`${at}: console: ${said.text()}`))
  page.on('pageerror', (error) => faults.push(`${at}: ${error.message}`))
  page.on('request', (asked) => {
    if (!asked.url().startsWith(home) && !asked.url().startsWith('data:'))
      faults.push(`${at}: asks ${asked.url()}`)
  })
  page.on('response', (got) => got.status() >= 400 && faults.push(`${at}: ${got.status()} for ${got.url()}`))
  for (const path of pages) {
    // A page is loaded once, which costs most, and then looked at in each window.
    for (const [index, window] of windows.entries()) {
      at = `${path} at ${window.size.width}`
      await show(page, window)
      if (index === 0) await page.goto(`${home}${path}`, { waitUntil: 'load' })
      looked += 1
      if ((await page.title()) === '') faults.push(`${at}: no title`)
      const wide = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (Number(wide) > 0) faults.push(`${at}: ${String(wide)} px wider than its window`)
      if (pictures !== undefined && shown.has(path))
        await page.screenshot({
          path: join(pictures, `${window.size.width}-${path.replaceAll('/', '_')}.png`),
        })
    }
  }
  for (const window of windows) {
    at = `search at ${window.size.width}`
    await show(page, window)
    await page.goto(home, { waitUntil: 'networkidle' })
    await search(page)
  }
  await context.close()
} finally {
  await browser.close()
  server.close()
}
for (const fault of faults) console.error(fault)
console.log(`${looked} views of pages, ${faults.length} faults`)
process.exitCode = faults.length === 0 && looked > 0 ? 0 : 1

async function show(page: Page, { size, colorScheme }: (typeof windows)[number]): Promise<void> {
  await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme })
}

async function search(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('idempotency key')
  await page
    .locator('.results .result')
    .first()
    .waitFor({ timeout: 20_000 })
    .catch(() => faults.push('search: nothing found for "idempotency key"'))
}
