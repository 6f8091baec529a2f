import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { leaksBetween, watchResources } from '../src/host/resources.ts'
import { isRunning, markedProcesses } from '../src/run/liveness.ts'
import { runMark } from '../src/host/host-process.ts'

const watch = watchResources({ timers: true })

it('F06 counts an armed timer, one that does not keep the process alive too, until it is cleared', async () => {
  const before = watch.count([])
  // Files share a process: a few timers of other files come and go meanwhile, but not so many.
  const count = 100
  const timers = Array.from({ length: count }, (_, at) =>
    at % 2 === 0 ? setTimeout(() => undefined, 60_000) : setInterval(() => undefined, 60_000).unref(),
  )
  expect(leaksBetween(before, watch.count([]))).toContainEqual({ kind: 'timers', what: 'timer', count })
  for (const timer of timers) clearTimeout(timer)
  const after = await watch.countSettled([], before, 2000)
  const left = leaksBetween(before, after).filter(({ kind }) => kind === 'timers')
  expect(left.reduce((sum, leak) => sum + leak.count, 0)).toBeLessThan(count / 2)
})

it('counts listeners on the process and on signals of attempts', () => {
  const before = watch.count([])
  const { signal } = new AbortController()
  const listener = () => undefined
  signal.addEventListener('abort', listener)
  process.on('SIGUSR2', listener)
  const during = watch.count([signal])
  process.off('SIGUSR2', listener)
  expect(leaksBetween(before, during).find(({ kind }) => kind === 'listeners')).toEqual({
    kind: 'listeners',
    what: 'listener',
    count: 2,
  })
})

it('counts an open server by its kind', async () => {
  const before = watch.count([])
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const during = watch.count([])
  server.close()
  expect(leaksBetween(before, during)).toContainEqual({ kind: 'handles', what: 'TCPServerWrap', count: 1 })
})

it('tells a running process from one that has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  expect(isRunning(pid)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isRunning(pid)).toBe(false)
})

it.runIf(process.platform === 'linux')('finds what a run has left behind, by its mark', async () => {
  const mark = `test-${process.pid}`
  const child = spawn('sh', ['-c', 'sleep 60'], { env: { ...process.env, [runMark]: mark }, detached: true })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  await expect.poll(() => markedProcesses(mark).map(({ pid }) => pid)).toContain(child.pid)
  expect(markedProcesses('another')).toEqual([])
  process.kill(-(child.pid ?? 0), 'SIGKILL')
})
