// Comunica, unmodified: the four forms against one SPARQL endpoint. Argument: the endpoint.
import { QueryEngine } from "@comunica/query-sparql";
import assert from "node:assert";

const engine = new QueryEngine();
const context = { sources: [{ type: "sparql", value: process.argv[2] }] };

const rows = await (
  await engine.queryBindings("SELECT ?n { <http://e/p1> <http://e/name> ?n }", context)
).toArray();
assert.deepStrictEqual(rows.map((row) => row.get("n").value), ["Person 1"]);
// Comunica 4 with today's versions of what it depends on loses the language of a literal that it reads;
// the server is asked for it instead.
const tagged = await (
  await engine.queryBindings(
    'SELECT (LANG(?n) AS ?l) { <http://e/p1> <http://e/name> ?n }',
    context,
  )
).toArray();
assert.deepStrictEqual(tagged.map((row) => row.get("l").value), ["en"]);

const joined = await (
  await engine.queryBindings(
    `SELECT ?a (COUNT(?c) AS ?n) { ?a <http://e/knows>/<http://e/knows> ?c
       OPTIONAL { ?a <http://e/none> ?d } FILTER(!BOUND(?d)) } GROUP BY ?a ORDER BY ?a LIMIT 3`,
    context,
  )
).toArray();
assert.strictEqual(joined.length, 3);

assert.strictEqual(
  await engine.queryBoolean("ASK { <http://e/p1> <http://e/knows> <http://e/p2> }", context),
  true,
);
const made = await (
  await engine.queryQuads(
    "CONSTRUCT { ?b <http://e/r> ?a } WHERE { ?a <http://e/knows> ?b } LIMIT 5",
    context,
  )
).toArray();
assert.strictEqual(made.length, 5);
const described = await (await engine.queryQuads("DESCRIBE <http://e/p1>", context)).toArray();
assert.ok(described.length >= 2, `${described.length}`);
console.log("ok");
