import { cliExitCodes } from './exit-codes.ts'
import { runCommand } from './run-command.ts'

const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

/** Runs the command of this process: its arguments, its streams, its signals, its exit code. */
export async function runProcess(): Promise<void> {
  const control = new AbortController()
  let signaled: number | undefined
  let isHeard = true
  const listeners = new Set<() => void>()
  for (const [name, number] of Object.entries(signals)) {
    const heard = () => {
      if (name === 'SIGHUP' && listeners.size > 0) {
        for (const listener of listeners) listener()
        return
      }
      process.off(name, heard)
      signaled = number
      control.abort(new Error(`ended by ${name}`))
    }
    process.on(name, heard)
  }
  let isLost = false
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Who reads may have heard enough: `| head -1`. EIO: the terminal is gone, and its SIGHUP asks for no reload.
      if (error.code === 'EPIPE' || error.code === 'EIO') isHeard = false
      else if (!isLost) {
        isLost = true
        if (stream === process.stdout)
          process.stderr.write(`agent-runtime: standard output cannot be written: ${error.message}\n`)
      }
      control.abort(new Error('nobody reads on'))
    })
  const code = await runCommand(
    process.argv.slice(2),
    {
      out: (text) => void process.stdout.write(text),
      err: (text) => void process.stderr.write(text),
      input: () => process.stdin,
      isInputTerminal: () => process.stdin.isTTY,
      isTerminal: process.stdout.isTTY,
      columns: process.stdout.columns,
      onReload: (listener) => {
        listeners.add(listener)
        return { [Symbol.dispose]: () => void listeners.delete(listener) }
      },
    },
    control.signal,
  )
  // A module of task types may hold the process open, with a timer or a server: the command has ended all the same.
  await Promise.all([process.stdout, process.stderr].map(written))
  if (isLost) process.exitCode = cliExitCodes.io
  else process.exitCode = signaled !== undefined && code !== 0 ? 128 + signaled : isHeard ? code : 0
  process.exit()
}

/** Resolves when all that was written to a stream has left, or cannot leave any more. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((done) => void stream.write('', () => done()))
}
