import type { Scope } from '@ku0/agent-runtime-server'

/** The scopes of the server, here so that a help needs no server. */
export const scopes = Object.keys({
  read: true,
  submit: true,
  operate: true,
  work: true,
  admin: true,
} satisfies Record<Scope, true>) as readonly Scope[]
