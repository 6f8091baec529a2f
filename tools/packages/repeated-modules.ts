import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The modules of ours whose code is in more than one file of the packages installed in `project`. `instanceof` fails between two copies of a class, so that each module has to be
 * in one file, whichever entry point reaches it. The bundler writes the name of each module above its code. `programs` run in threads of their own, which share no object
 * with another.
 */
export function repeatedModules(
  project: string,
  names: readonly string[],
  programs: readonly string[],
): string[] {
  const places = names
    .flatMap((name) => globSync(`node_modules/${name}/dist/*.js`, { cwd: project }))
    .filter((file) => !programs.some((program) => file.endsWith(program)))
    .flatMap((file) =>
      [...readFileSync(join(project, file), 'utf8').matchAll(/^\/\/ (packages\/.+\.js)$/gm)].map(
        ([, module = '']) => ({ module, file }),
      ),
    )
  if (places.length < 100) throw new Error('the bundles do not say which modules they hold')
  return Object.entries(Object.groupBy(places, ({ module }) => module))
    .filter(([, found = []]) => found.length > 1)
    .map(([module, found = []]) => `${module} is in ${found.map(({ file }) => file).join(' and in ')}`)
}
