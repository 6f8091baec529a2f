/**
 * In one process the browser ends with its first context. Graphics that the processor plays take more of it than plain
 * painting.
 */
const unwanted = new Set([
  '--single-process',
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
])

/** How the browser from npm is started, given what its package proposes: it paints plainly, and asks nobody else. */
export function browserArguments(proposed: readonly string[]): string[] {
  return [
    ...proposed.filter((argument) => !unwanted.has(argument)),
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--disable-quic',
  ]
}
