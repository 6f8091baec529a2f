import { posix } from 'node:path'
import type { Definition, Image, Link } from 'mdast'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { visit } from 'unist-util-visit'

/**
 * A page of a package as a registry shows it: a link to a file of the repository becomes the URL of that file, and an image that of its bytes. `directory` is where the page stands
 * in the repository.
 */
export function publishedPage(text: string, directory: string, homepage: string): string {
  const tree = unified().use(remarkParse).use(remarkGfm).parse(text)
  const links: (Definition | Image | Link)[] = []
  visit(tree, ['link', 'image', 'definition'], (node) => void links.push(node as Definition | Image | Link))
  return links
    .filter(({ url }) => !/^(?:[a-z][a-z\d+.-]*:|#)/i.test(url))
    .map(({ type, url, position }) => {
      const [path = '', anchor] = url.split('#')
      const file = posix.join(directory, path)
      if (file.startsWith('..')) throw new Error(`a page in ${directory}: ${url} leads out of the repository`)
      const full = `${homepage}/${type === 'image' ? 'raw' : 'blob'}/main/${file}${anchor === undefined ? '' : `#${anchor}`}`
      // The URL is the last thing of a link; a picture inside of the link has one, too.
      return { at: text.lastIndexOf(url, position?.end.offset), url, full }
    })
    .toSorted((one, other) => other.at - one.at)
    .reduce((page, { at, url, full }) => page.slice(0, at) + full + page.slice(at + url.length), text)
}
