import { spawn as spawnChild } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createRuntime } from '@ku0/agent-runtime'
import { expect, test } from 'vitest'
import { jobArguments, type JobTarget, processJobs } from '../../src/jobs/index.ts'
import type { Spawn } from '../../src/index.ts'
import { realSystem } from '../../src/system.ts'
import { JobLauncher } from '../../src/worker/job-launcher.ts'
import { scan } from '../project/job-tasks.ts'
import { bin, scratchFolder } from '../stores-and-shells.ts'

const module = join(import.meta.dirname, '../project/job-tasks.ts')

/** Real processes of this program on a store; the first that has taken a task is killed. */
function mortalProcesses(store: string) {
  let killed = 0
  const spawn: Spawn = (args) => {
    const child = spawnChild(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(child.stdout).on('line', (line) => {
      if (killed > 0 || !line.includes('"claimed"')) return
      killed += 1
      child.kill('SIGKILL')
    })
    const ended = new Promise<number>((resolve) => void child.once('close', (code) => resolve(code ?? 137)))
    return { ended, stop: () => void child.kill('SIGTERM') }
  }
  const args = (task: Parameters<typeof jobArguments>[0]) => [
    ...jobArguments(task),
    '--tasks',
    module,
    '--store',
    store,
  ]
  return { target: processJobs({ spawn, args }), killed: () => killed }
}

test('the lease settles a task whose job never starts, dies, or starts twice', async () => {
  const store = `sqlite:${join(scratchFolder(), 'it.db')}`
  await using runtime = await createRuntime({ store, tasks: [scan], workers: 0 })
  const { target, killed } = mortalProcesses(store)
  const starts: string[] = []
  // The first start brings no process, the second one that dies with its task, and each later one two processes.
  const faulty: JobTarget = {
    ...target,
    start: async (task) => {
      starts.push(task.taskId)
      if (starts.length === 1) return { target: 'process', id: 'nothing' }
      if (starts.length > 2) await target.start(task)
      return target.start(task)
    },
  }
  const control = new AbortController()
  const said: object[] = []
  const launcher = new JobLauncher({
    runtime,
    target: faulty,
    types: ['scan'],
    most: 1,
    call: {
      signal: control.signal,
      system: realSystem,
      print: { isJson: true, item: (it: object) => void said.push(it) } as never,
    },
  })
  const running = launcher.run()
  const sent = [await runtime.submit(scan, 1), await runtime.submit(scan, 2)]
  expect(await Promise.all(sent.map((receipt) => runtime.result(receipt)))).toEqual([2, 4])
  control.abort()
  await running
  await target.ended()
  expect(killed()).toBe(1)
  const completions = await Promise.all(
    sent.map(async (receipt) => {
      const { events } = await runtime.history(receipt)
      return events.filter(({ type }) => type === 'task.completed').length
    }),
  )
  expect(completions).toEqual([1, 1])
  expect(await runtime.status(sent[0]!)).toMatchObject({ state: 'completed', attempt: 2 })
})
