// The view of streams and registered queries.
//
// Figures are asked for once a second, while somebody looks. What is drawn is kept: an element is made once for each
// stream and query, and only texts that differ are written, so nothing flickers and the focus stays where it is.
// What is chosen is in the address: `#live&stream=IRI`, `#live&query=NAME`, `#live&new-stream`, `#live&new-query`.

// Between two looks (milliseconds), the longest pause after failures, samples of a rate (seconds), what a list shows.
const LOOK = 1000, LOOK_LAST = 5000, SAMPLES = 60, LISTED = 200;
const detail = byId("detail"), pulse = byId("pulse");
const live = {
  isShown: false, isAway: false, timer: 0, failures: 0, streams: [], queries: [], now: 0, is_writable: false, may_change: false,
  hasLooked: false, texts: new Map(), rates: new Map(), cards: { stream: new Map(), query: new Map() }, panel: null, chosen: "",
};

const linkTo = (what, name) => name === undefined ? `#live&${what}` : `#live&${what}=${encodeURIComponent(name)}`;
const itemsOf = (stream, parameters) => `/api/v1/streams/${encodeURIComponent(stream)}/items?${new URLSearchParams(parameters)}`;

// The server's clock now (milliseconds).
const serverNow = () => Date.now() + live.now;

// Asks for everything once, and draws it.
async function look() {
  const [streams, queries] = await Promise.all([
    call("GET", "/api/v1/streams", { patience: 5000 }), call("GET", "/api/v1/continuous", { patience: 5000 }),
  ]);
  const { now, is_writable, may_change } = streams;
  Object.assign(live, { streams: streams.streams, queries: queries.queries, is_writable, may_change, now: now - Date.now(), hasLooked: true });
  for (const stream of live.streams) sample(stream, now);
  for (const query of live.queries.slice(0, LISTED)) if (query.text !== null) live.texts.set(query.name, query.text);
  for (const name of live.rates.keys()) if (!live.streams.some((stream) => stream.name === name)) live.rates.delete(name);
  draw();
}

async function looking() {
  clearTimeout(live.timer);
  if (!live.isShown || document.hidden) return;
  let wait = LOOK;
  try {
    await look();
    if (live.isAway) {
      pulsing("", `The server is back, since ${moment(Date.now())}.`);
      showContents();
    } else if (!pulse.dataset.back) pulsing("", "");
    live.failures = 0;
    live.isAway = false;
  } catch (error) {
    live.failures += 1;
    wait = Math.min(LOOK * live.failures, LOOK_LAST);
    if (error instanceof Refusal && error.body.status === 401) {
      pulsing("lost", "These need a token with the right to read.");
      // Once: whoever writes elsewhere meanwhile is not to be led away.
      if (live.failures === 1) askForToken();
      wait = LOOK_LAST;
    } else if (error instanceof Refusal) pulsing("lost", error.body.detail || error.message);
    else if (error instanceof Failure && error.title !== "No answer came") pulsing("lost", error.message);
    else {
      live.isAway = true;
      pulsing("lost", "The server does not answer. What is shown is the last that was heard; trying again…");
    }
  }
  clearTimeout(live.timer);
  if (live.isShown) live.timer = setTimeout(looking, wait);
}

// Says how the connection stands; that the server is back is to be seen for a while.
function pulsing(kind, text) {
  clearTimeout(Number(pulse.dataset.back || 0));
  delete pulse.dataset.back;
  say(pulse, text);
  pulse.className = kind;
  pulse.hidden = text === "";
  mark(byId("live"), "stale", kind === "lost");
  if (kind === "" && text !== "") pulse.dataset.back = setTimeout(() => { delete pulse.dataset.back; pulse.hidden = true; }, 8000);
}

// Notes how many items came so far, for rates.
function sample(stream, now) {
  let rate = live.rates.get(stream.name);
  const before = rate && rate.marks[rate.marks.length - 1];
  if (!rate || before.items > stream.items) live.rates.set(stream.name, rate = { marks: [], seconds: [] });
  if (rate.marks.length > 0 && now > before.now) {
    rate.seconds.push((stream.items - before.items) * 1000 / (now - before.now));
    if (rate.seconds.length > SAMPLES) rate.seconds.shift();
  }
  rate.marks.push({ now, items: stream.items });
  if (rate.marks.length > 6) rate.marks.shift();
}

// Items a second, over the last seconds; null where that is not known yet.
function rateOf(stream) {
  const { marks } = live.rates.get(stream.name) || { marks: [] };
  if (marks.length < 2) return null;
  const first = marks[0], latest = marks[marks.length - 1];
  return Math.max(0, (latest.items - first.items) * 1000 / (latest.now - first.now));
}

function rateWords(stream) {
  const rate = rateOf(stream);
  if (rate === null) return "…";
  return `${rate >= 100 ? number(Math.round(rate)) : rate.toFixed(1)} items/s`;
}

// How a stream stands: a word, and a class for its dot.
function streamState(stream) {
  if (stream.held_bytes >= stream.budget_bytes * 0.95) return ["full: sources are slowed", "wrong"];
  if (stream.last_arrival !== null && serverNow() - stream.last_arrival < 5000) return ["flowing", "on"];
  if (stream.last_arrival === null && stream.source_count === 0) return ["nothing came yet", "off"];
  return stream.is_idle || stream.source_count === stream.idle_source_count ? ["idle", "off"] : ["waiting", "off"];
}

function queryState(query) {
  if (query.paused) return ["paused", "off"];
  return query.failure === null ? ["running", "on"] : ["failing", "wrong"];
}

// A line of the last rates.
const SVG = "http://www.w3.org/2000/svg";
function spark() {
  const drawing = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "polyline");
  drawing.setAttribute("class", "spark");
  drawing.setAttribute("viewBox", `0 0 ${SAMPLES} 20`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(line);
  return {
    drawing,
    show(values) {
      const most = Math.max(1, ...values);
      const left = SAMPLES - values.length;
      line.setAttribute("points", values.map((value, at) => `${left + at},${(19 - 17 * value / most).toFixed(1)}`).join(" "));
    },
  };
}

function cardOf(kind, name) {
  const link = element("a", undefined, "card"), dot = element("span", undefined, "dot"), title = element("span", name, "name");
  const about = element("span", undefined, "about"), drawn = kind === "stream" ? spark() : null;
  link.href = linkTo(kind, name);
  link.title = name;
  link.append(dot, title, about);
  if (drawn) link.append(drawn.drawing);
  return { item: holding("li", "", link), link, dot, about, drawn };
}

function drawCard(kind, thing, card) {
  const [word, dot] = kind === "stream" ? streamState(thing) : queryState(thing);
  if (card.dot.className !== `dot ${dot}`) card.dot.className = `dot ${dot}`;
  if (kind === "stream") {
    say(card.about, word === "flowing" ? rateWords(thing) : word);
    card.drawn.show((live.rates.get(thing.name) || { seconds: [] }).seconds);
  } else {
    const shown = thing.last === null ? [word] : [word === "running" ? "" : word, thing.form === "ASK" ? (thing.last.rows ? "yes" : "no") : count(thing.last.rows, thing.form === "SELECT" ? "row" : "triple"), took(thing.last)];
    say(card.about, shown.filter(Boolean).join(" · "));
  }
  const isChosen = live.chosen === linkTo(kind, thing.name);
  if (isChosen) card.link.setAttribute("aria-current", "true");
  else card.link.removeAttribute("aria-current");
}

// How long the evaluation of a report took.
const took = (last) => last.exec_us < 1000 ? `${last.exec_us} µs` : `${(last.exec_us / 1000).toFixed(last.exec_us < 10000 ? 1 : 0)} ms`;

// Brings a list to what there is, in its order, and leaves in place what is.
function drawList(list, kind, things) {
  const cards = live.cards[kind], shown = things.slice(0, LISTED);
  for (const [name, card] of cards) {
    if (shown.some((thing) => thing.name === name)) continue;
    card.item.remove();
    cards.delete(name);
  }
  shown.forEach((thing, place) => {
    let card = cards.get(thing.name);
    if (!card) cards.set(thing.name, card = cardOf(kind, thing.name));
    drawCard(kind, thing, card);
    if (list.children[place] !== card.item) list.insertBefore(card.item, list.children[place] || null);
  });
}

function draw() {
  drawList(byId("streams"), "stream", live.streams);
  drawList(byId("queries"), "query", live.queries);
  for (const [id, things, word] of [["no-streams", live.streams, "stream"], ["no-queries", live.queries, "query"]]) {
    const left = things.length - LISTED;
    byId(id).hidden = things.length > 0 && left <= 0;
    say(byId(id), things.length === 0 ? `No ${word} yet` : `and ${number(left)} more; /api/v1 lists all of them`);
  }
  byId("new-stream").hidden = byId("new-query").hidden = !live.may_change;
  if (live.panel) live.panel.draw();
  if (!live.panel || live.panel.isOver) choose();
}

// Shows what the address names. A panel has `element`, `draw`, `end`, and says by `isOver` that what it shows is gone.
function choose() {
  if (!live.hasLooked) return;
  const wanted = location.hash, [, what, name] = /^#live&([\w-]+)(?:=(.*))?$/s.exec(wanted) || [];
  const isSame = live.panel && !live.panel.isOver && live.chosen === wanted;
  if (isSame) return;
  if (live.panel) live.panel.end();
  live.chosen = wanted;
  live.panel = panelOf(what, name === undefined ? "" : decoded(name));
  detail.replaceChildren(live.panel.element);
  live.panel.draw();
  for (const kind of ["stream", "query"]) {
    for (const thing of kind === "stream" ? live.streams : live.queries) {
      const card = live.cards[kind].get(thing.name);
      if (card) drawCard(kind, thing, card);
    }
  }
}

function panelOf(what, name) {
  const stream = () => live.streams.find((stream) => stream.name === name);
  const standing = () => live.queries.find((query) => query.name === name);
  if (what === "stream" && stream()) return streamPanel(name, stream);
  if (what === "query" && standing()) return queryPanel(name, standing);
  if (what === "new-stream" && live.may_change) return newStreamPanel();
  if (what === "new-query" && live.may_change) return newQueryPanel();
  if (what === "stream" || what === "query") return gonePanel(what, name);
  // Whoever chose nothing sees the first query that answers.
  if (live.queries.length > 0) {
    history.replaceState(null, "", linkTo("query", live.queries[0].name));
    live.chosen = location.hash;
    return panelOf("query", live.queries[0].name);
  }
  return welcomePanel();
}

function welcomePanel() {
  const kind = () => JSON.stringify([live.is_writable, live.may_change, live.streams.map((stream) => stream.name), live.queries.length > 0]);
  const drawn = kind();
  return { element: welcome(live), draw() { this.isOver = kind() !== drawn; }, end() {}, isOver: false };
}

function gonePanel(what, name) {
  const box = holding("section", "teach", element("h2", what === "stream" ? "This stream is not here" : "This query is not registered"), element("p", name, "mono"),
    element("p", "It was dropped, or the server was started anew and keeps nothing of it. It is shown here again as soon as it is back.", "hint"));
  const row = holding("p", "row"), text = what === "query" ? live.texts.get(name) : undefined;
  if (text !== undefined && live.may_change) row.append(button("Register it again", () => registerText(text, name), "main"));
  row.append(button("Show what is here", () => { location.hash = "#live"; }));
  box.append(row);
  const isBack = () => (what === "stream" ? live.streams : live.queries).some((thing) => thing.name === name);
  return { element: box, draw() { this.isOver = isBack(); }, end() {}, isOver: false };
}

// A row of figures: each has a title, a value and a remark.
function figures(titles) {
  const list = element("dl", undefined, "figures"), all = {};
  for (const title of titles) {
    const value = element("dd"), remark = element("dd", "", "hint");
    list.append(holding("div", "", element("dt", title), value, remark));
    all[title] = (text, more = "") => { say(value, text); say(remark, more); };
  }
  return { list, all };
}

// Does something for a button, and shows what went wrong in a box.
function acting(box, act) {
  return async () => {
    box.hidden = true;
    try { await act(); } catch (error) { showFailure(box, error, "", null); }
  };
}

function problemBox() {
  const box = element("section", undefined, "problem");
  box.hidden = true;
  box.setAttribute("role", "alert");
  return box;
}

// A title with a state, and buttons beside it.
function panelHead(name, ...buttons) {
  const dot = element("span", undefined, "dot"), word = element("span", "", "hint");
  const head = holding("div", "head", holding("h2", "mono", name), holding("span", "state", dot, word), holding("span", "row buttons", ...buttons));
  return { head, state([text, kind]) { say(word, text); dot.className = `dot ${kind}`; } };
}

// Which view is shown. Queries are where every other address leads.
function show() {
  const isLive = /^#live(&|$)/.test(location.hash);
  byId("ask").hidden = isLive;
  byId("live").hidden = !isLive;
  for (const [id, isHere] of [["to-query", !isLive], ["to-live", isLive]]) {
    if (isHere) byId(id).setAttribute("aria-current", "page");
    else byId(id).removeAttribute("aria-current");
  }
  document.title = isLive ? "Live · Somersault" : "Somersault";
  const began = isLive && !live.isShown;
  live.isShown = isLive;
  if (began) looking();
  else if (isLive) choose();
  if (!isLive && live.panel) { live.panel.end(); live.panel = null; live.chosen = ""; detail.replaceChildren(); }
}

byId("new-stream").addEventListener("click", () => { location.hash = linkTo("new-stream"); });
byId("new-query").addEventListener("click", () => { location.hash = linkTo("new-query"); });
// On a narrow screen what was chosen is below the lists.
for (const id of ["streams", "queries"]) {
  byId(id).addEventListener("click", (event) => {
    if (event.target.closest("a") && matchMedia("(max-width: 55rem)").matches) setTimeout(() => detail.scrollIntoView({ block: "start" }), 0);
  });
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) looking(); });
// Somebody else may see and do other things.
token.addEventListener("change", () => {
  if (live.panel) live.panel.end();
  live.panel = null;
  looking();
});
