import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../packages/agent-gym/src/place/free-port.ts'
import type { Server } from './server.ts'

/** Restate's server from npm, a new cluster of one node. Its log is synced, which is its default. */
export async function startRestate(folder: string): Promise<Server> {
  const [ingress, admin, node, service] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const child = spawn(binary(), ['--base-dir', folder], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      ...process.env,
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'warn',
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  })
  const ended = once(child, 'exit')
  const isHealthy = async () =>
    (await answers(`http://127.0.0.1:${admin}/health`)) &&
    (await answers(`http://127.0.0.1:${ingress}/restate/health`))
  const until = performance.now() + 30_000
  while (!(await isHealthy())) {
    if (performance.now() > until || child.exitCode !== null) {
      child.kill('SIGKILL')
      throw new Error("Restate's server does not start")
    }
    await sleep(50)
  }
  return {
    url: `http://127.0.0.1:${ingress}/?service=${service}#${admin}`,
    pid: child.pid as number,
    // It has nothing to keep: a run's data is deleted.
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function binary(): string {
  const require = createRequire(
    createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json'),
  )
  return require.resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`)
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
