import { readFileSync } from 'node:fs'

/** The version of this program. This file stands as deep below `package.json` as a bundle does, so the path is the same in both. */
export function version(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
