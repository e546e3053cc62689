// xterm under the page's policy, which takes style elements by their number alone, and no style attributes at all: its
// three elements get the number, and the colours of single cells are set as properties, of which the policy says nothing.
// Another version that does it in other places stops the build.
const FILE = /@xterm\/xterm\/lib\/xterm\.mjs$/;
const ELEMENT = /([\w.]+\.createElement\("style"\))/g;
const ATTRIBUTE = /(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g;

export function strictXterm(nonce) {
  return {
    name: "strict-xterm",
    transform(code, id) {
      if (!FILE.test(id)) return null;
      const counts = [ELEMENT, ATTRIBUTE].map((pattern) => code.match(pattern)?.length ?? 0);
      if (counts.join() !== "3,1" || code.split('setAttribute("style"').length !== 2) throw new Error(`${id} makes its styles in another way than 6.0.0`);
      const made = code.replace(ELEMENT, "Object.assign($1,{nonce:styleNonce()})").replace(ATTRIBUTE, "$1.style.cssText+=`${$2};`");
      return { code: `import { styleNonce } from ${JSON.stringify(nonce)};\n${made}`, map: null };
    },
  };
}
