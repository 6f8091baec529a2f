import { ConfigError } from '@ku0/agent-runtime-core'

/** The names under which only this machine reaches itself. */
const loopbackNames = ['localhost', '127.0.0.1', '[::1]'] as const

/** Whether a host name or address is this machine's own. */
export function isLoopback(host: string): boolean {
  const name = bare(host)
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(name)
  )
}

/** Whether an address stands for all addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === '' || host === '0.0.0.0' || /^\[?[0:]*::?\]?$/.test(host)
}

/**
 * The host names that a server answers to, without ports. A page whose own name was pointed at this machine sends that name, and is
 * refused. Throws a `ConfigError` for what is no host name.
 */
export function hostsOf(given: readonly string[] = []): ReadonlySet<string> {
  const problems = given.flatMap((host, index) =>
    typeof host === 'string' && isHostName(bare(host))
      ? []
      : [
          {
            path: `hosts[${index}]`,
            allowed: 'a host name without scheme and path, such as tasks.example.com',
            given: host,
          },
        ],
  )
  if (problems.length > 0) throw new ConfigError(problems)
  return new Set([...loopbackNames, ...given.map(bare)])
}

/** The name in a `Host` header, without the port. */
export function bare(host: string): string {
  const lower = host.trim().toLowerCase()
  const name = lower.startsWith('[') ? lower.slice(0, lower.indexOf(']') + 1) : lower.replace(/:\d*$/, '')
  return name.includes(':') && !name.startsWith('[') ? `[${lower}]` : name.replace(/\.$/, '')
}

function isHostName(name: string): boolean {
  return /^[\w.-]{1,255}$/.test(name) || /^\[[\da-f:.]+\]$/.test(name)
}
