import { invalid, isName, nameRule, RESERVED, show } from '@ku0/agent-runtime-core'

/** Throws `invalid_argument` for what cannot be a signal's name. */
export function assertSignalName(name: unknown, what: string): asserts name is string {
  if (!isName(name)) throw invalid(`${what} has ${nameRule[0]}; given ${show(name)}`)
  if (name.startsWith(RESERVED))
    throw invalid(
      `${what} does not begin with '${RESERVED}', which is the runtime's own; given ${show(name)}`,
    )
}
