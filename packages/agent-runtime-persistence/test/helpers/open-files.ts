import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

const handles = '/proc/self/fd'

/** The files that this process has open, those below a path. */
export function openFiles(path: string): readonly string[] {
  return readdirSync(handles)
    .map(target)
    .filter((file) => file.startsWith(path))
}

function target(handle: string): string {
  try {
    return readlinkSync(join(handles, handle))
  } catch {
    // The one that listed the folder is closed by now.
    return ''
  }
}
