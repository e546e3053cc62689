// Types of what the API takes and answers, from its OpenAPI schema: `npm run api-types` after
// `python manage.py spectacular --file frontend/schema.json`. Shapes only: addresses are written where they are called.
import { readFile, writeFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";
import YAML from "yaml";

const [from = "schema.json", to = "src/api/schema.d.ts"] = process.argv.slice(2);
const schema = YAML.parse(await readFile(from, "utf8"));
const shapes = { openapi: schema.openapi, info: schema.info, paths: {}, components: { schemas: plain(schema.components.schemas) } };
const types = astToString(await openapi(shapes, { alphabetize: true, defaultNonNullable: false }));
await writeFile(to, `// Made from the OpenAPI schema by \`npm run api-types\`; tests compare it. Do not edit.\n\n${types}`);

/** Without titles: they only repeat the name. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([key, of]) => key !== "title" || typeof of !== "string").map(([key, of]) => [key, plain(of)]));
}
