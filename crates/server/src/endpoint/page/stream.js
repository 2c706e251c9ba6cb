// One stream: its figures, who brings it items and who reads it, pushing by hand; and making a new one.

function streamPanel(name, current) {
  const told = problemBox();
  const drop = confirmed("Drop", "Really drop it?", acting(told, async () => {
    await call("DELETE", `/api/v1/streams/${encodeURIComponent(name)}`);
    location.hash = "#live";
    await look();
  }));
  const { head, state } = panelHead(name, drop);
  const { list, all } = figures(["Flow", "Last item", "Watermark", "Sealed up to", "Late", "Rejected", "Held", "Sources"]);
  list.classList.add("wide");
  const meter = element("meter");
  meter.max = 1;
  meter.high = 0.9;
  meter.setAttribute("aria-label", "Share of the budget that is held");
  list.children[6].append(meter);
  const settings = element("p", "", "hint"), sources = element("tbody"), readers = holding("p", "readers");
  const sourceTable = holding("div", "", element("h3", "Sources, the slowest first"), scrolling(holding("table", "", headings(["Source", "Watermark", "Behind the clock", "State"]), sources)));
  const push = pushForm(name, current), feeding = feedingRow(name);
  const box = holding("section", "panel", head, told, list, settings, readers, feeding.element, sourceTable, push.element);
  let drawnReaders = "";

  function draw() {
    const stream = current();
    panel.isOver = stream === undefined;
    if (panel.isOver) return;
    const now = serverNow(), behind = (at) => at === 0 ? "" : now - at < 50 ? "with the clock" : `${span(now - at)} behind the clock`;
    state(streamState(stream));
    all.Flow(rateWords(stream), `${count(stream.items, "item")} since the server began`);
    all["Last item"](stream.last_arrival === null ? "none yet" : `${span(now - stream.last_arrival)} ago`, stream.last_arrival === null ? "" : `came at ${moment(stream.last_arrival, true)}`);
    all.Watermark(stream.watermark === 0 ? "none yet" : moment(stream.watermark, true), behind(stream.watermark));
    all["Sealed up to"](stream.settled === 0 ? "nothing yet" : moment(stream.settled, true), stream.settled === 0 ? "" : `${behind(stream.settled)}, in batches of ${stream.grain.replace("ms", " ms")}`);
    all.Late(number(stream.late), stream.late === 0 ? "all came in time" : "came after their batch was sealed");
    all.Rejected(number(stream.rejected), stream.rejected === 0 ? "all could be read" : "could not be read");
    all.Held(size(stream.held_bytes), `of ${stream.budget_bytes > 2 ** 50 ? "no budget" : size(stream.budget_bytes)}`);
    meter.value = Math.min(1, stream.held_bytes / stream.budget_bytes);
    all.Sources(number(stream.source_count), stream.idle_source_count === 0 ? "all active" : `${number(stream.idle_source_count)} silent, so not waited for`);
    say(settings, settingsOf(stream));
    drawSources(stream, now);
    drawReaders(stream);
    drop.hidden = !live.may_change || name.endsWith("/late");
    push.element.hidden = !live.may_change;
    feeding.draw();
  }

  function drawSources(stream, now) {
    sourceTable.hidden = stream.sources.length === 0;
    stream.sources.forEach((source, place) => {
      if (!sources.children[place]) sources.append(holding("tr", "", element("td"), element("td"), element("td"), element("td")));
      const promise = stream.arrival_time ? ["the clock's", "no"] : source.watermark === 0 ? ["none yet", ""] : [moment(source.watermark, true), span(now - source.watermark)];
      const texts = [source.name, ...promise, source.is_idle ? "silent" : "active"];
      texts.forEach((text, column) => say(sources.children[place].children[column], text));
    });
    while (sources.childElementCount > stream.sources.length) sources.lastElementChild.remove();
  }

  function drawReaders(stream) {
    const names = stream.queries.slice(0, 20);
    if (JSON.stringify(stream.queries) === drawnReaders) return;
    drawnReaders = JSON.stringify(stream.queries);
    readers.replaceChildren(names.length === 0 ? "No query reads it yet." : "Read by ");
    names.forEach((query, place) => {
      const link = element("a", query);
      link.href = linkTo("query", query);
      readers.append(place === 0 ? "" : ", ", link);
    });
    if (stream.queries.length > names.length) readers.append(` and ${number(stream.queries.length - names.length)} more`);
    if (live.may_change) readers.append(" ", button("Ask it something", () => registerText(examplesFor(name)[0][2], examplesFor(name)[0][0]), "small"));
  }

  const panel = { element: box, draw, end() {}, isOver: false };
  return panel;
}

// What a stream was made to be, in a sentence.
function settingsOf(stream) {
  const words = (text) => text.replace(/^(\d+)ms$/, (_, millis) => lengthWords(Number(millis)));
  const stored = stream.absorb === "none" ? "nothing of it is stored"
    : `${stream.absorb === "all" ? "all of it is" : `${count(stream.absorb.length, "predicate")} of it ${stream.absorb.length === 1 ? "is" : "are"}`} stored in ${stream.into === null ? "the default graph" : `<${stream.into}>`}`;
  const idle = stream.idle === "never" ? "sources are waited for without end" : `a source is not waited for after ${words(stream.idle)} of silence`;
  return `Batches of ${words(stream.grain)}; ${stream.lateness === "0ms" ? "no lateness" : `items may be ${words(stream.lateness)} late`}; ${stream.arrival_time ? "items have the time of their arrival" : "items bring their time"}; ${idle}; ${stored}.`;
}

// For our own example: whether this page pushes.
function feedingRow(name) {
  const about = element("span", "", "hint"), act = button("", () => { if (feeder.isOn) feeder.end(); else feeder.begin(); row.draw(); }, "small");
  const line = holding("p", "row feeding", act, about);
  const row = {
    element: line,
    draw() {
      line.hidden = name !== ROOMS || !live.may_change;
      say(act, feeder.isOn ? "Stop pushing" : "Push readings from this page");
      say(about, feeder.isOn ? `This page pushes four readings every half second; ${number(feeder.pushed)} so far.` : feeder.failed && `It was refused: ${feeder.failed}`);
    },
  };
  return row;
}

function labelled(text, field, hint) {
  field.id = field.id || `field-${labelled.made = (labelled.made || 0) + 1}`;
  const label = element("label", text);
  label.htmlFor = field.id;
  return holding("span", "field", label, field, hint ? element("span", hint, "hint") : null);
}

function input(value, placeholder) {
  const made = element("input");
  Object.assign(made, { value, placeholder: placeholder || "", autocomplete: "off", spellcheck: false });
  return made;
}

function textarea(text, rows) {
  const made = element("textarea", text);
  Object.assign(made, { spellcheck: false, autocapitalize: "off", autocomplete: "off", rows });
  return made;
}

// Items by hand: what is pushed together is one item.
function pushForm(name, current) {
  const sample = name === CAMPUS ? "<urn:me> <urn:enters> <http://www.Department0.University0.edu/GraduateCourse0> ."
    : name === ROOMS ? "<urn:room:attic> <urn:temperature> 27.5 ." : "<urn:me> <urn:says> \"hello\" .";
  const text = textarea(sample.replace(/(\d+\.\d) \.$/, '"$1"^^<http://www.w3.org/2001/XMLSchema#decimal> .'), 3);
  const source = input("", "page"), at = input("", "now"), said = element("p", "", "hint"), told = problemBox();
  said.setAttribute("role", "status");
  const details = holding("details", "", element("summary", "Source and time"), holding("div", "row",
    labelled("Source", source), labelled("Time", at, "milliseconds since 1970")));
  at.inputMode = "numeric";
  const send = button("Push", acting(told, pushed), "main");
  const form = holding("form", "push", element("h3", "Push by hand"), labelledBlock("An item: statements, one a line (N-Quads)", text), holding("div", "row", send, details), said, told);
  form.addEventListener("submit", (event) => { event.preventDefault(); send.click(); });
  onRun(text, () => send.click());

  // Who says it, and for when. A hand is not to promise more for a source than it did itself, nor to hold the stream
  // back: so it speaks for the slowest source that is active, at the moment up to which the stream has come.
  function delivery(stream) {
    const active = stream.sources.filter((source) => !source.is_idle);
    const given = { source: source.value.trim() || (stream.arrival_time || active.length === 0 ? "page" : active[0].name) };
    if (at.value.trim()) given.time = at.value.trim();
    else if (!stream.arrival_time) given.time = active.length === 0 ? Math.round(serverNow()) : Math.max(stream.watermark, stream.settled);
    return given;
  }
  async function pushed() {
    say(said, "");
    const stream = current();
    if (!stream) return;
    const account = await call("POST", itemsOf(name, delivery(stream)), { body: `${text.value.trim()}\n`, type: "application/n-quads" });
    const parts = [`${count(account.taken, "item")} taken`, account.late > 0 ? `${number(account.late)} late` : "", account.rejected > 0 ? `${number(account.rejected)} rejected` : ""];
    say(said, `${parts.filter(Boolean).join(", ")}, at ${moment(Date.now())}.`);
    if (account.rejected > 0) showProblem(told, "Not all could be read", "What could be read was taken.", account.rejections.slice(0, 5).map((one) => `Line ${one.line}, column ${one.column}: ${one.message}`));
    looking();
  }
  return { element: form };
}

function labelledBlock(text, field) {
  const made = labelled(text, field);
  made.className = "block";
  return made;
}

// Ctrl or Cmd with Enter in a text does what its button does.
function onRun(field, act) {
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); act(); }
  });
}

function newStreamPanel() {
  const name = input("", "http://example.org/stream"), grain = input("100ms"), late = input("0ms"), idle = input("5s"), budget = input("", "the usual one");
  const stored = element("select"), arrival = element("input"), told = problemBox();
  for (const [value, label] of [["none", "Nothing of it"], ["all", "All of it, in the default graph"]]) {
    const option = element("option", label);
    option.value = value;
    stored.append(option);
  }
  Object.assign(arrival, { type: "checkbox", checked: true });
  const make = button("Make it", acting(told, async () => {
    const given = { name: name.value.trim(), grain: grain.value, lateness: late.value, idle: idle.value, absorb: stored.value, arrival_time: arrival.checked };
    if (budget.value.trim()) given.budget = budget.value.trim();
    const made = await call("POST", "/api/v1/streams", { body: JSON.stringify(given) });
    await look();
    location.hash = linkTo("stream", made.name);
  }), "main");
  const form = holding("form", "panel define", element("h2", "A new stream"),
    labelled("Name", name, "an IRI"), labelled("Stored", stored, "what flows in may become part of the graph"),
    labelled("Items have the time of their arrival", arrival, "else each brings its own"),
    labelled("Grain", grain, "how long a batch is; windows are whole batches"), labelled("Lateness", late, "how late an item may be"),
    labelled("Idle", idle, "how long a silent source is waited for; or never"), labelled("Budget", budget, "what it may hold, 256MiB for instance"),
    holding("p", "row", make, element("span", "Then push to it by hand, with POST …/items, or with somersault stream push.", "hint")), told);
  form.addEventListener("submit", (event) => { event.preventDefault(); make.click(); });
  form.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.tagName === "INPUT") { event.preventDefault(); make.click(); } });
  setTimeout(() => name.focus(), 0);
  return { element: form, draw() {}, end() {}, isOver: false };
}
