import { keyText, RESERVED } from '@ku0/agent-runtime-core'

/** A key as a list shows it: a program's own as it is, and one of the runtime's in words. */
export function shownKey(key: string): string {
  return key.startsWith(RESERVED) ? keyText(key) : key
}
