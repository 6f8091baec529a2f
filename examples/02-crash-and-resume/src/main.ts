// Starts a surveyor that kills itself half-way, then a second one on the same database, and compares what they did.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const place = mkdtempSync(join(tmpdir(), 'crash-and-resume-'))
const database = join(place, 'surveys.db')
try {
  console.log('The first process dies once six steps are done:')
  const first = await survey('SIGKILL', '--die-after', '6')
  console.log('\nThe second one finds their tasks in the database:')
  const second = await survey('exit code 0')

  const again = first.begun.filter((step) => second.begun.includes(step))
  console.log(`\nThe first process began ${first.begun.length} steps, the second ${second.begun.length}.`)
  console.log(`${second.replayed} were recorded, and answered from the store.`)
  console.log(`${again.length} were under way when the first process died: they had to run again.`)
} finally {
  rmSync(place, { recursive: true, force: true })
}

/** Runs a surveyor to the end that is expected, and says what it did. */
async function survey(
  end: string,
  ...args: readonly string[]
): Promise<{ begun: string[]; replayed: number }> {
  const file = fileURLToPath(new URL('./surveyor.ts', import.meta.url))
  const child = spawn(process.execPath, [file, database, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<string>((tell) => {
    child.once('close', (code, signal) => tell(signal ?? `exit code ${code}`))
  })
  const done = { begun: [] as string[], replayed: 0 }
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`  ${line}`)
    if (line.startsWith('begins: ')) done.begun.push(line)
    if (line.startsWith('from the store: ')) done.replayed += 1
  }
  const how = await ended
  console.log(`  (ended by ${how})`)
  if (how !== end) throw new Error(`a surveyor ended by ${how}, not by ${end}`)
  return done
}
