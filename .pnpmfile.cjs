const { author, repository } = require('./package.json')

// The Node packages publish `os` and `cpu` as strings, which pnpm ignores: as arrays, with `libc`,
// they keep a machine from downloading every other platform's Node.
function readPackage(manifest) {
  if (/^node-(bin-)?(linux|darwin|win)-/.test(manifest.name ?? '')) {
    if (typeof manifest.os === 'string') manifest.os = [manifest.os]
    if (typeof manifest.cpu === 'string') manifest.cpu = [manifest.cpu]
    if (manifest.name.startsWith('node-linux-')) manifest.libc = ['glibc']
  }
  return manifest
}

// The catalog has exact versions, which are what is tested here. A user's program takes later ones of the same line: the fixes of a dependency
// need no release of these packages, and one copy serves the whole program. Our own packages share one version and are exact.
//
// What is the same for all packages stands in the root's manifest, the repository's URL with it.
function beforePacking(manifest) {
  const page = repository.url.replace(/^git\+|\.git$/g, '')
  const directory = manifest.name.replace('@ku0/', 'packages/')
  Object.assign(manifest, {
    author,
    repository: { ...repository, directory },
    homepage: `${page}/tree/main/${directory}#readme`,
    bugs: { url: `${page}/issues` },
  })
  for (const [name, version] of Object.entries(manifest.dependencies ?? {}))
    if (!name.startsWith('@ku0/') && /^\d/.test(version)) manifest.dependencies[name] = `^${version}`
  return manifest
}

module.exports.hooks = { readPackage, beforePacking }
