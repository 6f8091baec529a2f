import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { isList, isRecord, RuntimeError } from '@ku0/agent-runtime-core'
import type { TokenOptions } from '@ku0/agent-runtime-server'

/** A token as it is kept: its hash, who holds it, and what it allows. Times are epoch ms. */
export interface KeptToken extends Omit<TokenOptions, 'expiresAt'> {
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** The tokens in a file; none if there is no such file. Throws for a file that holds something else. */
export function readTokens(path: string): readonly KeptToken[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unreadable(path, (error as Error).message)
  }
  let kept: unknown
  try {
    kept = JSON.parse(text)
  } catch (error) {
    throw unreadable(path, (error as Error).message)
  }
  if (!isRecord(kept) || kept['version'] !== 1 || !isList(kept['tokens']))
    throw unreadable(path, 'it was not written by agent-runtime token')
  return kept['tokens'] as readonly KeptToken[]
}

/**
 * Changes the tokens of a file. The new file is written beside it and takes its place, so that a server reads either; while it is there,
 * no other process changes them.
 */
export function changeTokens(
  path: string,
  change: (tokens: readonly KeptToken[]) => readonly KeptToken[],
): void {
  const next = `${path}.new`
  let file: number
  try {
    file = openSync(next, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unwritable(path, error as Error)
    throw new RuntimeError(
      'already_exists',
      `another process changes the tokens of ${path}; if none does, remove ${next}, which a killed one left behind`,
    )
  }
  try {
    writeSync(file, `${JSON.stringify({ version: 1, tokens: change(readTokens(path)) }, undefined, 2)}\n`)
    fsyncSync(file)
    renameSync(next, path)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

/**
 * The accepted tokens of a file as a server asks for them: it looks whether the file has changed once a second at most, so a revoked
 * token is refused within that second, and says what is wrong with a file that it cannot read and accepts none until it can.
 */
export function tokensOf(
  path: string,
  now: () => number,
  report: (error: unknown) => void,
): () => readonly TokenOptions[] {
  let tokens: readonly TokenOptions[] = []
  let stamp = ''
  let lookedAt = Number.NEGATIVE_INFINITY
  return () => {
    const at = now()
    if (Math.abs(at - lookedAt) < LOOK_MS) return tokens
    lookedAt = at
    const stat = statSync(path, { throwIfNoEntry: false })
    const seen = stat === undefined ? 'none' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`
    if (seen === stamp) return tokens
    stamp = seen
    try {
      tokens = readTokens(path).filter(isOpen).map(optionsOf)
    } catch (error) {
      tokens = []
      report(error)
    }
    return tokens
  }
}

function isOpen({ revokedAt }: KeptToken): boolean {
  return revokedAt === undefined
}

function optionsOf({ name, hash, scopes, client, types, expiresAt }: KeptToken): TokenOptions {
  return { name, hash, scopes, client, types, expiresAt }
}

function unreadable(path: string, why: string): RuntimeError {
  return new RuntimeError('invalid_config', `the tokens in ${path} cannot be read: ${why}`)
}

function unwritable(path: string, cause: Error): RuntimeError {
  return new RuntimeError('invalid_config', `the tokens cannot be written to ${path}: ${cause.message}`, {
    cause,
  })
}

const LOOK_MS = 1_000
