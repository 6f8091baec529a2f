/** An object with a getter that throws, under this name. */
export function guarded(name: string): object {
  const get = () => {
    throw new Error('theirs')
  }
  return Object.defineProperty({}, name, { get, enumerable: true, configurable: true })
}
