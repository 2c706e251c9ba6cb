// "Run live": the answer of a query, which then changes as the store does.
//
// The server sends the answer and after that its differences, of bags: a row that is there twice comes twice and goes
// twice. All rows are known by what they say; the first of them are drawn, and what comes is drawn above the others.
// What came or went is marked for a moment. Differences of one frame are drawn together.

// Rows that are drawn, and how long a mark is to be seen (milliseconds).
const LIVE_ROWS = 500, MARKED = 1600;
// A text that asks windows of streams is no query of the store alone.
const WINDOWED = /\b(FROM\s+NAMED\s+WINDOW|FROM\s+STREAM|REGISTER\s+(QUERY|STREAM|[RID]STREAM)|STREAM\s+<[^>]*>\s*\[)/i;

// Where a text is one for streams, the problem says where it belongs.
function offerRegistering(text) {
  if (!WINDOWED.test(text)) return;
  const there = holding("p", "row", button("Register it as a standing query", () => registerText(text), "main"),
    element("span", "It asks windows of streams, so it is answered again and again as they close.", "hint"));
  problem.append(there);
}

function liveTable(names) {
  const rows = new Map(), body = element("tbody");
  const about = element("p", "", "hint"), scroll = scrolling(holding("table", "live", headings(names.map((name) => `?${name}`)), body));
  let total = 0, leaving = new Set();
  result.replaceChildren(about, scroll);

  function draw(binding) {
    const line = element("tr");
    for (const name of names) line.append(cell(binding[name]));
    return line;
  }
  function add(binding, isNews) {
    const key = JSON.stringify(binding);
    const known = rows.get(key) || { binding, lines: [], hidden: 0 };
    rows.set(key, known);
    total += 1;
    if (!isNews && body.childElementCount >= LIVE_ROWS) { known.hidden += 1; return; }
    const line = draw(binding);
    known.lines.push(line);
    line.known = known;
    if (!isNews) { body.append(line); return; }
    marked(line, "came");
    body.prepend(line);
    if (body.childElementCount <= LIVE_ROWS + leaving.size) return;
    const least = body.lastElementChild;
    least.remove();
    if (!leaving.delete(least)) {
      least.known.lines.splice(least.known.lines.indexOf(least), 1);
      least.known.hidden += 1;
    }
  }
  function remove(binding) {
    const key = JSON.stringify(binding), known = rows.get(key);
    if (!known) return;
    total -= 1;
    if (known.hidden > 0) known.hidden -= 1;
    else {
      const line = known.lines.pop();
      leaving.add(line);
      line.classList.remove("came");
      line.classList.add("went");
      setTimeout(() => { if (leaving.delete(line)) line.remove(); fillUp(); tell(); }, MARKED);
    }
    if (known.lines.length === 0 && known.hidden === 0) rows.delete(key);
  }
  // Rows that were not drawn take the place of those that went.
  function fillUp() {
    const drawn = body.childElementCount - leaving.size;
    if (drawn >= Math.min(LIVE_ROWS, total)) return;
    let room = Math.min(LIVE_ROWS, total) - drawn;
    for (const known of rows.values()) {
      for (; known.hidden > 0 && room > 0; room -= 1) {
        const line = draw(known.binding);
        line.known = known;
        known.hidden -= 1;
        known.lines.push(line);
        body.append(line);
      }
      if (room === 0) return;
    }
  }
  function marked(line, name) {
    line.classList.add(name);
    setTimeout(() => line.classList.remove(name), MARKED);
  }
  function tell() {
    const drawn = body.childElementCount - leaving.size;
    say(about, total > drawn ? `${number(drawn)} of ${count(total, "row")} are shown; what comes is above.` : total === 0 ? "No row yet." : "");
    about.hidden = about.textContent === "";
  }
  return {
    change(added, removed, isNews) {
      for (const binding of removed) remove(binding);
      for (const binding of added) add(binding, isNews);
      tell();
    },
    seen: () => count(total, "row"),
  };
}

// The answer of an ASK.
function liveTruth() {
  const said = element("p", "", "truth");
  result.replaceChildren(said);
  return {
    show(isSo, isNews) {
      say(said, isSo ? "Yes (true)" : "No (false)");
      if (!isNews) return;
      mark(said, "came", true);
      setTimeout(() => mark(said, "came", false), MARKED);
    },
    seen: () => said.textContent,
  };
}

// Shows an event of a subscription; gives the view that it is in then.
function showChange(change, view) {
  const isNews = change.type === "difference";
  if (!isNews || view === null) view = change.boolean === undefined ? liveTable(change.head.vars) : liveTruth();
  if (change.boolean !== undefined) view.show(change.boolean, isNews);
  else if (isNews) view.change(change.added.bindings, change.removed.bindings, true);
  else view.change(change.results.bindings, [], false);
  return view;
}

function runLive() {
  const text = query.value;
  last = null;
  save.hidden = true;
  result.replaceChildren();
  history.replaceState(null, "", `#query=${encodeURIComponent(text)}`);
  doing("Asking…", async (job) => {
    let view = null, changes = 0, waiting = [], drawing = 0;
    const live = () => { if (running === job) say(state, "Live: the answer changes here as the store does."); };
    const drawn = () => {
      drawing = 0;
      if (running !== job) return;
      for (const change of waiting.splice(0)) view = showChange(change, view);
      job.seen = `${view.seen()} · ${changes === 0 ? "no change yet" : `${count(changes, "change")}, the last at ${moment(Date.now())}`}`;
    };
    let why = null;
    await follow("/api/v1/subscribe", { method: "POST", body: text, headers: { "Content-Type": "application/sparql-query" } }, {
      open: live,
      lost: (wait) => { if (running === job) say(state, `The connection was lost; trying again in ${span(wait)}…`); },
      refused: (error) => { why = error; },
      event(event) {
        if (event.type === "ended") {
          const told = JSON.parse(event.data);
          why = new Failure("The live query has ended", told.detail, told.hint ? [told.hint] : []);
          return false;
        }
        const change = JSON.parse(event.data);
        // A whole answer makes what was to be drawn before it needless.
        if (change.type === "answer") waiting = [];
        else changes += 1;
        waiting.push(change);
        if (!drawing) drawing = requestAnimationFrame(drawn);
        live();
        return true;
      },
    }, job.control.signal);
    job.control.signal.throwIfAborted();
    state.textContent = `${why instanceof Refusal ? "Failed" : "Ended"} after ${time(performance.now() - job.begun)}.`;
    if (why === null) return;
    showFailure(problem, why, text, query);
    if (why instanceof Refusal) offerRegistering(text);
  });
}

byId("run-live").addEventListener("click", runLive);
