import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../../packages/agent-gym/src/place/free-port.ts'
import { listening, type Server } from './server.ts'

/** The version of the machine's Redis, or nothing. */
export function redisVersion(): string | undefined {
  try {
    return / v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1]
  } catch {
    return undefined
  }
}

/** Redis of the machine, whose log is synced before each answer. */
export async function startRedis(folder: string): Promise<Server> {
  const port = await freePort()
  const options = { bind: '127.0.0.1', port, dir: folder, appendonly: 'yes', appendfsync: 'always', save: '' }
  const child = spawn(
    'redis-server',
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  try {
    await listening(port, 10_000)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid as number,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
