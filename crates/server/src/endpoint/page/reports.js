// The reports of a registered query, as they come.
//
// All that comes within a moment is drawn at once, some eight times a second at most. A row keeps its element for as long
// as it is there. A row that was not in the report before is marked as one that came, one that is not any more as one
// that went; rows that differ in their numbers alone are one row whose numbers changed.
// Marks stay until the next report, and for a while even where reports come faster than one can read.
//
// Bounded: the last N reports are kept, the last 60 drawn as bars, at most 500 rows drawn.

// Between two drawings and as long as a mark is seen (milliseconds); rows drawn, and of one report in the list of all.
const DRAWN_EVERY = 120, MARK_SEEN = 700, ROWS_DRAWN = 500, GONE_DRAWN = 50, ROWS_EACH = 100, BARS = 60, REPORTS_KEPT = [20, 100, 500];

// A report as it is kept: rows with their keys, and how they differ from those of the report before.
function readReport(id, text, before) {
  const told = JSON.parse(text);
  const report = {
    number: Number(id), close: told.close, error: told.error, truth: told.boolean, revision: told.revision || 0, instance: told.instance,
    incomplete: told.window_incomplete, names: (told.head && told.head.vars) || [], rows: [], removed: told.removed || [], came: 0, went: [], changed: 0, at: performance.now(),
  };
  const bindings = (told.results && told.results.bindings) || [];
  report.rows = bindings.map((binding) => rowOf(report.names, binding));
  report.removed = report.removed.map((binding) => rowOf(report.names, binding));
  report.texts = new Set(report.rows.map((row) => row.text));
  // A key that several rows have tells none of them.
  report.known = new Map();
  for (const row of report.rows) report.known.set(row.key, report.known.has(row.key) ? null : row);
  const isComparable = before && before.error === undefined && report.revision === 0 && before.revision === 0 && report.truth === undefined;
  if (isComparable) compare(report, before);
  return report;
}

// What tells a row from others: all but its numbers.
const keyOf = (names, binding) => JSON.stringify(names.map((name) => {
  const term = binding[name];
  return term === undefined ? 0 : isNumeric(term) ? 1 : term;
}));

const rowOf = (names, binding) => ({ binding, text: JSON.stringify(binding), key: keyOf(names, binding), was: null, isNew: false, hasChanged: false });

function compare(report, before) {
  for (const row of report.rows) {
    const other = report.known.get(row.key) && before.known.get(row.key);
    if (other) {
      row.was = other.binding;
      row.hasChanged = row.text !== other.text;
      report.changed += Number(row.hasChanged);
    } else {
      row.isNew = !before.texts.has(row.text);
      report.came += Number(row.isNew);
    }
  }
  // A row that went is shown where it was: behind the row before it that is still there.
  let after = null;
  report.went = [];
  for (const row of before.rows) {
    const isThere = report.texts.has(row.text) || (before.known.get(row.key) && report.known.get(row.key));
    if (isThere) after = row.key;
    else report.went.push({ ...row, after });
  }
}

// Whether IRIs are shown by their last part, for all queries alike.
let isFolded = true;

function reportsView(query) {
  const control = new AbortController(), isLog = { on: query.relation !== "RSTREAM" && query.form !== "ASK" };
  let kept = [], keep = REPORTS_KEPT[1], chosen = null, isPaused = false, isDrawn = false, timer = 0, drawnAt = 0, more = 0, arrived = 0;
  const connection = element("span", "connecting…", "hint"), said = element("span"), aside = element("span", "", "hint"), about = holding("p", "about", said, " ", aside);
  const table = reportTable(query), log = reportLog(query), bars = reportBars((report) => pin(report)), truth = element("p", "", "truth");
  connection.setAttribute("role", "status");
  const turn = button("Pause the view", () => { if (isPaused) go(); else pin(kept[kept.length - 1]); });
  const earlier = button("‹ Earlier", () => step(-1)), later = button("Later ›", () => step(1));
  const switched = button("", () => { isLog.on = !isLog.on; isDrawn = false; go(); });
  const whole = button("Whole IRIs", () => fold(!isFolded), "");
  const limit = element("select");
  for (const most of REPORTS_KEPT) limit.append(holding("option", "", String(most)));
  limit.value = String(keep);
  limit.addEventListener("change", () => { keep = Number(limit.value); kept = kept.slice(-keep); soon(); });
  function fold(folded) {
    isFolded = folded;
    whole.setAttribute("aria-pressed", String(!folded));
    mark(table.element, "folded", folded);
    mark(log.element, "folded", folded);
  }
  fold(isFolded);
  switched.hidden = query.form === "ASK";
  const box = holding("section", "reports", holding("div", "head", element("h3", "Reports"), connection,
    holding("span", "row buttons", turn, earlier, later, switched, whole, labelled("Keep", limit))), bars.element, about, truth, table.element, log.element);

  // Shows one report and goes on gathering.
  function pin(report) {
    if (!report) return;
    if (!isPaused) arrived = 0;
    isPaused = true;
    chosen = report.number;
    soon();
  }
  function go() {
    isPaused = false;
    chosen = null;
    soon();
  }
  function step(by) {
    const place = kept.findIndex((report) => report.number === shown().number) + by;
    if (place >= kept.length) go();
    else pin(kept[Math.max(0, place)]);
  }
  const shown = () => (isPaused && kept.find((report) => report.number === chosen)) || kept[kept.length - 1];

  function take(event) {
    if (event.type === "gone") { view.isOver = true; say(connection, "The query is not registered any more."); return false; }
    if (event.type === "missed") { more += JSON.parse(event.data).missed; return true; }
    const before = kept[kept.length - 1];
    // Numbers begin anew where the server does and keeps nothing.
    if (before && Number(event.id) <= before.number) { kept = []; log.clear(); }
    const report = readReport(event.id, event.data, kept[kept.length - 1]);
    // What fades would never have faded.
    const isFast = kept.length > 0 && report.at - kept[kept.length - 1].at < MARK_SEEN;
    mark(table.element, "fast", isFast);
    kept.push(report);
    if (kept.length > keep) kept.splice(0, kept.length - keep);
    if (isPaused) arrived += 1;
    else log.take(report);
    soon();
    return true;
  }

  function soon() {
    if (timer) return;
    timer = setTimeout(() => requestAnimationFrame(draw), Math.max(0, drawnAt + DRAWN_EVERY - performance.now()));
  }

  function draw() {
    timer = 0;
    drawnAt = performance.now();
    if (control.signal.aborted) return;
    const report = shown();
    say(turn, isPaused ? "Go on" : "Pause the view");
    mark(turn, "main", isPaused);
    turn.disabled = earlier.disabled = !report;
    later.disabled = !isPaused;
    say(switched, isLog.on ? "Show the latest report" : "Show all as they come");
    bars.draw(kept.slice(-BARS), report, isPaused);
    if (!report) { say(said, query.reports === 0 ? "It has not reported yet: a report comes when a window closes." : ""); return; }
    const isList = isLog.on && !isPaused;
    table.element.hidden = isList || report.truth !== undefined || report.error !== undefined;
    log.element.hidden = !isList || report.truth !== undefined;
    truth.hidden = report.truth === undefined && report.error === undefined;
    say(said, wordsOf(report, query));
    const asides = [isPaused ? `Paused${arrived > 0 ? `; ${count(arrived, "report")} came since` : ""}.` : "", report.incomplete === undefined ? "" : `Its window lacks what came before ${moment(report.incomplete, true)}, which was not kept.`,
      more > 0 ? `${count(more, "report")} before these were let go.` : ""];
    say(aside, asides.filter(Boolean).join(" "));
    if (report.error !== undefined) say(truth, report.error);
    else if (report.truth !== undefined) say(truth, `${report.truth ? "Yes (true)" : "No (false)"}${sinceWhen(kept, report)}`);
    mark(truth, "failure", report.error !== undefined);
    if (isList) log.draw();
    else if (report.truth === undefined && report.error === undefined && table.draw(report, isPaused)) setTimeout(soon, MARK_SEEN);
  }

  // The last reports alone are asked for; then each as it comes.
  const after = Math.max(0, query.reports - BARS);
  follow(`/api/v1/continuous/${encodeURIComponent(query.name)}/reports?after=${after}`, {}, {
    open: () => say(connection, "live"),
    lost: () => say(connection, "lost, trying again…"),
    refused: (error) => say(connection, error.message),
    event: take,
  }, control.signal).catch((error) => say(connection, `This page failed: ${error.message}`));
  draw();
  const view = { element: box, end() { control.abort(); clearTimeout(timer); }, isOver: false };
  return view;
}

// Since when the answer of an ASK is what it is, as far as that is known here.
function sinceWhen(kept, report) {
  let place = kept.indexOf(report);
  while (place > 0 && kept[place - 1].truth === report.truth) place -= 1;
  return place < 0 || kept[place] === report ? "" : `, since ${moment(kept[place].close, true)} or earlier`.replace(place > 0 ? " or earlier" : "", "");
}

// What is said of a report.
function wordsOf(report, query) {
  const what = query.form === "CONSTRUCT" || query.form === "DESCRIBE" ? "triple" : "row";
  const parts = [`Closed ${moment(report.close, true)}`];
  if (report.instance !== undefined) parts.push(report.instance);
  if (report.revision > 0) parts.push(`revision ${report.revision}`);
  if (report.truth === undefined && report.error === undefined) {
    const changes = [report.came > 0 ? `${number(report.came)} came` : "", report.went.length > 0 ? `${number(report.went.length)} went` : "", report.changed > 0 ? `${number(report.changed)} changed` : "",
      report.removed.length > 0 ? `${number(report.removed.length)} taken back` : ""].filter(Boolean);
    parts.push(count(report.rows.length, what) + (changes.length > 0 && query.relation === "RSTREAM" ? ` (${changes.join(", ")})` : ""));
  }
  parts.push(`report ${number(report.number)}`);
  return `${parts.join(" · ")}.`;
}

const isGraph = (query) => query.form === "CONSTRUCT" || query.form === "DESCRIBE";
const namesOf = (report, query) => isGraph(query) ? ["Triples"] : report.names.map((name) => `?${name}`);

// Draws a row over what is in a line. `was`: the same row before, whose other numbers are marked.
function drawRow(line, sign, names, row, query) {
  const cells = isGraph(query) ? 2 : names.length + 1;
  while (line.childElementCount < cells) line.append(element("td"));
  while (line.childElementCount > cells) line.lastElementChild.remove();
  const first = line.firstElementChild;
  first.className = "sign";
  say(first, sign);
  if (line.drawn === row.text) return;
  line.drawn = row.text;
  if (isGraph(query)) {
    const parts = names.flatMap((name) => [...cell(row.binding[name]).childNodes, " "]);
    line.children[1].replaceChildren(...parts, ".");
  } else names.forEach((name, column) => fill(line.children[column + 1], row.binding[name]));
}

// One report as a table.
function reportTable(query) {
  const body = element("tbody"), table = holding("table", "live"), scroll = scrolling(table), rest = element("p", "", "hint");
  // When a row came and when a number of it changed, by what it says; rows that went, with when they did.
  const since = new Map();
  let headed = "", gone = [], last = null, tall = 0, wanted = [], lines = new Map();
  const isFresh = (mark, now) => now - (since.get(mark) || -MARK_SEEN) < MARK_SEEN;
  function head(report) {
    const names = ["", ...namesOf(report, query)], key = JSON.stringify(names);
    if (key === headed) return;
    headed = key;
    const top = headings(names);
    top.firstElementChild.firstElementChild.replaceChildren(element("span", "Change", "unseen"));
    table.replaceChildren(top, body);
  }
  // The title of numbers stands where they do.
  function headNumbers(terms) {
    terms.forEach((term, column) => {
      const title = table.tHead.rows[0].cells[column + 1], isNumber = Boolean(term && isNumeric(term));
      if (title.classList.contains("number") !== isNumber) mark(title, "number", isNumber);
    });
  }
  // Notes what is new in a report that was not drawn yet.
  function note(report, now) {
    if (last === report.number) return;
    last = report.number;
    for (const row of report.rows) {
      if (row.isNew) since.set(row.key, now);
      if (!row.hasChanged) continue;
      for (const name of report.names) if (differs(row, name)) since.set(`${row.key} ${name}`, now);
    }
    gone = gone.filter(({ row }) => !report.texts.has(row.text) && !report.known.has(row.key));
    gone = [...gone, ...report.went.map((row) => ({ row, at: now }))].slice(-GONE_DRAWN);
  }
  function forget(report, isPaused, now) {
    for (const [mark, at] of since) if (now - at >= MARK_SEEN) since.delete(mark);
    gone = gone.filter(({ row, at }) => report.went.includes(row) || (!isPaused && now - at < MARK_SEEN));
  }
  // Rows in the order in which they are shown: those of the report, and what went behind what it followed.
  function arrange(report) {
    const behind = new Map(), went = [...gone.map(({ row }) => row), ...report.removed].slice(-GONE_DRAWN);
    for (const row of went) {
      const after = report.known.has(row.after) ? row.after : null;
      behind.set(after, [...(behind.get(after) || []), { ...row, isGone: true }]);
    }
    wanted = [...(behind.get(null) || [])];
    for (const row of report.rows.slice(0, ROWS_DRAWN)) {
      wanted.push(row);
      const followers = behind.get(row.key);
      if (followers && behind.delete(row.key)) wanted.push(...followers);
    }
    for (const [after, rows] of behind) if (after !== null) wanted.push(...rows);
    place(report);
  }
  // Gives each row its element, and puts those in order.
  function place(report) {
    const now = new Map(), seen = new Map();
    wanted.forEach((row, at) => {
      const name = row.isGone ? `- ${row.text}` : report.known.get(row.key) ? row.key : row.text;
      const copies = seen.get(name) || 0;
      seen.set(name, copies + 1);
      row.line = `${name} ${copies}`;
      const line = lines.get(row.line) || element("tr");
      lines.delete(row.line);
      now.set(row.line, line);
      if (body.children[at] !== line) body.insertBefore(line, body.children[at] || null);
    });
    while (body.childElementCount > wanted.length) body.lastElementChild.remove();
    lines = now;
  }
  function lineOf(row, name) {
    const line = lines.get(row.line);
    if (line.className !== name) line.className = name;
    return line;
  }
  return {
    element: holding("div", "table", scroll, rest),
    // Draws a report; gives whether marks are to be taken away later.
    draw(report, isPaused) {
      const now = performance.now();
      head(report);
      note(report, now);
      forget(report, isPaused, now);
      arrange(report);
      for (const row of report.rows.slice(0, ROWS_DRAWN)) {
        const came = row.isNew || (!isPaused && isFresh(row.key, now)), drawn = lineOf(row, came ? "came" : "");
        drawRow(drawn, came ? "+" : "", report.names, row, query);
        if (isGraph(query)) continue;
        if (row === report.rows[0]) headNumbers(report.names.map((name) => row.binding[name]));
        report.names.forEach((name, column) => {
          const isMarked = differs(row, name) || (!isPaused && isFresh(`${row.key} ${name}`, now));
          markNumber(drawn.children[column + 1], isMarked && !came, row.was && row.was[name]);
        });
      }
      for (const row of wanted.filter((row) => row.isGone)) drawRow(lineOf(row, "went"), "−", report.names, row, query);
      const place = wanted.length;
      // What is below does not move up and down with each report.
      if (scroll.offsetHeight > tall) { tall = scroll.offsetHeight; scroll.style.minHeight = `${tall}px`; }
      const left = report.rows.length - ROWS_DRAWN;
      say(rest, left > 0 ? `and ${count(left, "row")} more` : place === 0 ? "No row." : "");
      rest.hidden = rest.textContent === "";
      return since.size > 0 || gone.length > 0;
    },
  };
}

// Whether a number of a row is another one than before.
function differs(row, name) {
  const before = row.was && row.was[name], now = row.binding[name];
  return Boolean(before && now && before.value !== now.value);
}

function markNumber(made, isMarked, was) {
  if (made.classList.contains("changed") !== isMarked) mark(made, "changed", isMarked);
  const title = isMarked && was ? `was ${was.value}` : "";
  if (made.title !== title) made.title = title;
}

// The rows of all reports, the latest first.
function reportLog(query) {
  const body = element("tbody"), table = holding("table", "live"), scroll = scrolling(table);
  let waiting = [], headed = "";
  const sign = query.relation === "DSTREAM" ? "−" : "+";
  return {
    element: scroll,
    take(report) {
      waiting.push(report);
      // More than can be drawn is not kept.
      if (waiting.length > ROWS_DRAWN) waiting.shift();
    },
    clear() { waiting = []; body.replaceChildren(); },
    draw() {
      const fresh = document.createDocumentFragment();
      for (const report of waiting.splice(0)) {
        const names = ["", "Close", ...namesOf(report, query)], key = JSON.stringify(names);
        if (key !== headed && report.error === undefined) {
          headed = key;
          body.replaceChildren();
          const top = headings(names);
          top.firstElementChild.firstElementChild.replaceChildren(element("span", "Change", "unseen"));
          table.replaceChildren(top, body);
        }
        const lines = report.rows.slice(0, ROWS_EACH).map((row) => {
          const line = element("tr", undefined, "fresh");
          drawRow(line, query.relation === "RSTREAM" ? "" : sign, report.names, row, query);
          line.insertBefore(element("td", moment(report.close, true), "when"), line.children[1]);
          return line;
        });
        const left = report.rows.length - ROWS_EACH;
        if (left > 0) lines.push(noteLine(report, `and ${count(left, "row")} more of this report`, names.length));
        if (report.error !== undefined) lines.push(noteLine(report, report.error, names.length));
        fresh.prepend(...lines);
      }
      if (!fresh.hasChildNodes()) return;
      for (const line of body.querySelectorAll(".fresh")) line.classList.remove("fresh");
      body.prepend(fresh);
      while (body.childElementCount > ROWS_DRAWN) body.lastElementChild.remove();
    },
  };
}

function noteLine(report, text, columns) {
  const said = element("td", text, "hint");
  said.colSpan = Math.max(1, columns - 2);
  return holding("tr", "", element("td", "", "sign"), element("td", moment(report.close, true), "when"), said);
}

// The last reports as bars, as high as they have rows; one that is clicked is shown.
function reportBars(pin) {
  const drawing = document.createElementNS(SVG, "svg"), bars = [];
  drawing.setAttribute("class", "bars");
  drawing.setAttribute("viewBox", `0 0 ${BARS * 10} 40`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("role", "img");
  let reports = [];
  for (let place = 0; place < BARS; place += 1) {
    const bar = document.createElementNS(SVG, "rect");
    bar.setAttribute("x", String(place * 10 + 1));
    bar.setAttribute("width", "8");
    bars.push(bar);
    drawing.append(bar);
  }
  drawing.addEventListener("click", (event) => {
    const { left, width } = drawing.getBoundingClientRect();
    const place = Math.floor((event.clientX - left) / width * BARS) - (BARS - reports.length);
    if (reports[place]) pin(reports[place]);
  });
  const rowsOf = (report) => report.error !== undefined ? 0 : report.truth === undefined ? report.rows.length : Number(report.truth);
  return {
    element: drawing,
    draw(now, shown, isPaused) {
      reports = now;
      const most = Math.max(1, ...reports.map(rowsOf)), empty = BARS - reports.length;
      drawing.setAttribute("aria-label", `The last ${count(reports.length, "report")}, at most ${count(most, "row")}`);
      bars.forEach((bar, place) => {
        const report = reports[place - empty];
        const height = report ? 3 + 37 * rowsOf(report) / most : 0;
        bar.setAttribute("y", (40 - height).toFixed(1));
        bar.setAttribute("height", height.toFixed(1));
        bar.setAttribute("class", report && report === shown && isPaused ? "shown" : report && report.error !== undefined ? "failed" : "");
      });
    },
  };
}
