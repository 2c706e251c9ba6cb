// One registered query: how it stands, its text and plan, its reports; and registering a new one.

// What is to be registered next: a text from the view of queries, an example, or a copy.
let drafted = { name: "", text: "" };

function registerText(text, name = "") {
  drafted = { name, text };
  if (location.hash === linkTo("new-query")) { live.panel.isOver = true; draw(); } else location.hash = linkTo("new-query");
}

function queryPanel(name, current) {
  const told = problemBox(), address = `/api/v1/continuous/${encodeURIComponent(name)}`;
  const turn = button("", acting(told, async () => {
    await call("POST", `${address}/${current().paused ? "resume" : "pause"}`);
    await look();
  }));
  const drop = confirmed("Drop", "Really drop it?", acting(told, async () => {
    await call("DELETE", address);
    location.hash = "#live";
    await look();
  }));
  const copy = button("Change a copy", () => registerText(current().text || "", `${name}-2`));
  const { head, state } = panelHead(name, turn, copy, drop);
  const { list, all } = figures(["Last close", "Answer", "Evaluation", "After its close", "Reports"]);
  const windows = holding("p", "hint windows"), failure = element("p", "", "failure");
  const text = element("pre"), plan = element("pre", "…");
  const texts = holding("details", "", element("summary", "Text"), text), plans = holding("details", "", element("summary", "Plan"), plan);
  plans.addEventListener("toggle", async () => {
    if (!plans.open) return;
    try { say(plan, (await call("GET", address)).plan || "It was not evaluated yet."); } catch (error) { say(plan, error.message); }
  });
  const first = current(), reports = reportsView(first);
  failure.setAttribute("role", "status");
  const box = holding("section", "panel", head, told, list, windows, failure, reports.element, texts, plans);
  say(text, first.text || "It was registered without a text.");
  copy.disabled = !first.text;
  let drawnWindows = "";

  function draw() {
    const query = current();
    // One that was dropped and registered again is another one.
    panel.isOver = query === undefined || reports.isOver;
    if (panel.isOver) return;
    const last = query.last, close = last ? last.close : query.close;
    state(queryState(query));
    for (const made of [turn, copy, drop]) made.hidden = !live.may_change;
    say(turn, query.paused ? "Resume" : "Pause");
    all["Last close"](close === null ? "none yet" : moment(close, true), close === null ? "no window was whole so far" : "");
    all.Answer(last === null ? "…" : query.form === "ASK" ? (last.rows ? "Yes" : "No") : count(last.rows, query.form === "SELECT" ? "row" : "triple"),
      last === null ? "" : `from ${count(last.items, "item")} in its windows`);
    all.Evaluation(last === null ? "…" : took(last), `${count(query.evaluations, "evaluation")} in all`);
    const delay = last === null ? null : last.told - last.close;
    all["After its close"](delay === null ? "…" : delay > 86400000 ? "replayed" : delay < 1000 ? `${Math.max(0, delay)} ms` : span(delay),
      delay === null ? "" : delay > 86400000 ? "its items are of long ago" : "from the close of the window to the report");
    all.Reports(number(query.reports), query.template ? `of ${count(query.template.instances, "instance")}` : `${query.relation}${query.output ? `, into ${query.output}` : ""}`);
    say(failure, query.failure === null ? "" : `Its last evaluation failed: ${query.failure}`);
    failure.hidden = query.failure === null;
    drawWindows(query);
  }

  function drawWindows(query) {
    const key = JSON.stringify(query.windows);
    if (key === drawnWindows) return;
    drawnWindows = key;
    windows.replaceChildren();
    query.windows.forEach((window, place) => {
      const link = element("a", window.stream);
      link.href = linkTo("stream", window.stream);
      windows.append(place === 0 ? "" : "; ", `${windowWords(window)} of `, link);
    });
  }

  const panel = { element: box, draw, end: reports.end, isOver: false };
  return panel;
}

// What a window holds, in words.
function windowWords({ kind, range, step }) {
  const every = (what) => step === null ? "" : `, every ${what(step)}`;
  if (kind === "count") return `the last ${count(range, "item")}${step === 1 ? ", at each" : every((items) => count(items, "item"))}`;
  if (kind === "now") return "what came last";
  if (kind === "all") return "all";
  if (kind === "past") return `${lengthWords(range)} that ended a while ago${every(lengthWords)}`;
  return `the last ${lengthWords(range)}${every(lengthWords)}`;
}

function newQueryPanel() {
  const name = input(drafted.name, "chosen for you"), text = textarea(drafted.text || (live.streams.length > 0 ? examplesFor(live.streams[0].name)[0][2] : ""), 12);
  const told = problemBox(), example = element("select");
  example.append(holding("option", "", "Choose one"));
  for (const stream of live.streams.slice(0, 20)) {
    const group = element("optgroup");
    group.label = stream.name;
    for (const [as, title, body] of examplesFor(stream.name)) {
      const option = element("option", title);
      option.value = JSON.stringify([as, body]);
      group.append(option);
    }
    example.append(group);
  }
  example.addEventListener("change", () => {
    if (!example.value) return;
    [name.value, text.value] = JSON.parse(example.value);
    example.value = "";
    text.focus();
  });
  const register = button("Register", async () => {
    told.hidden = true;
    try {
      const given = name.value.trim();
      const made = await call("POST", `/api/v1/continuous${given ? `?name=${encodeURIComponent(given)}` : ""}`, { body: text.value, type: "application/sparql-query" });
      drafted = { name: "", text: "" };
      await look();
      location.hash = linkTo("query", made.name);
    } catch (error) {
      showFailure(told, error, text.value, text);
    }
  }, "main");
  const form = holding("form", "panel define", element("h2", "A new standing query"),
    labelledBlock("Query over windows of streams (RSP-QL, C-SPARQL or CQELS-QL)", text),
    holding("div", "row", register, labelled("Name", name), labelled("Example", example), element("span", "Ctrl or ⌘ with Enter registers it", "hint")), told);
  if (live.streams.length === 0) form.insertBefore(element("p", "No stream is here yet: make one first, a query names the streams that it reads.", "hint"), form.children[1]);
  form.addEventListener("submit", (event) => { event.preventDefault(); register.click(); });
  onRun(text, () => register.click());
  text.addEventListener("input", () => { drafted = { name: name.value, text: text.value }; });
  setTimeout(() => text.focus(), 0);
  return { element: form, draw() {}, end() {}, isOver: false };
}
