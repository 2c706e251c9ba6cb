// The page in a real browser (Chromium without a window). Arguments: the address of a server, that of one which
// asks for a token, the token, and perhaps a folder for pictures.
import assert from "node:assert";
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

const [open, guarded, secret, pictures] = process.argv.slice(2);
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
// Without a sandbox, because tests run as root where it has none; every page is ours.
const browser = await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

// What the browser complains of; refusals that are asked for are told apart by their status.
const complaints = [];
async function page(address, viewport = { width: 1200, height: 900 }) {
  const made = await browser.newPage();
  await made.setViewport(viewport);
  made.on("pageerror", (error) => complaints.push(`${error}`));
  made.on("console", (message) => {
    const text = message.text();
    if (["error", "warn", "issue"].includes(message.type()) && !/status of 4\d\d/.test(text)) complaints.push(text);
  });
  made.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "data:" && origin !== new URL(address).origin) complaints.push(`it asked ${request.url()}`);
  });
  await made.goto(address);
  return made;
}

const text = (at, selector) => at.$eval(selector, (found) => found.textContent);
const count = (at, selector) => at.$$eval(selector, (found) => found.length);
const isShown = (at, selector) => at.$eval(selector, (found) => found.checkVisibility());
const fits = (at) => at.evaluate(() => document.scrollingElement.scrollWidth <= window.innerWidth);
async function picture(at, name) {
  if (pictures) await at.screenshot({ path: `${pictures}/${name}.png` });
}

const settled = (at) => at.waitForFunction(() => {
  const state = document.getElementById("state").textContent;
  return state !== "" && !state.endsWith("…") && document.getElementById("cancel").disabled;
}, { timeout: 30000 });

// Runs a query as a person does; gives what the page says of it.
async function run(at, query, format = "") {
  await at.$eval("#query", (area, query) => { area.value = query; }, query);
  await at.select("#format", format);
  await at.click("#run");
  await settled(at);
  return text(at, "#state");
}

async function answers(at) {
  assert.match(await at.$eval("#contents", (found) => found.textContent), /4,001 statements/);
  // Of an answer that was begun before the query had ended, as on a busy machine, nobody says how long it ran.
  let said = "";
  for (let tries = 0; tries < 5 && !/ ran /.test(said); tries += 1) {
    said = await run(at, "SELECT ?a ?n { ?a <http://e/name> ?n } ORDER BY ?a LIMIT 10");
  }
  assert.match(said, /^10 rows .*ran .* ms\.$/s);
  assert.strictEqual(await count(at, "#result tbody tr"), 10);
  assert.strictEqual(await text(at, "#result tbody tr td"), "<http://e/p0>");
  assert.match(await text(at, "#result tbody tr td:nth-child(2)"), /^Person 0@en$/);
  await picture(at, "select");
  assert.match(await run(at, "CONSTRUCT { ?b <http://e/knownBy> ?a } { ?a <http://e/knows> ?b } LIMIT 5"), /Turtle/);
  assert.strictEqual((await text(at, "#result pre")).match(/knownBy/g).length, 5);
  await picture(at, "construct");
  assert.match(await run(at, "DESCRIBE <http://e/p1>", "application/n-triples"), /N-Triples/);
  assert.match(await text(at, "#result pre"), /<http:\/\/e\/p1> <http:\/\/e\/name> "Person 1"@en \./);
  await run(at, "ASK { ?s ?p ?o }");
  assert.strictEqual(await text(at, "#result"), "Yes (true)");
  await run(at, "SELECT ?a { ?a <http://e/knows> ?a }", "application/sparql-results+json");
  assert.deepStrictEqual(JSON.parse(await text(at, "#result pre")).results.bindings, []);
}

async function refusals(at) {
  assert.match(await run(at, "INSERT DATA { <http://e/a> <http://e/b> 1 }"), /^Failed after/);
  assert(await isShown(at, "#problem"));
  assert.match(await text(at, "#problem"), /line 1, column 1/);
  await picture(at, "update");
  assert.match(await run(at, "SELECT ?a {\n  ?a <http://e/knows> }"), /^Failed after/);
  assert.match(await text(at, "#problem pre"), /\^ line 2/);
  // The next answer takes the refusal away.
  await run(at, "ASK {}");
  assert(!(await isShown(at, "#problem")));
}

async function warnings(at) {
  await run(at, "SELECT ?a { ?a <http://e/nown> ?b }");
  assert(await isShown(at, "#warnings"));
  assert.match(await text(at, "#warnings"), /nown/);
  await picture(at, "warnings");
  await run(at, "CONSTRUCT WHERE { ?a <http://e/nown> ?b }");
  assert.match(await text(at, "#warnings"), /1 warning/);
  await run(at, "ASK {}");
  assert(!(await isShown(at, "#warnings")));
}

// Millions of rows, of which the page shows the first and takes no more.
async function much(at) {
  const product = "SELECT * { ?a <http://e/knows> ?b . ?c <http://e/knows> ?d }";
  assert.match(await run(at, product), /^The first 10,000 rows; there are more/);
  assert.strictEqual(await count(at, "#result tbody tr"), 1000);
  await at.click("#rest button");
  assert.strictEqual(await count(at, "#result tbody tr"), 2000);
  await picture(at, "much");
  assert.match(await run(at, product, "text/csv"), /^The first 512\.0 KiB; there is more/);
  await at.$eval("#query", (area, query) => { area.value = query; }, `${product} ORDER BY ?a ?d`);
  await at.click("#run");
  await at.click("#cancel");
  await settled(at);
  assert.match(await text(at, "#state"), /^Cancelled after/);
}

async function links() {
  const query = encodeURIComponent("SELECT ?a { ?a <http://e/likes>|<http://e/knows> <http://e/p7> }");
  const at = await page(`${open}/sparql?query=${query}&format=text%2Fhtml`);
  await settled(at);
  assert.strictEqual(await count(at, "#result tbody tr"), 1);
  assert.strictEqual(await text(at, "#result tbody td"), "<http://e/p6>");
  const shown = new URL(at.url());
  assert.strictEqual(shown.pathname, "/");
  // A link to a query shows it, and runs nothing.
  const still = await page(`${open}/#query=${query}`);
  assert.match(await still.$eval("#query", (area) => area.value), /likes/);
  assert.strictEqual(await text(still, "#state"), "");
}

async function narrow() {
  const at = await page(open, { width: 390, height: 844, isMobile: true, hasTouch: true });
  assert(await fits(at), "the empty page");
  await picture(at, "narrow");
  await run(at, "SELECT * { ?s ?p ?o } LIMIT 20");
  assert(await fits(at), "rows");
  await picture(at, "narrow-rows");
  await run(at, `SELECT ("${"x".repeat(300)}" AS ?long) (1 AS ?b) {}`);
  assert(await fits(at), "a long word");
  await run(at, `SELECT ?a { ?a <http://e/${"y".repeat(200)}> ?b }`);
  assert(await fits(at), "a long warning");
  await run(at, `SELECT ?a { ?a <http://e/knows> ?b . } ${"z".repeat(200)}`);
  assert(await fits(at), "a long problem");
  await picture(at, "narrow-problem");
  await at.click("#access summary");
  assert(await fits(at), "the field for a token");
}

async function tokens() {
  const at = await page(guarded);
  assert.match(await run(at, "SELECT * { ?s ?p ?o } LIMIT 3"), /^Failed/);
  assert(await isShown(at, "#token"));
  assert.strictEqual(await at.evaluate(() => document.activeElement.id), "token");
  await picture(at, "token");
  await at.type("#token", "wrong");
  assert.match(await run(at, "ASK {}"), /^Failed/);
  await at.$eval("#token", (field) => { field.value = ""; });
  await at.type("#token", "no token");
  await run(at, "ASK {}");
  assert.match(await text(at, "#problem"), /not a token/);
  await at.$eval("#token", (field) => { field.value = ""; });
  await at.type("#token", secret);
  await run(at, "SELECT * { ?s ?p ?o } LIMIT 3");
  assert.strictEqual(await count(at, "#result tbody tr"), 3);
  await at.waitForFunction(() => /4,001/.test(document.getElementById("contents").textContent));
  // It is there after the page was loaded again, and in no other tab.
  await at.reload();
  await run(at, "ASK {}");
  assert(!(await isShown(at, "#problem")));
  const other = await page(guarded);
  assert.strictEqual(await other.$eval("#token", (field) => field.value), "");
  // Streams are asked for with it, too, and what it does not allow is not offered.
  await other.evaluate(() => { location.hash = "#live"; });
  await other.waitForFunction(() => /need a token/.test(document.getElementById("pulse").textContent));
  assert.strictEqual(await other.evaluate(() => document.activeElement.id), "token");
  await other.type("#token", secret);
  await other.keyboard.press("Tab");
  await other.waitForFunction(() => /needs a token with the right to write/.test(document.getElementById("detail").textContent));
  assert(!(await isShown(other, "#pulse")) && !(await isShown(other, "#new-stream")));
}

try {
  const at = await page(open);
  for (const part of [answers, refusals, warnings, much]) await part(at);
  for (const part of [links, narrow, tokens]) await part();
  assert.deepStrictEqual(complaints, []);
  console.log("ok");
} finally {
  await browser.close();
}
