// Streams, standing queries and live answers in the page, in a real browser (Chromium without a window). Arguments: the
// address of a server that may be changed, that of one which is only read, and perhaps a folder for pictures.
//
// The server that may be changed is reached through a door of this script, which it can close: so a server that goes
// away and comes back is seen as a browser sees it.
import assert from "node:assert";
import { existsSync } from "node:fs";
import net from "node:net";
import puppeteer from "puppeteer-core";

const [writable, reading, pictures] = process.argv.slice(2);
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = places.find((place) => place && existsSync(place));
// Without a sandbox, because tests run as root where it has none; every page is ours.
const browser = await puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const PATIENCE = { timeout: 60000 };

const door = { sockets: new Set(), isOpen: true };
const inward = net.createServer((socket) => {
  const behind = net.connect({ host: "127.0.0.1", port: Number(new URL(writable).port) });
  for (const [one, other] of [[socket, behind], [behind, socket]]) {
    door.sockets.add(one);
    one.on("error", () => other.destroy()).on("close", () => { door.sockets.delete(one); other.destroy(); }).pipe(other);
  }
});
const listening = (port) => new Promise((done) => inward.listen(port, "127.0.0.1", done));
await listening(0);
const { port } = inward.address();
const open = `http://127.0.0.1:${port}`;

// What the browser complains of; refusals that are asked for are told apart by their status, and a closed door is ours.
const complaints = [];
async function page(address, viewport = { width: 1280, height: 900 }) {
  const made = await browser.newPage();
  await made.setViewport(viewport);
  made.on("pageerror", (error) => complaints.push(`${error}`));
  made.on("console", (message) => {
    const text = message.text();
    if (["error", "warn", "issue"].includes(message.type()) && !/status of 4\d\d/.test(text) && door.isOpen) complaints.push(text);
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
const fits = (at) => at.evaluate(() => document.scrollingElement.scrollWidth <= window.innerWidth);
const until = (at, what, ...given) => at.waitForFunction(what, PATIENCE, ...given);
const saying = (at, selector, pattern) => until(at, (selector, pattern) => [...document.querySelectorAll(selector)]
  .some((found) => new RegExp(pattern).test(found.textContent)), selector, pattern);
async function picture(at, name) {
  if (pictures) await at.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
}
// Clicks the button that says this.
async function press(at, words, within = "#detail") {
  await until(at, (within, words) => [...document.querySelectorAll(`${within} button`)].some((one) => one.textContent === words && one.checkVisibility()), within, words);
  await at.evaluate((within, words) => [...document.querySelectorAll(`${within} button`)].find((one) => one.textContent === words && one.checkVisibility()).click(), within, words);
}
const go = (at, hash) => at.evaluate((hash) => { location.hash = hash; }, hash);
async function post(path, body, type) {
  const answer = await fetch(`${writable}${path}`, { method: "POST", headers: { "Content-Type": type }, body });
  assert(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
}
const update = (body) => post("/update", body, "application/sparql-update");

// An empty server teaches what to do, and an example is a click away.
async function first(at) {
  await saying(at, "#detail", "Make a stream");
  await picture(at, "live-empty");
  await press(at, "Show me: four rooms and their temperatures");
  await saying(at, "#detail h2", "room-temperatures");
  await until(at, () => document.querySelectorAll("#detail table.live tbody tr:not(.went)").length === 4);
  await saying(at, "#detail .about", "4 rows");
  await saying(at, "#streams .about", "items/s");
  assert.match(await at.$eval("#detail table.live tbody td:nth-child(2)", (found) => found.textContent), /<urn:room:\w+>/);
  // It is at its end of the table as long as it is there: a report later the same elements are there.
  await at.evaluate(() => { document.querySelector("#detail table.live tbody tr").isKept = true; });
  const before = await text(at, "#detail .about");
  await until(at, (before) => document.querySelector("#detail .about").textContent !== before, before);
  assert(await at.evaluate(() => [...document.querySelectorAll("#detail table.live tbody tr")].some((line) => line.isKept)));
  await picture(at, "live-query");
}

async function pausing(at) {
  await press(at, "Pause the view", ".reports");
  await saying(at, ".reports", "Paused; \\d+ reports? came since");
  const said = await text(at, ".reports .about span");
  await saying(at, ".reports", "Paused; [2-9] reports came since");
  assert.strictEqual(await text(at, ".reports .about span"), said, "a paused view stands still");
  await press(at, "‹ Earlier", ".reports");
  await until(at, (said) => document.querySelector(".reports .about span").textContent !== said, said);
  await press(at, "Go on", ".reports");
  await press(at, "Whole IRIs", ".reports");
  assert.strictEqual(await at.$eval(".reports .table", (found) => found.classList.contains("folded")), false);
  await press(at, "Whole IRIs", ".reports");
  // The query itself is paused, and goes on.
  await press(at, "Pause");
  await saying(at, "#detail .state", "paused");
  await saying(at, "#queries .about", "paused");
  await press(at, "Resume");
  await saying(at, "#detail .state", "running");
}

async function streams(at) {
  await go(at, "#live&stream=urn%3Aexample%3Arooms");
  await saying(at, "#detail .state", "flowing");
  await saying(at, "#detail .figures", "items since the server began");
  await saying(at, "#detail tbody", "page");
  await at.$eval("#detail .push textarea", (area) => { area.value = `${area.value}\nno statement\n<urn:room:cellar> <urn:hasNo> <urn:window> .`; });
  await press(at, "Push");
  await saying(at, "#detail .push", "1 rejected");
  await saying(at, "#detail .push .problem", "Line 2, column 1");
  await saying(at, "#detail .figures", "could not be read");
  await picture(at, "live-stream");
  // One of its own, whose items bring their time.
  await go(at, "#live&new-stream");
  await until(at, () => document.querySelector("#detail input"));
  await at.type("#detail input", "urn:mine");
  await at.$eval("#detail input[type=checkbox]", (box) => { box.checked = false; });
  await picture(at, "live-new-stream");
  await press(at, "Make it");
  await saying(at, "#detail h2", "urn:mine");
  await saying(at, "#detail .state", "nothing came yet");
  await press(at, "Push");
  await saying(at, "#detail .push", "1 item taken");
  await press(at, "Drop");
  await press(at, "Really drop it?");
  await until(at, () => document.querySelectorAll("#streams a").length === 1);
  // One that is read is not dropped, and says why.
  await go(at, "#live&stream=urn%3Aexample%3Arooms");
  await saying(at, "#detail h2", "urn:example:rooms");
  await press(at, "Drop");
  await press(at, "Really drop it?");
  await saying(at, "#detail .problem", "quer");
}

async function registering(at) {
  await go(at, "#live&new-query");
  await until(at, () => document.querySelector("#detail textarea"));
  const wrong = "SELECT ?x\nFROM NAMED WINDOW <urn:w> ON <urn:example:rooms> [RANGE PT1S STEP]\nWHERE { WINDOW <urn:w> { ?x ?y ?z } }";
  await at.$eval("#detail textarea", (area, wrong) => { area.value = wrong; }, wrong);
  await press(at, "Register");
  await saying(at, "#detail .problem pre", "\\^ line 2, column \\d+");
  assert.strictEqual(await at.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  await picture(at, "live-refusal");
  for (const [name, form] of [["what-comes", "ISTREAM"], ["seen-lately", "RSTREAM"], ["is-it-flowing", "RSTREAM"]]) {
    await go(at, "#live&new-query");
    await until(at, () => document.querySelector("#detail select"));
    await at.evaluate((name) => {
      const select = document.querySelector("#detail select");
      select.value = [...select.options].find((option) => option.value.includes(`"${name}"`)).value;
      select.dispatchEvent(new Event("change"));
    }, name);
    await at.focus("#detail textarea");
    await at.keyboard.down("Control");
    await at.keyboard.press("Enter");
    await at.keyboard.up("Control");
    await saying(at, "#detail h2", name);
    await saying(at, "#detail .figures", form);
  }
  await saying(at, ".reports .truth", "Yes \\(true\\)");
  await go(at, "#live&query=seen-lately");
  await saying(at, ".reports td", "<urn:room:\\w+> <urn:lately> ");
  await picture(at, "live-triples");
  // What is new each second is a list, with its close before each row.
  await go(at, "#live&query=urn%3Awhat-comes");
  await until(at, () => document.querySelectorAll(".reports td.when").length > 4);
  await picture(at, "live-log");
}

// A report of more rows than are drawn, ten times a second: the page stays small, and answers.
async function much(at) {
  const stream = JSON.stringify({ name: "urn:much", absorb: "none", arrival_time: true, begin: Date.now() - 600000 });
  await post("/api/v1/streams", stream, "application/json");
  const asked = "SELECT ?a ?b FROM NAMED WINDOW <urn:w> ON <urn:much> [RANGE PT2M STEP PT0.1S] WHERE { WINDOW <urn:w> { ?a <urn:p> ?b } }";
  await post("/api/v1/continuous?name=much", asked, "application/sparql-query");
  await go(at, "#live&query=much");
  for (let round = 0; round < 20; round += 1) {
    const lines = Array.from({ length: 50 }, (_, at) => `<urn:s${round}> <urn:p> <urn:o${at}> .`);
    await post("/api/v1/streams/urn%3Amuch/items?source=test", lines.join("\n"), "application/n-triples");
  }
  await saying(at, ".reports .about", "1,000 rows");
  assert(await count(at, ".reports tr") <= 560);
  await saying(at, ".reports .table", "and 500 rows more");
  await press(at, "Show all as they come", ".reports");
  await until(at, () => document.querySelectorAll(".reports td.when").length > 4);
  assert(await count(at, ".reports > .scroll tr") <= 501);
  const slow = await at.evaluate(() => new Promise((done) => {
    const begun = performance.now();
    setTimeout(() => done(performance.now() - begun), 100);
  }));
  assert(slow < 5000, `a click would have waited ${slow} ms`);
}

// The server goes away and comes back: the page says both, and no report is missing or there twice.
async function away(at) {
  await go(at, "#live&query=room-temperatures");
  await saying(at, ".reports .about", "report");
  await at.evaluate(() => {
    const about = document.querySelector(".reports .about span");
    window.closes = [];
    new MutationObserver(() => {
      const close = /report ([\d,]+)/.exec(about.textContent);
      if (close) window.closes.push(Number(close[1].replaceAll(",", "")));
    }).observe(about, { childList: true, characterData: true, subtree: true });
  });
  door.isOpen = false;
  const closed = new Promise((done) => inward.close(done));
  for (const socket of door.sockets) socket.destroy();
  await closed;
  await saying(at, "#pulse", "does not answer");
  await saying(at, ".reports .head", "lost, trying again");
  await picture(at, "live-away");
  await listening(port);
  await saying(at, "#pulse", "is back");
  await saying(at, ".reports .head", "live");
  door.isOpen = true;
  const seen = await at.evaluate(() => window.closes.length);
  await until(at, (seen) => window.closes.length > seen + 1, seen);
  const closes = await at.evaluate(() => window.closes);
  assert(closes.every((number, place) => place === 0 || number >= closes[place - 1]), `${closes}`);
}

// The answer of a query without windows follows the store.
async function following(at) {
  await go(at, "#");
  await at.$eval("#query", (area) => { area.value = "SELECT ?who ?what { ?who <urn:adores> ?what }"; });
  await press(at, "Run live", "#ask");
  await saying(at, "#state", "^Live");
  await saying(at, "#result", "No row yet");
  await update("INSERT DATA { <urn:a> <urn:adores> <urn:b> , <urn:c> }");
  await until(at, () => document.querySelectorAll("#result tbody tr").length === 2);
  assert.strictEqual(await count(at, "#result tr.came"), 2);
  await saying(at, "#clock", "2 rows · 1 change");
  await update("DELETE DATA { <urn:a> <urn:adores> <urn:b> }");
  await until(at, () => document.querySelector("#result tr.went"));
  await picture(at, "run-live");
  await until(at, () => document.querySelectorAll("#result tbody tr").length === 1);
  assert.match(await text(at, "#result tbody"), /<urn:c>/);
  // More rows than are drawn; those that were not drawn take the place of those that go.
  const many = Array.from({ length: 700 }, (_, place) => `<urn:n${place}> <urn:adores> <urn:m> .`);
  await update(`INSERT DATA { ${many.join(" ")} }`);
  await saying(at, "#result .hint", "500 of 701 rows are shown");
  assert(await count(at, "#result tbody tr") <= 501);
  await update("DELETE { ?s <urn:adores> <urn:m> } WHERE { ?s <urn:adores> <urn:m> }");
  await until(at, () => document.querySelectorAll("#result tbody tr").length === 1);
  await at.click("#cancel");
  await saying(at, "#state", "^Cancelled");
  await at.$eval("#query", (area) => { area.value = "ASK { <urn:a> <urn:adores> <urn:z> }"; });
  await press(at, "Run live", "#ask");
  await saying(at, "#result", "No \\(false\\)");
  await update("INSERT DATA { <urn:a> <urn:adores> <urn:z> }");
  await saying(at, "#result", "Yes \\(true\\)");
  // One over windows leads to where it is registered.
  await at.$eval("#query", (area) => { area.value = "ASK FROM NAMED WINDOW <urn:w> ON <urn:much> [RANGE PT1S STEP PT1S] { WINDOW <urn:w> { ?a ?b ?c } }"; });
  await press(at, "Run live", "#ask");
  await press(at, "Register it as a standing query", "#problem");
  await until(at, () => /urn:much/.test((document.querySelector("#detail textarea") || {}).value));
}

// By keyboard alone: from the top to a stream, and back.
async function keyboard(at) {
  await go(at, "#live&query=much");
  await saying(at, "#detail h2", "much");
  await at.evaluate(() => document.activeElement.blur());
  let found = "";
  for (let steps = 0; steps < 40 && found !== "urn:example:rooms"; steps += 1) {
    await at.keyboard.press("Tab");
    found = await at.evaluate(() => document.activeElement.title);
  }
  assert.strictEqual(found, "urn:example:rooms");
  await at.keyboard.press("Enter");
  await saying(at, "#detail h2", "urn:example:rooms");
  assert.strictEqual(await at.evaluate(() => document.activeElement.title), "urn:example:rooms", "the focus stays");
  await at.evaluate(() => new Promise((done) => setTimeout(done, 1500)));
  assert.strictEqual(await at.evaluate(() => document.activeElement.title), "urn:example:rooms", "while figures change, too");
}

async function looks() {
  const at = await page(`${open}/#live&query=room-temperatures`, { width: 390, height: 844, isMobile: true, hasTouch: true });
  await until(at, () => document.querySelectorAll("#detail table.live tbody tr").length >= 4);
  assert(await fits(at), "a narrow screen");
  await picture(at, "live-narrow");
  for (const hash of ["#live&stream=urn%3Aexample%3Arooms", "#live&new-query", "#live&new-stream"]) {
    await go(at, hash);
    await until(at, () => document.querySelector("#detail textarea, #detail input"));
    assert(await fits(at), `a narrow screen with ${hash}`);
  }
  await picture(at, "live-narrow-stream");
  const dark = await page(`${open}/#live&query=room-temperatures`);
  await dark.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await until(dark, () => document.querySelectorAll("#detail table.live tbody tr").length >= 4);
  await picture(dark, "live-dark");
  const [ground, ink] = await dark.evaluate(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("#detail td")).color]);
  assert.notStrictEqual(ground, ink);
  await dark.close();
  await at.close();
}

// Whoever may not change anything is told so, and is offered nothing that would be refused.
async function onlyReading() {
  const at = await page(`${reading}/#live`);
  await saying(at, "#detail", "only reads");
  await saying(at, "#detail", "somersault demo --live");
  assert.strictEqual(await at.$$eval("#live button", (all) => all.filter((one) => one.checkVisibility()).length), 0);
  await picture(at, "live-reading");
  await at.close();
}

// What is dropped elsewhere is said to be gone.
async function gone(at) {
  await go(at, "#live&query=room-temperatures");
  await saying(at, "#detail h2", "room-temperatures");
  const answer = await fetch(`${writable}/api/v1/continuous/room-temperatures`, { method: "DELETE" });
  assert.strictEqual(answer.status, 204);
  await saying(at, "#detail", "This query is not registered");
}

try {
  const at = await page(`${open}/#live`);
  for (const part of [first, pausing, streams, registering, much, away, following, keyboard]) {
    await part(at);
  }
  for (const part of [looks, onlyReading]) await part();
  await gone(at);
  assert.deepStrictEqual(complaints, []);
  console.log("ok");
} finally {
  await browser.close();
  for (const socket of door.sockets) socket.destroy();
  inward.close();
}
