import { writeSync } from 'node:fs'

/** How a line ends that was written whole. */
const END = ';'

/**
 * Appends a line to a file to which processes append until they are killed. SIGKILL cuts a write in two where a page of the file begins;
 * so a line begins anew, whatever is left there of one that was cut, and ends with a mark.
 */
export function appendLine(descriptor: number, line: string): void {
  if (line.includes('\n')) throw new TypeError(`a line has no line breaks: ${JSON.stringify(line)}`)
  const bytes = Buffer.from(`\n${line}${END}`)
  if (writeSync(descriptor, bytes) < bytes.length)
    throw new Error('there was room for a part of the line only')
}

/** The lines that were written whole. Who was killed in the middle of one has not written it. */
export function wholeLines(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.endsWith(END) ? [line.slice(0, -END.length)] : []))
}
