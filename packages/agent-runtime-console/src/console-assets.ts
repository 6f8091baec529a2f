import { readdir, readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'

/** A file of the console, as a server sends it. */
export interface ConsoleFile {
  readonly body: string | Uint8Array<ArrayBuffer>
  /** Its media type, such as `text/html; charset=utf-8`. */
  readonly type: string
  /** Whether its name changes with its content, so that browsers may keep it for ever. */
  readonly immutable: boolean
}

/**
 * Reads the pages of the console, by path: what `createServer` and `serve` of `@ku0/agent-runtime-server` take as `console`. They are
 * read once and held in memory. In a clone in which the console was not built there is one page, which says how to build it.
 *
 *     const server = await serve(runtime, { console: await consoleAssets() })
 */
export async function consoleAssets(): Promise<Readonly<Record<string, ConsoleFile>>> {
  const names = await readdir(folder).catch((): string[] => [])
  if (!names.includes('index.html')) return { '/index.html': unbuilt }
  const files = names.map(async (name) => [`/${name}`, await fileNamed(name)] as const)
  return Object.fromEntries(await Promise.all(files))
}

/** Beside `src` in a clone, and beside `dist` in what is published. */
const folder = resolve(import.meta.dirname, '../assets')

async function fileNamed(name: string): Promise<ConsoleFile> {
  const body = new Uint8Array(await readFile(resolve(folder, name)))
  const type = types[extname(name)] ?? 'application/octet-stream'
  // The build puts eight characters of the content's hash into every other name.
  return { body, type, immutable: /-[\w-]{8}\.\w+$/.test(name) }
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

const unbuilt: ConsoleFile = {
  type: 'text/html; charset=utf-8',
  immutable: false,
  body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The console is not built</title>
<h1>The console is not built</h1>
<p>This is a clone of the sources. Run <code>npx -y pnpm@12.21.0 build:console</code> in it, then start the server again.</p>
</html>
`,
}
