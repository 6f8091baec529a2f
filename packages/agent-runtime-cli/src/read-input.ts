import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Call } from './call.ts'
import { readJson, ValueError } from './catalogue/values.ts'
import { UsageError } from './complain.ts'

/**
 * The value of an argument, of a file, or of standard input, in JSON. Undefined where nothing is given: standard input is a terminal, or empty. With `-`
 * it must not be empty.
 */
export async function readInput(
  { outlet }: Pick<Call, 'outlet'>,
  given: string | undefined,
  file: string | undefined,
  what = 'the input',
): Promise<unknown> {
  if (file !== undefined && given !== undefined)
    throw new UsageError('give the input as an argument or with --input, not both')
  if (file !== undefined && file !== '-')
    return parsed(readFile(resolve(outlet.folder ?? process.cwd(), file)), file)
  if (given !== undefined && given !== '-') return parsed(given, what)
  const isNamed = given === '-' || file === '-'
  if (outlet.input === undefined || (!isNamed && outlet.isInputTerminal?.() === true)) {
    if (isNamed) throw new UsageError('there is no standard input')
    return undefined
  }
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of outlet.input())
    text += typeof part === 'string' ? part : decoder.decode(part, { stream: true })
  if (text.trim() === '') {
    if (isNamed) throw new UsageError('standard input is empty')
    return undefined
  }
  return parsed(text, 'standard input')
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RuntimeError(
      'not_found',
      `the input file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
      { cause: error },
    )
  }
}

function parsed(text: string, where: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    const hint = /^[\w .-]+$/.test(text) ? `; write a text as '"${text}"'` : ''
    throw new UsageError(`${where} must be ${error.message}${hint}`, { cause: error })
  }
}
