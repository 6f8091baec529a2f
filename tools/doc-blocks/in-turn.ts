// Runs programs one after the other in one process, each in a folder of its own, and writes the number of each that has come to its end to
// the file descriptor 3. Starting Node and loading the packages for each takes ten times as long as most of the programs do.
//
//   node tools/doc-blocks/in-turn.ts FOLDER FILE [FOLDER FILE]...
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const places = process.argv.slice(2)
for (let at = 0; at < places.length; at += 2) {
  const [folder, file] = places.slice(at, at + 2) as [string, string]
  process.chdir(folder)
  await import(pathToFileURL(file).href)
  writeSync(3, `${at / 2}\n`)
}
