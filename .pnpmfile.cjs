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

module.exports.hooks = { readPackage }
