import { invalid, isName, nameRule, RESERVED, show } from '@ku0/agent-runtime-core'

/** Throws `invalid_argument` for an invalid signal name. */
export function assertSignalName(name: unknown, what: string): asserts name is string {
  if (!isName(name)) throw invalid(`${what} has ${nameRule[0]}; given ${show(name)}`)
  if (name.startsWith(RESERVED))
    throw invalid(
      `${what} must not begin with '${RESERVED}', which is reserved for the runtime; given ${show(name)}`,
    )
}
