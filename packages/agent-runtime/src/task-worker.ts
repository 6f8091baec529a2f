// The program of a thread or process that runs isolated tasks. A worker starts it and hears from it by messages.
import { parentPort } from 'node:worker_threads'
import { describeError } from '@ku0/agent-runtime-core'
import { TaskRunner } from './isolation/task-runner.ts'
import type { FromRunner, ToRunner } from './isolation/words.ts'
import { StrictMode } from './replay/strict-mode.ts'

function runnerOf(say: (word: FromRunner) => void): TaskRunner {
  return new TaskRunner(say, (parts) => new StrictMode(parts))
}

function run(): void {
  if (parentPort !== null) {
    const port = parentPort
    const runner = runnerOf((word) => port.postMessage(JSON.stringify(word)))
    port.on('message', (text: string) => runner.heard(JSON.parse(text) as ToRunner))
    return
  }
  if (process.send === undefined) {
    process.stderr.write('this program runs isolated tasks for a worker; give a task the option isolation\n')
    process.exitCode = 1
    return
  }
  const say = (word: FromRunner) => {
    if (process.connected) process.send?.(word, () => undefined)
  }
  const runner = runnerOf(say)
  // A terminal sends SIGINT to all its processes, and a supervisor may send SIGTERM: the worker decides what it means.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  process.on('uncaughtExceptionMonitor', (error) => say({ kind: 'uncaught', error: describeError(error) }))
  process.on('disconnect', () => process.exit(1))
  process.on('message', (word: ToRunner) => runner.heard(word))
}

run()
