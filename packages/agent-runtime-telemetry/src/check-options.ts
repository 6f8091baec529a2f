import { hasMethods, isReadable, RuntimeError, show, suggestionFor } from '@ku0/agent-runtime-core'

/** What an option has to be, for people, and whether it is; all but those that are `required` may be left out. */
export type OptionRule = readonly [allowed: string, holds: (value: unknown) => boolean, presence?: 'required']

/** Throws `invalid_argument` with a line for each option that is not as it should be, or that there is not. */
export function checkOptions(
  call: string,
  given: unknown,
  rules: Readonly<Record<string, OptionRule>>,
): void {
  const names = Object.keys(rules)
  if (!isReadable(given))
    throw new RuntimeError(
      'invalid_argument',
      `${call} options: an object of ${names.join(', ')}; given ${show(given)}`,
    )
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const wrong = Object.entries(rules).flatMap(([name, [allowed, holds, presence]]) => {
    const value = given[name]
    const isFine = value === undefined ? presence === undefined : holds(value)
    return isFine ? [] : [`${call} option ${name}: ${allowed}; given ${show(value)}`]
  })
  const lines = [
    ...unknown.slice(0, 10).map((name) => {
      const meant = suggestionFor(name, names)
      return `${call} option ${show(name)}: no such option${meant === undefined ? '' : `, did you mean ${meant}?`}`
    }),
    ...wrong,
  ]
  if (lines.length > 0) throw new RuntimeError('invalid_argument', lines.join('\n'))
}

/** A value with all of these methods. */
export function ofMethods(what: string, ...names: readonly string[]): OptionRule {
  return [what, (value) => hasMethods(value, ...names)]
}
