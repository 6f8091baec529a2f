/** Options without the fields that were given as undefined. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** The fields of options that were given: one that is undefined is absent, everywhere. */
export function withoutUndefined<T extends object>(options: T): Given<T> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Given<T>
}
