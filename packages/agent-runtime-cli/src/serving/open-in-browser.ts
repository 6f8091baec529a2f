import { spawn } from 'node:child_process'
import type { Call } from '../call.ts'

/** Opens a page for whoever sits at the terminal of a command. */
export function showPage(
  { outlet: { browse = openInBrowser, isTerminal = false } }: Pick<Call, 'outlet'>,
  url: string,
): void {
  if (isTerminal) browse(url)
}

/** Opens a page in the browser of this machine. Where there is none, nothing happens: the URL was printed. */
function openInBrowser(url: string): void {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.once('error', () => undefined)
  child.unref()
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}
