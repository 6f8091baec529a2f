/** The sources of a package, for a program that measures them in a process of its own. */
export async function sourcesOf<Module>(name: string): Promise<Module> {
  return (await import(new URL(`../../packages/${name}/src/index.ts`, import.meta.url).href)) as Module
}

/** Takes any number as it is, so that no schema is part of what is measured. */
export const anyNumber = {
  '~standard': { version: 1, vendor: 'bench', validate: (value: unknown) => ({ value: value as number }) },
} as const
